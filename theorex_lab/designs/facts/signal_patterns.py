"""What a message says of its speaker, as regular expressions.

They are of sentences in lower case, with е for ё.

Those with Cyrillic letters are tried where a sentence is not ASCII. Where a line begins
at a word, so do all its alternatives.
"""

PATTERNS: dict[str, tuple[str, ...]] = {
    "none": (
        (
            r"^\W*(?>(?:(?:ok(?:ay)?|k|y|yes|yep|yup|yeah|no|nope|sure|right|fine|good|great|cool"
            r"|nice|perfect|awesome|amazing|got it|understood|makes"
            r" sense|agreed|exactly|indeed"
            r"|true|absolutely|definitely|of course|no (?:worries|prob(?:lem)?)|sounds"
            r" (?:good"
            r"|great|fun)|lol|ha(?:ha)+|h?mm+|um+|uh+|wow|aww+|oh|ah|hi|hello|hey|yo|good "
            r"(?:morning|afternoon|evening|night|luck)|welcome|there|all|everyone|guys|team|folks"
            r"|thanks|thank you|thx|ty|cheers|appreciate it|so much|very much|a"
            r" lot|again|then|now"
            r"|it|you too|bye|goodbye|see (?:you|ya)|later|soon|tomorrow|take"
            r" care)\b\W*)+)$"
        ),
        (
            r"^\W*(?>(?:(?:ок|окей|да|нет|ага|угу|ладно|хорошо|понял[аи]?|понятно|ясно|отлично|супер"
            r"|класс|круто|точно|соглас(?:ен|на)|принято|ха(?:-?ха)+|смешно|спасибо|благодарю|спс"
            r"|большое|огромное|тебе|вам|привет(?:ик)?|здравствуй(?:те)?|добр(?:ый|ое|ой)"
            r" (?:день"
            r"|утро|вечер|ночи)|всем|коллеги|ребята|друзья|пока|до"
            r" (?:свидания|встречи|завтра"
            r"|связи)|увидимся|спокойной ночи|тогда|все)\b\W*)+)$"
        ),
        r"^\W*$",
    ),
    "preference": (
        (
            r"\b(?<!what )(?:i|we)(?:"
            r" (?:really|also|still|just|always|usually|generally"
            r"|personally|definitely|absolutely|totally|do|even|both|especially|mostly))*"
            r" (?:like"
            r"|love|enjoy|adore|prefer|hate|dislike|fancy|can't"
            r" stand|loved|enjoyed|hated)\b(?! "
            r"(?:to"
            r" (?:know|see|hear|ask|point|add|mention|think|say|thank|remind|present|move)"
            r"|it[.!]|that\b|your?\b|how you|what you|the (?:\w+"
            r" )?(?:idea|look|sound|plan"
            r"|approach)|it if))"
        ),
        (
            r"\b(?:i|we) (?:do not|don't|never|didn't) (?:really |particularly |much"
            r" )?(?:like"
            r"|liked|enjoy|enjoyed|care for|love)\b"
        ),
        (
            r"\bi(?:'d| would) (?:much )?(?:rather|prefer)\b|(?:rather|sooner)"
            r" (?:use|have|go|not"
            r"|keep|stay|work|write)\b"
        ),
        (
            r"\bmy (?:\w+ )?(?:favou?rites?|faves?|preference|thing|jam|happy"
            r" place|go-to"
            r"|guilty pleasure|comfort \w+)\b|favou?rite \w+ (?:is|are|was|of"
            r" mine)\b|(?:of"
            r"|some of) my (?:\w+ )?fav\w+|personal preference|my (?:love|passion)"
            r" (?:for|of|is)\b"
            r"|passion for\b|my \w+ing passion"
        ),
        (
            r"\b(?:fan of|fond of|keen on|passionate about|obsessed with|crazy"
            r" about|hooked on"
            r"|really into|(?:i'm|i've been|i got) (?:\w+ )?into|always looks? forward"
            r" to|(?:i'm"
            r"|we're) all about|what i live for|cup of tea|like therapy|nothing beats"
            r"|can't get enough of|never get tired of|soft spot for|sucker for|allergic"
            r" to)\b"
        ),
        (
            r"\b(?:brings?|gives?|makes?|keeps?|fills?) me (?:\w+"
            r" ){0,3}?(?:joy|happy|peace"
            r"|peaceful|calm|happiness|smile|fulfill?ment|sane|with"
            r" joy|relaxed|alive)\b|helps me "
            r"(?:\w+ )?(?:relax|unwind|de-?stress|recharge|escape)\b"
        ),
        (
            r"\b(?:prefers|loves|enjoys|hates|adores|dislikes)\b|(?:people|kids|they|children"
            r"|users|friends|girls|boys|both|dogs|cats) (?:really |just |all"
            r" |absolutely )?(?:love"
            r"|enjoy|hate|prefer)\b"
        ),
        (
            r"\b(?:better|best|nicer|safer|easier) to (?:use|keep|have|write|go"
            r" with|stick)\b|(?:i"
            r"|he|she|they) (?:thinks?|finds?|feels?)(?: that)?(?: it's| it is| it|"
            r" \w+)? "
            r"(?:better|nicer|easier|best|relaxing|annoying|boring|ugly)\b"
        ),
        (
            r"\b(?:is|are|it's|feels?) (?:\w+ ){0,2}(?:the best(?!"
            r" (?:we|i|you|way|thing you"
            r"|part))|my (?:thing|passion|escape)|(?:so|such|really|always|super|very)"
            r" (?:fun"
            r"|refreshing|relaxing|calming|therapeutic))\b|(?:best|greatest|coolest)"
            r" \w+ (?:ever"
            r"|of all time)\b"
        ),
        (
            r"\b(?:предпочита\w+|предпочту|обожа(?:ю|ет|ем)|люблю|любит|любим|не"
            r" переношу"
            r"|не выношу|ненавижу|терпеть не"
            r" мо\w+|нрав(?:ит|ят)ся|любим(?:ый|ая|ое|ые)|без ума от"
            r"|фанат\w*|поклонни\w+|увлекаюсь|по душе|привычнее|по мне,|не"
            r" (?:пью|ем))\b"
        ),
        (
            r"\b(?:мне|нам) (?:\w+"
            r" )?(?:удобн(?:ее|о)|комфортн(?:ее|о)|ближе|проще|легче"
            r"|приятнее)\b|лучше (?:\w+(?:ть|й|йте|и)|через)\b"
        ),
    ),
    "decision": (
        (
            r"\b(?:i|we|they|he|she|team|group|board|committee|everyone|family|government|minister"
            r"|house)(?:'ve| have| had|'s)?(?: just| finally| also| all| both| then|"
            r" already)* "
            r"(?:decided|agreed|settled"
            r" on|chose|chosen|opted|concluded|voted|picked|committed to"
            r"|made (?:a|the|my|our) (?:\w+ )?decision|ended up going with|went with)\b"
            r"|agreed to\b|(?:made|helped|led|pushed) (?:me|us) (?:to )?(?:decide"
            r"|take the plunge)\b"
        ),
        (
            r"\blet's (?:also |just |all |simply )?(?:go (?:with|for"
            r" (?!it\b)|to)|ship|use|stick"
            r"|do|give (?:it|this|that) an?|take|keep (?:it"
            r" (?!up)|the|this|that|them|those|both)"
            r"|pick|drop|switch|allow|remove|leave|skip|bake|kick|align|call"
            r" it|put|move (?:it|to"
            r"|that|this)|(?:start|begin) with|have (?:it|the|a)|not)\b(?!"
            r" (?:work|touch|look|some"
            r"|more|our|talk|see))"
        ),
        (
            r"\b(?:decision (?:is (?!how|whether|what|which|between)|was|made|has"
            r" been)|(?:key"
            r"|final) decisions?|it's decided|that settles it|made up my mind|going"
            r" with"
            r"|i'll go with|we'll (?:go with|use|stick|keep|take)|we're"
            r" (?:keeping|using|dropping"
            r"|going (?:for|with)|not (?:gonna|going to))|i'm (?:gonna|going to)"
            r" (?:take (?:a|the)"
            r"|switch|quit|stop|pursue|go for|move|start (?:my|a))|what we're (?:gonna"
            r"|going to) do)\b"
        ),
        (
            r"^\W*(?:y|yes|yup|yep|yeah|ok|okay|sure|perfect|sounds good|agreed|right"
            r"|fine)\b[,.!-]* ?(?:and |then |so |we should |we can )?(?:implement|do"
            r" (?:it|that"
            r"|the|this)|go (?:with|ahead|for)|use|keep(?:ing)?|drop|remove|that works"
            r"|that's fine)|^\W*agreed(?:,| on| with| to)"
        ),
        (
            r"\boption \w+ (?:seems|sounds|is|works|please)\b|is fine"
            r" (?:for|by|with)\b|better (?:that|if) we\b"
        ),
        r"^(?!.*\bhow\b)[\w. -]{1,40} it is[.!]*$",
        (
            r"\b(?:реши(?:л|ла|ли|лись)|решено|решение (?:принято|такое)|принято"
            r" решение|выбра(?:л"
            r"|ла|ли)|договорил(?:ись|ся|ась)|постановили|остановил(?:ся|ась|ись)"
            r" на|определил"
            r"(?:ся|ась|ись) с|отказал(?:ся|ась|ись) от|отпадает|пусть будет|на том и"
            r" порешили)\b"
        ),
        (
            r"\b(?:(?:идем|едем)"
            r" с|берем|беру|делаем|оставляем|остаемся|переходим|будем "
            r"(?:\w+ )?\w+ть)\b|давай(?:те)? (?:лучше"
            r" )?(?:возьм|использ|сдела|остан|перейд"
            r"|остав)\w*"
        ),
    ),
    "correction": (
        (
            r"^\W*(?:actually|correction|in fact|wait\b|sorry,? i"
            r" mean|instead\W|no\W+(?:wait|you"
            r"|they (?:have|are)\b|that's|the\b|don't|this|there|i"
            r" (?:mean|said|meant)|it "
            r"(?:should|is|was)|[\w.]+ (?:should|is not|isn't)))"
        ),
        (
            r"\b(?:in fact|on second thoughts?|scratch that|to be precise|that(?:'s|"
            r" is) not "
            r"(?:right|true|correct|what|how|the|accurate|it)|not accurate|this is not"
            r" (?:right"
            r"|true|correct|what))\b"
        ),
        (
            r"\b(?:i meant|what i mean(?:t)?"
            r" (?:is|was)|(?:seems?|is|are|was|looks?|that's|it's) "
            r"(?:just |all |simply |completely"
            r" )?(?:wrong(?:ly)?|incorrect|mistaken|backwards)"
            r"|the wrong \w+|i was wrong|(?:a|an|same|the) (?:\w+ )?(?:mistake|error)s?"
            r" (?:i"
            r"|of mine|again|now)|my (?:mistake|bad|fault)|i misspoke|i should"
            r" have|you're right"
            r"(?: -|, (?:sorry|i|the|that|it)\b)|i misread|not"
            r" correct|(?:is|are|should|shall) "
            r"(?:rather|instead) be|should(?: not|n't) be|you (?:sure"
            r" )?(?:didn't|forgot|missed"
            r"|broke|misunderst\w+|lost the)|(?:i|we) (?:don't|do not) want)\b"
        ),
        (
            r"\bnot \w+, but (?:rather )?\w+|(?:aren't|isn't|it's not|that's not) [\w"
            r" ]{1,40}, "
            r"(?:it|that|they)(?:'s|'re| is| are)\b|rather"
            r" than\b.{1,60}\b(?:let's|have|use|do)\b|"
            r"(?:doesn't|does not|didn't|don't) (?:\w+ )?(?:make sense|seem right|look"
            r" right"
            r"|work as|belong)\b|miss(?:ing|ed)? the point\b"
        ),
        (
            r"\b(?:seems?|looks?|is|a bit|kinda|pretty) (?:\w+"
            r" )?(?:confusing|pointless|bogus"
            r"|misleading|wonky)\b|not sure about (?:the|this|that)\b|isn't (?:quite"
            r" |really )?"
            r"(?:right|lovely|great|ideal|correct)\b|not sure (?:\w+ ){1,8}is"
            r" (?:best|right"
            r"|needed)\b|should (?:just )?be the (?:same|responsibility)\b"
        ),
        (
            r"\b(?:на самом"
            r" деле|вообще-то|точнее|вернее|поправка|поправлю|ошиб(?:ся|лась|лись)"
            r"|оговорил(?:ся|ась)|перепутал[аи]?|моя (?:ошибка|вина)|име(?:л|ла|ли) в"
            r" виду|неверно"
            r"|неправда|неправильно|не так понял[аи]?|верни(?:те)? как)\b"
        ),
        r"^нет,? \w",
        (
            r"\bне (?:так|туда|то|там)[,: ]|не [\w-]+, а [\w-]|, а не \w|я же"
            r" (?:сказал|просил|говорил|писал)\w*"
        ),
    ),
    "milestone": (
        (
            r"\b(?:i|we|he|she|they|team|my (?:\w+ )?\w+)(?:'ve| have| has|'s)?(?:"
            r" just| finally"
            r"| also| already| successfully| recently| actually| even)*"
            r" (?:launched|deployed"
            r"|released|shipped|published|merged|finished|completed|graduated|passed"
            r" (?!away|by"
            r"|out)|signed|won(?!')|delivered|achieved|submitted|fixed|implemented|built|opened"
            r"|joined|reached|hit (?:our|my|the)|hosted|organi[sz]ed|ran"
            r" (?:a|my|our)|went live"
            r"|made it (?:to (?:the|our)|through)|adopted|rescued|landed|earned|retired"
            r"|took \w+ home|took (?:\w+ ){1,2}from the shelter|got (?:the"
            r" (?:job|offer|visa|grant"
            r"|keys)|promoted|married|engaged|accepted|hired|into (?!it)|my|a"
            r" (?:job|promotion"
            r"|raise|new)|approved|certified)|started (?:a|my|our) (?:\w+ )?(?:\w+"
            r" )?(?:startup"
            r"|business|job|company|studio|store|club|group|class|project|shop))\b"
        ),
        (
            r"\b(?:just|finally|recently|yesterday i|last"
            r" (?:week|month|night|friday|weekend) (?:i"
            r"|we))"
            r" (?:started|bought|moved|adopted|signed|finished|joined|launched|won(?!')"
            r"|opened|released|completed|got (?:my|our|a new|the job)|made"
            r" (?!me)|wrote|ran|held"
            r"|performed|hosted|had my first)\b(?! (?:back|to))"
        ),
        (
            r"\b(?:is|are|it's|that's|we're|i'm)(?: now| all| finally)?"
            r" (?:done|live|finished?"
            r"|ready to"
            r" (?:go|ship|use)|complete|closed|fixed|released|deployed|resolved|merged)\b"
        ),
        (
            r"\b(?:all |the )?(?:tests?|lint(?:er)?|build|everything|checks?)(?: all|"
            r" now)? "
            r"(?:pass(?:es|ed)?|ok|green|clean|succeeds)\b|all"
            r" (?:green|clean|done|passing)\b"
            r"|should work now\b"
        ),
        (
            r"^\W*(?:both |all"
            r" )?(?:done|fixed|finished|updated|added|removed|renamed|completed"
            r"|deployed|merged|released|written|implemented|created|filled"
            r" in|shipped|committed"
            r"|pushed)\b(?! (?:by|as|up)\b)|^(?!well )(?:[\w#./()+-]+"
            r" ){1,5}(?:removed|added|fixed"
            r"|updated|resolved|merged|closed|done|captured|landed)(?: -|[,.!:]|$)"
        ),
        (
            r"(?:[;,] |\band"
            r" )(?:deployed|launched|released|shipped|published|merged|graduated)\b"
        ),
        (
            r"\b(?:paid off|dream come true|(?:was|were|been|being|got)"
            r" (?:chosen|selected"
            r"|accepted|promoted|hired|picked|nominated|offered|published|awarded)|big"
            r" (?:win"
            r"|milestone|step)|first (?:place|prize|ever))\b"
        ),
        (
            r"\b(?:запусти|выпусти|выкати|задеплои|релизну|опубликова|закончи|заверши|додела"
            r"|дописа|сда|защити|смерджи|почини|перенес|переехал|пробежа|выигра|получи|купи"
            r"|поступи|достигл|внедри|исправи)(?:л|ла|ли|лся|лась|лись|а|и)?\b"
        ),
        (
            r"\b(?:готово|сделано|завершен[аоы]?|закончен[аоы]?|закрыт[аоы]?|влит[аоы]?"
            r"|опубликован[аоы]?|(?:до)?шли до|поженились|первые шаги|все тесты"
            r" (?:зелен|прош)\w+"
            r"|первое место)\b"
        ),
    ),
    # A sentence without these is no rule, nothing to remember and no order to correct
    # something; of the others `directive_of` says
    # whether it is one of these.
    "instruction": (
        (
            r"(?:^|[.!?,;:(-] ?|\b(?:please|also|just|should|must) )(?:(?:always|never)"
            r" (?!here"
            r"|gotta|a\b|been|happy|welcome|mind|heard|seen|thought|had|felt|love|gets?\b)"
            r"|remember (?!to (?:take|enjoy|pause|rest)|when|why|how)|(?:keep|bear) in"
            r" mind|"
            r"(?:do not|don't) (?!give|worry|be\b|get|quit|forget to take)|make sure|be"
            r" sure)"
        ),
        (
            r"\b(?:from (?:now|here) on|(?:in|for) (?:the )?future,?"
            r" (?!i\b|we'll)\w|going forward"
            r"|(?:next|every|each) time (?:you|we)|conventions?|policy|rule of|as a"
            r" rule"
            r"|lose track|(?:you|all|every|each|names|messages) must"
            r" (?!have|feel|be|really)|to "
            r"(?:always|never)|you are to|no longer|(?:it|this|that|they) should"
            r" (?:just )?(?:be "
            r"(?:right|in|on|at|under|next|called|named)|say|show|use|go|not|default|mirror)"
            r"|exactly|(?:in|for|across) (?:this|our|the whole) (?:repo\w*|project|code"
            r" ?base|team"
            r"|company))\b|, not (?!only|yet|really|at\b|a\b|in\b)\w"
        ),
        r"^no,? (?:let's|man|dude|need)|^no, (?:it's|that's|the|this|don't)\b",
        (
            r"\b(?:запомни|помни|не забудь|не забывай|в"
            r" виду|учти)(?:те)?\b|(?:впредь|отныне"
            r"|всегда|никогда не [а-я]+(?:й|йте|и|ите|ь|ьте)|с этого момента|в"
            r" дальнейшем"
            r"|в будущем|в следующий раз|больше не|нельзя|ни в"
            r" коем|кажд\w+|обязательно|должн\w+"
            r"|не надо|правил\w+)\b"
        ),
    ),
    "identity": (
        (
            r"\bmy (?:full |first |last |user ?)?name(?:'s| is)\b|(?:call me|i go"
            r" by)\b|where i "
            r"(?:'m from|grew up|was born|live|work)\b|where i'm from\b|(?:i|we) have"
            r" (?:a|an|two"
            r"|three|four|\d) (?:\w+"
            r" )?(?:kids?|child|children|dogs?|cats?|brothers?|sisters?"
            r"|sons?|daughters?|siblings?|twins|pets?|babies)\b|my"
            r" (?:two|three|four|five|\d) "
            r"(?:\w+ )?\w+s\b"
        ),
        (
            r"\bi(?:'m| am|'ve been) (?:[\w,{}-]+"
            r" ){0,5}?(?:engineer|developer|programmer|designer"
            r"|teacher|student|doctor|nurse|lawyer|manager|scientist|researcher|writer|artist"
            r"|founder|analyst|architect|consultant|freelancer|photographer|accountant|counsel"
            r"(?:l)?or|musician|chef|banker|mom|mother|dad|father|parent|vegan|vegetarian|trans"
            r"(?:gender)?|player|coach|dancer|gamer|chair|minister|member"
            r" of|professor|veteran"
            r"|immigrant|expert)\b(?! of the house)"
        ),
        (
            r"\b(?:i|we) (?:work|worked|study|studied|teach|live|lived|grew up|was"
            r" born|majored"
            r"|volunteer) (?:as|at|in|near)\b|(?:i|we) (?:come|came|moved) (?:here"
            r" )?from|i "
            r"(?:moved|went) to (?:\w+$|university|college|school)|i live on\b|i work"
            r" for\b|(?:i"
            r"|just|recently) (?:lost|quit|left|started) my (?:\w+"
            r" )?job\b|(?:job|position|role"
            r"|work|career|9-5) as an?\b|as an? (?:[\w-]+"
            r" ){0,2}(?:woman|man|mom|dad|mother|father"
            r"|parent|immigrant|kid in)\b"
        ),
        (
            r"\bi(?:'m| am) (?:\d{1,2}(?: years old)?\b|from \w|based in|originally"
            r" from|married"
            r"|single|divorced|engaged)|my (?:gender )?(?:transition|identity)\b"
        ),
        (
            r"\b(?:this is my|my new|meet my|here's my|i have an?) (?:\w+"
            r" )?(?:husband|wife|son"
            r"|daughter|partner|so|boyfriend|girlfriend|brother|sister|mom|dad|dog|cat|puppy|pup"
            r"|kitten)\b|my (?:job|profession|home"
            r" ?town|birthday|wife|husband|partner|son"
            r"|daughter|mother|father|mom|dad|sister|brother|dog|cat|email|phone"
            r" number|address)"
            r"(?:'s (?:name|an?)| is (?:an?|the|in|on|\w+@)| was born| works?|,"
            r" [a-z]+,)"
        ),
        (
            r"\b(?:меня зовут|зови(?:те)? меня|мо[яй] (?:\w+"
            r" )?(?:имя|фамилия|должность|профессия"
            r"|жена|муж|сын|дочь|брат|сестра|город|день рождения)|(?:по профессии|по"
            r" образованию"
            r"|родом) \w+|живу (?:в|на|под)|работаю"
            r" (?:в|на|у|\w+(?:ом|ем))|учусь|учил(?:ся|ась)"
            r"|родил(?:ся|ась) в|вырос(?:ла)? в|перебрал(?:ся|ась|ись))\b"
        ),
        (
            r"\bмне \S+(?: \S+)? (?:лет|года?)\b|я (?:\w+"
            r" )?(?:из|программист\w*|разработчик\w*"
            r"|инженер\w*|дизайнер\w*|студент\w*|врач|учитель\w*|менеджер\w*|аналитик\w*"
            r"|художни\w+|тимлид\w*|бухгалтер\w*|веган\w*|вегетариан\w+)\b|у меня"
            r" (?:дв\w+|тр\w+"
            r"|од\w+|\d) (?:\w+ )?(?:кош|соба|дет|сын|доч|брат|сест)\w*"
        ),
    ),
    "low": (
        (
            r"\b(?:work(?:ing)?"
            r" (?:on|at|with)|projects?|tasks?|(?:i'm|we're|they're|he's|she's"
            r"|are|am) (?:doing|running|looking (?:for|into)|waiting|trying)|needs?"
            r" (?:to\b"
            r"(?! fix things)|an?|the|some|more)|have to|(?:try|trying|tried) (?:to"
            r" (?!see|stay)"
            r"|it\b|again)|debug(?:ging)?|implement(?:ing)?|fix(?:ing)?"
            r" (?:the|this|these|it|that"
            r"|a|two)|let me (?!know)|let's"
            r" (?:look|check|try|address|explore|proceed|discuss"
            r"|start|work on|fix|review|test|run|make it|include|see (?:if|what's"
            r" involved))|i'll "
            r"(?:make the|check|look|read|replace|update|add|fix|run|write|take a"
            r" look)|started to"
            r"|give it a go|propose|calls for|should be able|we'd (?:also )?like|still"
            r" running"
            r"|waiting on|is missing|we want|my job to)\b"
        ),
        (
            r"^(?:(?:ok|okay|and|then|now|please|also|so)\b\W*)*(?:add|address|remove|update|move"
            r"|check (?!out)|make (?!sure you)|review|proceed|explore (?!\w+ing)|take a"
            r" look"
            r"|complete|read|rename|write|run|show|change|create|explain|list|find|fix|propose"
            r"|implement|do a)\b"
        ),
        (
            r"\b(?:работа(?:ю|ем|ет)"
            r" над|проект\w*|задач\w*|дела(?:ю|ем)|сдела\w+|нужно|надо"
            r"|нам"
            r" бы|пробу\w+|попроб\w+|исправля\w+|занима(?:юсь|емся)|разбира(?:юсь|емся)|ищу"
            r"|доделыва\w+|осталось)\b"
        ),
    ),
    "question": (
        (
            r"\b(?:what|where|when|who|whom|whose|which|why|how|is|are|do|does|did|can|could|would"
            r"|will|should|have|has|any)\b.*\?\W*$"
        ),
        r"\b(?:что|где|когда|кто|кого|чей|как\w*|почему|зачем|сколько|куда|откуда|ли|можно|уже|а)\b.*\?\W*$",
    ),
    # What stands in the same clause before a milestone, a decision or an identity and
    # takes it back.
    "negated": (
        (
            r"\b(?:not|n't|never|no|without|yet"
            r" to|if|when|once|until|before|unless|whether"
            r"|should be|will be|to be|congrats on)\b[^.;!?,]{0,30}$"
        ),
        r"\b(?:не|без)(?: \w+)? ?$|(?:если|когда|после того как|пока)\b[^.;!?,]{0,30}$",
    ),
}
