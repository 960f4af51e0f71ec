"""The words and signs by which a statement is kept as a fact, or refused.

English. What a statement has to be is said in `standing_facts.py`; a second language
can be added beside these tables.
"""

import re

from theorex_lab.core.patterns import lazy_pattern

# What stands before a statement and is no part of it.
LEAD_IN = lazy_pattern(
    r"""
    (?: \(\d+\)\s+(?=[`A-Z])
      | [✅✓✔❌⚠️🔑📌🎯💡•*–—-]+\s*
      | (?:actually|also|additionally|however|therefore|thus|so|and|but|yes|no|ok|okay
         |right|note|important|currently|now|finally|instead|correction|update|fyi
         |in[ ]fact|in[ ]short|in[ ]summary|as[ ]a[ ]result|overall|essentially)
        \s*[,:]\s+
      | note[ ](?=`)
      | (?:please[ ])?(?:note|remember|keep[ ]in[ ]mind|mind|mention)[ ]that\s+
      | the[ ](?:key|main)?[ ]?(?:insight|point|thing)[ ]is[ ]that\s+
    )+
    """,
    re.I | re.VERBOSE,
)
# The first words of what does not stand alone, or is no statement.
NO_OPENING = frozenset(
    """
    it its it's this that that's these those they they're their he she his her him
    there there's here here's which who whom whose what what's when where why how if
    unless once while until because since although though despite given after before
    each every both some any none nothing nobody everything something anything
    one another other others most many several few more less either neither such same
    also then next first second third finally lastly however otherwise instead and but
    or so yes no not ok okay sure done great perfect good let let's lets please thanks
    do does did is are was were has have had can could should would will may might
    you your you're i i'm i've i'll my me only just even still yet currently perhaps
    two three four five six seven eight nine ten maybe probably empty invalid valid
    partial malformed unknown single multiple read substitute deep new
    as to for in on at by with from without during per via
    """.split()
)
# Points at something that stands outside the statement.
POINTING = lazy_pattern(
    r"""
    \b(?: this(?![ ](?:project|repo|repository|codebase)\b) | these | those | here
      | above | below | aforementioned | the[ ]following | as[ ]follows | the[ ]former
      | the[ ]latter | the[ ]same | that['’]s | that[ ](?:is|was|one)\b | such[ ]as[ ]this
      | like[ ]so | like[ ]us | (?:it|them)(?=\W*$) | none[ ]of[ ]them
      | that[ ](?:directory|file|folder|path|way|case) | respective(?:ly)? | both
      | either | the[ ]other | another | again
      | anyway | mentioned | described | shown | listed | discussed | you | your | yours | me
      | my | mine | i | i['’](?:m|ve|ll|d) | please | let['’]?s | let[ ]me
      | the[ ]user(?:['’]s)?(?=[ ](?:want|ask|request|is[ ]asking|said|need|prefer))
      | (?:your|the)[ ](?:request|question|prompt|screenshot|feedback)
    )\b
    """,
    re.I | re.VERBOSE,
)
# Holds for the work of the moment alone, is supposed, or is only proposed.
PASSING = lazy_pattern(
    r"""
    \b(?: pass(?:ed|ing)? | passes(?![ ]`) | fail(?:s|ed|ing|ure|ures)? | complete(?:d|ly)? | done
      | ready | finished | successful(?:ly)? | works | working[ ](?:as|fine|well)
      | fixed | fixes | resolved | resolves | implemented | updated | green | in[ ]progress
      | pending | currently | right[ ]now | still | yet | already | just
      | today | yesterday | tomorrow
      | recent(?:ly)? | so[ ]far | for[ ]now | at[ ]the[ ]moment | temporar(?:y|ily)
      | remaining | left | missing | lacks? | lacking | needs? | broken | breaks? | merged
      | pushed | committed | staged | uncommitted | unchanged | untouched | TODO
      | IN-PROGRESS | IN-REVIEW | should | shouldn['’]t | would | wouldn['’]t | could
      | might | may | will | won['’]t | shall | going[ ]to | plan(?:s|ned)?[ ]to
      | probabl[ey] | likely | seems? | appears? | looks? | suggests? | indicates?
      | perhaps | maybe | assum(?:e|es|ing|ed) | was | were | wasn['’]t | weren['’]t
      | had | did | didn['’]t | been | error(?:s|ed)? | deadlocks? | bug(?:s|gy)?
      | issues? | problems?
      | crash(?:es|ed)? | wrong(?:ly)? | incorrect(?:ly)? | unused | stale | outdated
      | duplicat(?:e|es|ed|ion) | we['’](?:re|ve|ll|d) | want | wants | let | suspect
      | but | being | (?:is|are)[ ](?!using\b|missing\b|existing\b)[a-z]{2,}ing
      | must[ ]be[ ](?:re\w+|changed|fixed|updated|moved|added|made)
      | (?:is|are)[ ](?:removed|gone|closed[ ]out)(?=\W*$)
      | (?:is|are)n['’]t[ ](?:[a-z]+ing|installed|there|set)
      | tr(?:y|ies)[ ]to | said
      | proposed? | recommend(?:s|ed)? | consider | ideally | out[ ]of[ ]scope | estimated?
    )\b
    """,
    re.I | re.VERBOSE,
)
# Praises or judges, and tells nothing of how something is.
JUDGING = lazy_pattern(
    r"""
    \b(?: good | great | better | best | excellent | perfect(?:ly)? | correct(?:ly)?
      | proper(?:ly)? | clear(?:ly|er)? | important | critical(?:ly)? | crucial
      | well[- ]\w+ | comprehensive | robust | (?:in)?consistent(?:ly)? | clean(?:er|ly)?
      | appropriate(?:ly)? | useful | helpful | ideal | significant(?:ly)? | solid | nice
      | simple(?:r|st)? | reasonable | sufficient | sensible | accurate(?:ly)? | easy
      | easier | elegant | worth | overkill | acceptable | fine | straightforward
      | idiomatic | honest | genuine | redundant | defensive | unnecessary | unneeded
      | needed | the[ ](?:outer|inner) | violat\w+ | coupling | harmless | benign
      | trivial | subtle | tricky | ugly
      | misleading | confusing | ambigu\w+ | unclear | surprising | prominent | plausible
      | different(?:ly)? | right | urgent | harder | hermetic
      | indirection | clarity | nothing | neither | narrowed | preserved | the[ ]old
      | old[ ]version | the[ ]later | the[ ]reader | fallback[ ]if | worst[ ]case
      | large | huge | small | tiny | fair | strong | weak | risky | tempting | odd
      | checks[ ]out | up-to-date | identical | similar | equivalent | analogous
      | interesting | notable | intentional
      | safe | sound | minimal | concise | maintainab\w+ | production[- ]ready
    )\b
    """,
    re.I | re.VERBOSE,
)
# Counts what is so at one moment, or names what is of one piece of work.
OF_ONE_RUN = lazy_pattern(
    r"""
    \b\d[\d,]*[ ](?:of|new|other|failing|total|more|remaining|tests?|files?|errors?
      |warnings?|lines?|commits?|failures?|usages?|occurrences?|places?|calls?)\b
    | \blines?[ ]~?\d | :\d+(?:-\d+)?`? | \bL\d+\b | (?<![\w&])\#\d+ | \b[0-9a-f]{7,40}\b
    | \bPRs?\b | \bpull[ ]requests? | \bdiff\b | \bcommits?\b
    | \b(?:phase|step|option|approach|part|round|stage|chunk)[ ](?:\d|[A-D]\b)
    | \b\d\d:\d\d:\d\d | \bat[ ]\d{2,}\b | ^/[a-z][\w-]*[ ] | \[\d+/\d+\] | →
    | [—–;,][ ](?:so[ ])?(?:inline|remove|use|add|move|keep|drop|rename|make|extract|consider
      |reuse|skip|avoid|replace|delete|check|see)\b
    | (?<![\w.])(?!S3\b)[A-Z]{1,2}\d{1,2}\b | \b[A-Z]-[A-Z]+\d+\b | §
    | \bline[ ]count\b | \browid[ ]\d | \bthe[ ]changes?\b | \bchanges\b
    | \brefactor\w* | \bconversation
    """,
    re.I | re.VERBOSE,
)
# What stands under such a heading is proposed, asked or told of a moment.
PASSING_HEADING = lazy_pattern(
    r"""
    \b(?: next | todo | to[ ]do | questions? | options? | alternatives? | recommend\w*
      | suggest\w* | plan | planned | propos\w* | future | improve\w* | examples? | would
      | should | could | might | risks? | concerns? | verdict | pros? | cons
      | trade-?offs? | approach(?:es)? | before | after | problems? | issues? | bugs?
      | errors? | failures? | root[ ]cause | cause | what[ ](?:happened|went|i)
      | missing | gaps? | remaining | open | verif\w+ | test[ ]results?
      | testing | status | progress | steps? | action | accomplished | completed
      | concl\w+ | findings? | review | ideas? | possib\w+ | scenario
      | requirements? | acceptance | context | goal | hypothes\w+ | observations?
    )\b
    """,
    re.I | re.VERBOSE,
)
# Names that say nothing without what was spoken of before.
GENERIC_NOUNS = frozenset(
    """
    ability action addition arg command count stat side param sheet advantage agent
    alternative analysis answer approach
    argument array aspect assertion assumption author behavior behaviour benefit bit block body
    branch bug bullet call caller case cause challenge change changelog check checklist
    choice class clause client code column combination comment commit comparison component concept
    concern conclusion condition consequence constant content context copy correction
    count data decision definition description design detail diff difference directory
    doc docs document documentation edge effect element end entry error evidence example exception
    expectation explanation expression fact failure feature field file finding fix flag
    flow folder form format function gap goal guard handler heading helper idea
    impact implementation import improvement info information input insight
    instance instruction integration intent interface issue item iteration job key kind
    language layer lesson level line list log logic loop map match mechanism message
    method mistake mock mode model module name need note number object one operation
    option order original outcome output overview page parameter part pass path pattern
    people phase piece place plan point possibility pr practice principle problem procedure process
    program project prompt proof property proposal purpose question reason
    reader recommendation record reference regression relationship report request
    requirement response rest result return risk root row rule run sample scenario
    scope script section sentence sequence service session set setting setup shape side
    signature situation size snippet solution sort source spec specification
    stage start state statement status step strategy string structure style subject suggestion suite
    summary switch system table target task team template term test text thing time
    title todo tool total tradeoff type unit update usage use user value
    variable variant verification version warning way wording work workflow world
    """.split()
)
# Kinds of code: one of them is named exactly, or not at all.
CODE_HEADS = frozenset(
    """
    function method struct field class test file command flag directory structure
    handler helper constant variable parameter type interface package endpoint script
    query call loop branch block check guard wrapper hook callback component comment
    column key string import struct section rule doc fixture
    """.split()
)
# Verbs by which a text is told of, or one thing is compared with another.
OF_TEXTS = lazy_pattern(
    r"""
    (?:now[ ]|also[ ]|only[ ]|still[ ])?
    (?: says? | knows? | passes?(?=[ ]`(?:true|false|nil|null)`) | gains?
      | tells? | claims? | reflects? | match(?:es)?
      | mentions? | notes? | repeats?
      | recurs? | conflates? | pairs? | means? | states? | explains? | describes?
      | discuss(?:es)? | documents? | covers? | tests? | verif(?:y|ies) | asserts?
      | confirms? | proves? | shows? | reads?[ ] (?=["“]) | helps? | makes?[ ]it
      | makes?[ ]sense | follows? | mirrors? | aligns? | agrees? | depends[ ]on[ ]whether
      | stays? | remains? | maintained | happens? | occurs? | \w+[ ](?:it|them|they)\b
      | goes[ ]from | occurs? | exists? | surfaces? | comes | stems | focus(?:es)?
      | (?:do|does|is|are|has|have)[ ]?(?:not|n['’]t|no)[ ]
        (?:have|contain|include|exist|mention|specify|say|handle|cover|match|a|an|the)\b
      | (?:has|have)[ ](?:no|not|nothing|already)\b
      | (?:is|are)[ ](?:documented|caused|due|about|because|only|also|just|not|now|never|true|false
        |part|one|why|what|where|how|enough|there|gone|empty|in|on|at)\b
    )\b
    """,
    re.I | re.VERBOSE,
)
# Heads that name nothing, whatever stands before them.
EMPTY_HEADS = frozenset(
    """
    ability addition advantage analysis answer approach argument aspect assumption
    benefit bug case cause challenge change choice code comment concern conclusion
    consequence correction decision difference effect error evidence example
    expectation explanation failure feature finding fix gap goal idea impact
    implementation improvement insight intent issue lesson message mistake need
    note one option outcome part piece plan point possibility problem proof proposal
    question reason recommendation regression requirement rest result risk scenario
    situation solution step strategy suggestion summary task test tests thing title
    update verification warning way work workflow assertion call statement
    """.split()
)
# Words before a noun that do not tell which one is meant.
VAGUE_ADJECTIVES = frozenset(
    """
    the a an our all current existing new old original previous former updated main
    key only actual entire whole full core primary overall basic general specific
    various different certain relevant related additional extra real first second
    third last final next best simple correct proper right wrong good bad same other
    modified revised latest initial remaining following big biggest small
    """.split()
)
# The project as a whole.
PROJECT_NOUNS = frozenset(
    "project repo repository codebase app application we team monorepo".split()
)
# Names that say only where in a history something is.
NO_NAMES = frozenset("head todo note warning fixme wip tl;dr n/a".split())
# Tools of everyone: what they do is no fact of a project.
GENERAL_TOOLS = frozenset(
    "awk sed grep jq curl ls cat go git npm node python pip make sort find bash sh ssh"
    " docker cargo tar xargs head tail".split()
)
# What a thing has, so that "the port of the till" is of the till.
PROPERTIES = frozenset(
    """
    address author branch budget colour color cost database deadline default delay
    directory entry field flag folder format framework host interval key language
    library license limit location maintainer mode name output owner path
    point port prefix schema size source status suffix theme threshold timeout
    title token type url user value version
    """.split()
)
# Verbs that tell of a person.
OF_PERSONS = lazy_pattern(
    r"(?:lives?|likes?|prefers?|loves?|hates?|owns?|leads?|maintains?|reviews?|works|speaks?"
    r"|approves?|decides?|joined|studies|teaches|is (?:a|an|the) (?:\w+ )?"
    r"(?:maintainer|owner|lead|engineer|designer|manager|developer|reviewer|admin|nurse"
    r"|teacher|author|contractor|intern)|is (?:on call|responsible|in charge))\b",
    re.I,
)
ROLES = frozenset(
    "maintainer reviewer owner designer admin administrator operator customer treasurer"
    " editor manager lead cashier librarian".split()
)
# Verbs that say so little that what follows has to name something.
WEAK_VERBS = frozenset("is are has have does do be gets get".split())
# The change of a value, told without its subject: "Renamed `a` to `b`".
REPORTED_CHANGE = lazy_pattern(
    r"""
    (?: (?:i|we)(?:[ ]have|['’]ve)?[ ] )?
    (?P<verb> renamed | moved | switched | migrated | upgraded | downgraded | raised
      | lowered | increased | reduced | bumped | relocated | replaced
      | (?:changed|updated)(?=[ ].*[ ]from[ ]) ) [ ]
    (?P<subject> (?!from\b|to\b|it\b|this\b|that\b|them\b) \S.{0,60}? ) [ ]
    (?P<link> (?:from[ ]\S.{0,60}?[ ])?to | with | into ) [ ]
    (?P<value> \S.{0,100} (?<!:) )
    """,
    re.I | re.VERBOSE,
)
# The same with its subject: "`a.go` moved to `b/`", "The port was raised to 80".
TOLD_CHANGE = lazy_pattern(
    r"""
    (?P<subject> \S.{0,60}? ) [ ]
    (?: (?:was|were|is|are|has|have|been|got|now) [ ] )*
    (?P<verb> renamed | moved | switched | migrated | upgraded | downgraded | raised
      | lowered | increased | reduced | bumped | relocated
      | (?:changed|updated)(?=[ ]from[ ]) ) [ ]
    (?: from[ ](?P<old>\S.{0,60}?)[ ] )? (?:to|into) [ ] (?P<value> \S.{0,100} )
    """,
    re.I | re.VERBOSE,
)
# A value and the one before it: "Database file: `b.db` (was `a.db`)".
NOTED_CHANGE = lazy_pattern(
    r"(?P<subject>[A-Z][a-z]+(?:[ ][a-z]+){1,2}):\s+(?P<value>`[^`]+`)"
    r"\s+\((?:was|previously|formerly)\s+(?P<old>`[^`]+`)\)"
)
# What a thing was given: "Added the `--all` flag to `tasks list`".
REPORTED_ADDITION = lazy_pattern(
    r"""
    (?: (?:i|we)(?:[ ]have|['’]ve)?[ ] )? (?:added|introduced|implemented) [ ]
    (?:(?:an?|the)[ ])? (?:(?:new|optional|additional)[ ])*
    (?P<addition> `[^`]+` (?:[ ](?!to\b|for\b|in\b)\w+){0,2} ) [ ] (?:to|for|in) [ ]
    (?P<owner> (?:the[ ])? (?:`[^`]+`|[\w/.-]+\.\w{1,4}) (?:[ ](?:command|flag|class|module|table
      |schema|interface|method|function|option|file|config|script|endpoint|struct))? )
    (?P<rest> [ ](?:to|that|which|for|so)\b.* )?
    """,
    re.I | re.VERBOSE,
)
# What was taken away: "Removed the `port` parameter from `serve`".
REPORTED_REMOVAL = lazy_pattern(
    r"""
    (?: (?:i|we)(?:[ ]have|['’]ve)?[ ] )? (?:removed|deleted|dropped) [ ]
    (?:(?:an?|the|all|unused|old|obsolete|legacy|dead|now-unused)[ ])*
    (?P<removed> `[^`]+` (?:[ ](?!from\b|in\b|import)\w+){0,2} )
    (?: [ ](?:from|in)[ ] (?P<owner> (?:the[ ])? `[^`]+` (?:[ ](?:command|class|module
      |table|schema|interface|method|function|file|config|script|endpoint|struct
      |signature))? ) )?
    """,
    re.I | re.VERBOSE,
)
# What can be left out of a dated statement: "now shows", "correctly shows".
LEFT_OUT = lazy_pattern(
    r"\b(?:correctly|properly|cleanly|successfully|explicitly|actually|basically|now)"
    r"\s+(?=[a-z`\"(#*])",
    re.I,
)
# "`name`: what it does", "`name` — what it does".
LABELLED = lazy_pattern(r"(`[^`]+`(?:[ ]\w+)?)(?:\s+[–—-]\s+|:\s+)(.+)$")
# An exact name: code, a path, a file, a name in code, an abbreviation, a switch.
EXACT_NAME = lazy_pattern(
    r"""
    `[^`]+` | (?<!\w)--?[a-z][\w-]+ | @?[\w.-]+/[\w./-]+ | \b[\w-]+\.[a-z]{1,5}\b
    | \b[a-z]+[A-Z]\w* | \b[A-Z]\w*[a-z][A-Z]\w* | \b\w+_\w+ | \b[A-Z]{2,}[\w-]*
    | \b\w+\(\)
    """,
    re.VERBOSE,
)
# Where in a file something stood, or how long it took, which soon is no longer so.
POSITION = lazy_pattern(
    r"\s*\((?:see\s+)?(?:`?[\w./-]+:\d[\d,:–-]*`?(?:[,;]\s*|\s+and\s+)?)+\)"
    r"|\s+(?:at|in)\s+`[\w./-]+:\d[\d,:–-]*`"
    r"|\s*\(~?\d[\d.,–-]*\s*(?:ms|s|seconds|minutes)\)"
    r"|\s*←.*$"
)
# A position within code that names a file: "`search.go:113`".
POSITION_IN_NAME = lazy_pattern(r"(?<=`)([\w./-]+\.\w+):\d[\d,:–-]*(?=`)")
# Something that is exact in a value: a name, a number, words in quotes.
EXACT_VALUE = lazy_pattern(
    rf"(?:{EXACT_NAME.pattern}) | \b\d[\d.:]*\b | [\"“][^\"”]+[\"”]"
    r" | (?<=[a-z,(][ ])[A-Z][a-z]+",
    re.VERBOSE,
)
