"""Signals of what a person tells an agent to do, English and Russian.

Regular expressions, tried in any case; quotes and code are blanked before. `^^` stands
for where a clause begins.
"""

PATTERNS: dict[str, tuple[str, ...]] = {
    "never": (
        (
            r"\b(?:never(?! mind\b)|no longer|under no circumstances|must ?n[o']t|must"
            r" not|(?:may"
            r"|shall|should) never)\b"
        ),
        r"\bstop \w+ing\b.*\b(?:always|from now on|again|anymore|any more)\b",
        (
            r"\b(?:don'?t|do not) (?:ever|(?!know|think)\w+ .*\b(?:ever again|any ?more"
            r"|from now on|in (?:the )?future)\b)"
        ),
        r"(?:никогда|ни в коем случае|ни при каких|больше не|нельзя|запрещено)",
    ),
    "always": (
        (
            r"\b(?:always|from now on|from here on|going forward|in (?:the"
            r" )?future|for "
            r"(?:the )?future reference|next time|henceforth|every time|each time"
            r"|without exception|as a (?:general )?rule|rule of thumb|by default,)\b"
        ),
        (
            r"(?:всегда|впредь|отныне|с этого момента|в дальнейшем|в будущем|в"
            r" следующий раз"
            r"|каждый раз|как правило)"
        ),
    ),
    "must": (
        r"\b(?:you|agents?) (?:must|are to|'re to|have to)\b(?! see\b| admit\b| be\b)",
        (
            r"\b(?:you|agents?) (?:aren'?t|are not|'re not) (?:to|supposed to|allowed"
            r" to)\b"
        ),
        r"\b(?:ты|вы) (?:долж[а-яё]+|обязан[а-яё]*)\b",
    ),
    "convention": (
        (
            r"^^(?:all|every|each|any|no|new)(?: [\w-]+){1,5}?"
            r" (?:must|should|needs?|has to|have to)\b"
        ),
        (
            r"^(?:[\w-]+"
            r" ){0,3}(?:messages|names|files|functions|tests|comments|commits|branches"
            r"|docs|PRs|titles|errors|logs|imports|types|endpoints|variables|modules|classes"
            r"|methods|paths) (?:must|should|need to|have to)\b(?! have been)"
        ),
        (
            r"\b(?:in|for|on|across) (?:this|our|the whole)"
            r" (?:project|repo(?:sitory)?|code ?base"
            r"|team|company)\b,? (?:we|you|use|never|always|please|there is no|no)\b"
        ),
        (
            r"\bwe (?:use|write|name|follow|stick to|keep) .*\b(?:in|for|on|across)"
            r" (?:this|our"
            r"|the whole) (?:project|repo(?:sitory)?|code ?base|team|company)\b"
        ),
        (
            r"\b(?:the|our|my) (?:convention|style|policy|rule|house"
            r" rule|standard|preference)(?: here)? is\b"
        ),
        r"^whenever (?:you|we)\b",
        r"^no (?:new |more )?\w+(?: \w+)? in (?:the |our |any )?\w+",
        r"^^I (?:always |really |would |generally |usually )?prefer\b",
        r"^^(?:only|just) use\b|\bnote that we (?:support|use|target|only|still)\b",
        (
            r"^^(?:write|add|put|use|include|run|create|keep|document)\b.*\b(?:for|in|to|with|on) "
            r"(?:every|each|all|any)\b"
        ),
        (
            r"(?:в этом|в нашем) (?:проекте|репозитории)"
            r" (?:мы|используй\w*|не)\b|^(?:все|каждый"
            r"|каждая|каждое) .*долж|^(?:я )?предпочитаю"
        ),
    ),
    "dont": (
        r"^no (?:new |more )?\w+(?: \w+)? in (?:the |our |any )?\w+",
        r"\blet'?s not\b(?! worry)",
        (
            r"^^(?:do not|don'?t|dont|stop|avoid|refrain from|no more|quit)"
            r" (?!know|think"
            r"|understand|see|care|need|have|believe|get|like|worry|forget|mind|hesitate|want|hear"
            r"|here|remember|recall|yet|at\b|the\b)"
        ),
        r"\b(?:you|we|agents?) (?:should|shall|may|ought)(?: not|n'?t)\b",
        r"\b(?:I|we) (?:don'?t|do not|never) want (?:you|to see|any)\b",
        (
            r"^^(?:не"
            r" (?!знаю|понимаю|вижу|думаю|уверен|могу|хочу|забудь|забывай|забывайте|так"
            r"|то\b|надо)[а-яё]+(?:й|йте|ь|ьте|и|ите)\b|прекрати|перестань|избегай|не"
            r" надо"
            r"|не нужно|не стоит)"
        ),
    ),
    "do": (
        r"^^(?:make sure|be sure|ensure|prefer|stick (?:to|with)|follow|keep|use)\b",
        r"\b(?:make sure|be sure to)\b",
        (
            r"\b(?:you|agents?) (?:should|need to|ought to)\b(?! not\b|n'?t\b| see\b|"
            r" be able\b| know\b| have\b)"
        ),
        r"\bI(?:'d| would)? (?:want|like|prefer|expect|need) you to\b",
        (
            r"^^(?:убедись|убедитесь|следи|используй|используйте|пиши|пишите|запускай|делай"
            r"|делайте|предпочитай|проверяй|держи|спрашивай|обязательно)(?![а-яё])"
        ),
    ),
    "remember": (
        (
            r"^^(?:remember|keep in mind|bear in mind|take note|don'?t forget|do not"
            r" forget"
            r"|note for (?:the )?future|never forget|can'?t lose track|don'?t lose"
            r" track|make "
            r"(?:a )?note)\b"
        ),
        r"\bmake sure (?:we|you) (?:capture|remember|note)\b",
        (
            r"^^(?:запомни|помни|не забудь|не забывай|имей в виду|учти|заметь|на"
            r" будущее)(?![а-яё])"
        ),
    ),
    "correction": (
        (
            r"^[^\w\s]*(?:no|nope|nah|wrong|incorrect)(?:[,.!:]\s+(?!(?:that|it|this|all)(?:'?s"
            r"| is| looks)? (?:\w+"
            r" )?(?:fine|ok|okay|good|great|right|correct|perfect)\b|problem"
            r"|worries)|\s+(?:man|dude|need|it|that|this|I|we|you|don'?t)\b)"
        ),
        (
            r"\b(?:that'?s|this is|it'?s|that is|you'?re|you are|which is|are|is)"
            r" (?:just |all "
            r"|simply |still |totally |completely )*(?:wrong|not"
            r" (?:right|true|correct|what|how)"
            r"|incorrect|backwards|missing the point)\b"
        ),
        r"\b(?:don'?t|doesn'?t) (?:think that'?s|seem|look) (?:true|right|correct)\b",
        r"\bthe wrong \w+",
        (
            r"\b(?:I|we) (?:just |already |explicitly )*(?:said|meant|told"
            r" you|suggested)\b"
        ),
        r"\byou were told\b|\btell you not to\b",
        r"\bI mean\b(?!\.)",
        r"\b(?:isn'?t|aren'?t|wasn'?t|not) (?:even )?(?:what|(?:the|any|that) \w+) I\b",
        (
            r"\b(?:isn'?t|aren'?t|not) (?:an? |the )?[\w/ -]{2,60}[,;] (?:it'?s|it"
            r" is|they'?re"
            r"|they are|but|that'?s)\b"
        ),
        (
            r"\b(?:it|this|that|they|these|those|which) (?:really |also |just"
            r" )?should(?: not"
            r"|n'?t)?\b(?! have worked| be (?:easy|fine|ok|good|enough|able))"
        ),
        (
            r"\bshould(?:n'?t| not)(?: just)?"
            r" (?:be|have|appear|show|assume|do|use|need|go|put|are)\b"
        ),
        r"^\W*(?:should|must) (?:just |always |really )*be\b",
        (
            r"(?:\b(?:use|do|make|put|take|want|let's|pick|call)\b.{0,80})\b(?:instead"
            r" of|rather than)\b"
        ),
        r"^\W*(?:instead\b|actually,)",
        (
            r",\s+(?:just |and )?not (?!sure|bad|yet|only|even|too|really|great|the"
            r" best|certain"
            r"|ideal|promising|\w+ed\b|\w+ing\b|because|so\b|to mention)[\w.]"
        ),
        r"\bfine, just not\b",
        (
            r"^\W*(?:(?:no|nope|k|ok|okay|also|so|well|hmm+|yeah|but)[, ]+)*(?:I |we )?"
            r"(?:really )?(?:don'?t|do not) (?:really |think (?:we |I"
            r" )?)?(?:want|need|like"
            r"|care about)\b(?! to (?:see|know|be) (?:what|how|why))"
        ),
        (
            r"\b(?:I|we|you|they|commands?) (?:don'?t|do not) (?:really"
            r" )?(?:want|need)\b(?! to )"
        ),
        r"\bdoesn'?t belong\b|\bnot the best\b",
        (
            r"(?-i:\b(?:EXACTLY|ONLY|WON'?T|ISN'?T|AREN'?T|SHOULDN'?T|NEVER)\b|\bNOT"
            r" (?:at|in|on"
            r"|the|our|a|an|want|need|be)\b)"
        ),
        (
            r"(?:^|[,.!]\s*)нет[,.! ]|неправильно|неверно|не так\b|не то\b|я (?:же"
            r" )?(?:сказал"
            r"|говорил|имел в виду|просил)|\bа не\b|вместо(?: этого)?\b"
        ),
    ),
    "for now": (
        (
            r"\b(?:yet|for now|right now|for the moment|at the moment|this time|just"
            r" this once"
            r"|for today|today|tonight|until|till|temporarily|in this"
            r" (?:function|file|test|pr"
            r"|branch|commit|case|session|task|step|phase|chunk|pass|one|method|class|module)|"
            r"(?:for|on) this"
            r" (?:pr|one|task|branch|commit|change|file|test|function|session|step)"
            r"|this (?:pr|commit) only|in here|before (?:you|we)"
            r" (?:start|begin)|first,|while "
            r"(?:you|we)(?:'re| are)|still planning|just research)\b"
        ),
        (
            r"(?:пока\b|сейчас|в этот раз|на этот раз|сегодня|временно|в этом"
            r" (?:файле|тесте"
            r"|коммите|пр\b|случае)|в этой (?:функции|ветке|задаче)|только здесь|ещё"
            r" не|еще не)"
        ),
    ),
    "general": (
        (
            r"\b(?:any|all|every|each|anywhere|everywhere|whenever|in general|generally"
            r"|conventions?|style|policy|standards?|projects|repos?|repository|code"
            r" ?base|commits"
            r"|tests|comments|docs|pull"
            r" requests|PRs|messages|dependencies|functions|names"
            r"|branches|secrets)\b"
        ),
        (
            r"(?:люб[а-яё]+|все\b|всех\b|кажд[а-яё]+|везде|вообще|проект[а-яё]*|репозитори[а-яё]*"
            r"|коммит[а-яё]*|тест[а-яё]*|комментари[а-яё]*)"
        ),
    ),
    "particular": (
        (
            r"\b(?:this|these|those|that one|it|them|that$|line \d+|option"
            r" [A-D]\b|here)\b|#\d+|\b\d+\b"
        ),
        r"(?:это[мтйг]?[а-яё]{0,2}\b|здесь|тут|строк[аеиу] \d)",
    ),
    "renews": (
        (
            r"\b(?:from now on|going forward|instead|no longer|anymore|any more|rather"
            r" than"
            r"|henceforth|changed my mind|actually|not any longer)\b"
        ),
        r"(?:отныне|впредь|теперь|с этого момента|вместо|больше не|передумал)",
    ),
    # The group is what something else is put in the place of, up to the next clause.
    "replaces": (
        (
            r"\b(?:instead of|rather than|not|over|in place of)\s+(?:the |a |an |using"
            r" |use "
            r"|to )?(.{1,60}?)(?=[,.;:!]|\s(?:for|in|on|when|as|with|so|because|everywhere|from"
            r"|at)\b|$)"
        ),
        (
            r"(?:вместо|а"
            r" не|,\s*не)\s+(.{1,60}?)(?=[,.;:!]|\s(?:для|в|на|при|когда|из)\s|$)"
        ),
    ),
    "reported": (
        (
            r"\b(?!I\b|we\b|you\b|and\b|just\b|already\b|explicitly\b|then\b|also\b)[\w.`*]+ "
            r"(?:also |still |then |clearly"
            r" )?(?:says?|said|states?|stated|wrote|writes|claims?"
            r"|claimed|recommends?|recommended|suggests?|told"
            r" (?:me|us|him|her|them)|mentions"
            r"|insists|asks|asked (?:me|us)|reads:)\b"
        ),
        (
            r"\b(?:tells|instructs|orders|reminds) (?:the"
            r" )?(?:agents?|you|us|me|them|everyone"
            r"|people|readers?)\b"
        ),
        r"\b(?:according to|quote[sd]?:|it was (?:said|suggested))",
        (
            r"(?:говорит|говорится|пишет|написано|утверждает|согласно|по"
            r" словам|советует"
            r"|рекомендует|сказал[аи]? (?:мне|нам|что))"
        ),
    ),
    "describes": (
        (
            r"\b(?:it|this|that|they|he|she|which|who|I|I've|there|there's|almost|nearly|not|is"
            r"|isn't|are|was|were|has|have|had|did|didn't|does|doesn't|would|could|can|it'll"
            r"|they'll|it's|seems)\s+(?:just |also |still )?(?:always|never|no"
            r" longer)\b"
        ),
        (
            r"\b(?:always|never|no longer)"
            r" (?!us(?:e|es)\b|pass\b|process\b|access\b|address\b"
            r"|discuss\b|need\b|embed\b|feed\b|bypass\b|press\b|focus\b)(?:\w{2,}(?:[^s\W]s|ed)\b|"
            r"(?:got|had|went|saw|ran|was|were|did|came|made|took|wrote|gets|found|knew|showed)\b)"
        ),
        (
            r"\balways (?:a|the|welcome|happy|nice|good|been)\b|\bshould never"
            r" (?:happen|have)\b"
        ),
        r"\b(?:is|are|was|were)\b.{0,60}\b(?:but|and|yet) (?:never|always)\b",
        r"(?:он|она|оно|они|это|тест|я)\s+(?:всегда|никогда)",
    ),
    "asks": (
        (
            r"^(?:why|what|who|when|where|which|how|is|are|was|were|does|did|do"
            r" (?:you|we|I)|has"
            r"|have|should|shall|am|may|isn'?t|aren'?t|doesn'?t|wouldn'?t|shouldn'?t|can'?t)\b"
        ),
        (
            r"^(?:почему|зачем|как|что|кто|когда|где|какой|какая|какие|нужно ли|надо"
            r" ли|стоит ли"
            r"|можно ли|должен ли|разве|мне)(?![а-яё])"
        ),
    ),
    "requests": (
        r"\b(?:can|could|would|will) you\b",
        r",?\s(?:no|yes|yeah|right|ok|okay|please|correct)\?$",
        r",?\s(?:да|хорошо|ладно)\?$",
        r"(?:можешь|могли бы|не мог бы)",
    ),
}

# Words that tell nothing of a subject, beside those of the lexicon.
STOP_WORDS = frozenset(
    (
        "use using used prefer don t s re ll d ve doesn isn aren won shouldn instead"
        " remember please make sure ensure keep mind want need stop avoid like let also"
        " of to rule rules from now forward going future every time henceforth said"
        " told mean wrong right actually correct nope yeah в во на с со и или но а не"
        " ни же бы что как это этот эта эти для по из к у о об от до за при через если"
        " чтобы мы ты вы я он она они их его ее всегда никогда впредь отныне теперь"
        " каждый раз запомни помни используй используйте пожалуйста надо нужно нет"
        " вместо больше только "
    ).split()
)

# What `stems` leaves out.
ENDINGS = (
    r"(?<=\w{3})(?:ing|ed|ies|es|s|ами|ями|ого|его|ому|ему|ыми|ими|ить|ать|ять|еть|ах|ях"
    r"|ов|ев|ей|ой|ый|ий|ая|ое|ые|ие|ам|ям|ом|ем|ую|ых|их|ешь|ай|уй|яй|йте|а|я|о|е|и|ы|у|ю"
    r"|ь|й)$"
)

# Where a clause begins.
CLAUSE = (
    r"(?:^[^\w\s]*|[,;:—–(!]\s*|\.\.\.\s*|\b(?:and|but|so|then|also|please|pls|just|ok"
    r"|okay|yes|yeah|hey|well|otherwise"
    r"|and then|и|но|а|также|пожалуйста|просто|только)\s+)"
)
