"""The signs by which the type of a query is recognised.

The order of the types is that of the trials. Words are single words in lower case.
Phrases are patterns, tried at the beginning of a word of the query in lower case; marks
are patterns, tried on the query as it is written. A name in {} stands for its pattern
in PARTS. English; the commonest in German, French and Spanish. A word that means
several things (function, safe, number, script, where) counts only within a phrase.
"""

from theorex_lab.core.settings import QueryType

PARTS = {
    "{FIRST}": r"(?:^|(?<=[.!?:,;]\s))(?:and |but |so )?",
    "{IS}": (
        r"(?:is|are|was|were|did|do|does|can|has|have|had|wrote|said|ist|steht|liegt"
        r"|war|hat|est|está)\b"
    ),
    "{NUMBER}": (
        r"(?:\d++|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
        r"|twenty|fifty|hundred)"
    ),
    "{FAILS}": r"(?:crash|hang|freez|fail|break|time[sd]? out)",
    "{PIECE}": (
        r"(?:novel|monologue|dialogue|verse|toast|scene|speech|script|opening line"
        r"|chapter|love letter)\b"
    ),
    "{CODE_OBJECT}": (
        r"(?:\w++\s+){0,3}(?:functions?|methods?|class|classes|scripts?|programs?"
        r"|loops?|modules?|parsers?|endpoints?|decorators?|iterators?"
        r"|(?:unit )?tests?|quer(?:y|ies)|cli|makefile|migration|funktion"
        r"|programm)\b"
    ),
}

WORDS: dict[QueryType, str] = {
    "safety": """
        safety danger dangers dangerous dangerously hazard hazards hazardous harm harms
        harmed harmful poison poisons poisoned poisoning poisonous toxic lethal overdose
        overdosed overdosing suicide suicidal weapon weapons firearm firearms bomb bombs
        explosive explosives detonate violence violent abuse abused abusive harass
        harassed harassing harassment stalker terrorism terrorist extremist malware
        ransomware spyware keylogger phishing cyberattack jailbreak jailbreaking
        vulnerability vulnerabilities vulnerable exploit exploits exploited malicious
        hack hacked hacker hackers hacking leaked threaten threatened threatening
        threats assault assaulted illegal illegally confidential drown drowning choking
        bleeding fraud fraudulent stolen emergency medication allergic steal blackmail
        scam scammed scammer guardrail guardrails doxxing gefahr gefahren gefährlich
        gefährliche gefährlichen gefährlicher gefährliches giftig giftige sprengstoff
        selbstmord waffe waffen dangereux dangereuse empoisonner peligro peligroso
        peligrosa veneno
    """,
    "code": """
        software script scripts endpoint endpoints variable variables imports loops
        array arrays parse parses parsed parser deploy deployed deployment linux ssh
        cron websocket subprocess enum struct constructor oauth bytecode indentation
        whitespace backtrace linting coding codebase coder programming programmer python
        javascript typescript java golang kotlin haskell php sql bash html css json yaml
        regex regexp api apis sdk debug debugs debugged debugging debugger bug bugs
        bugfix stacktrace traceback segfault compile compiles compiled compiler
        compiling syntax refactor refactors refactored refactoring pytest unittest
        linter algorithm algorithms recursion recursive boolean mutex deadlock async
        coroutine coroutines git github gitlab docker dockerfile kubernetes npm webpack
        django frontend backend repo repository sqlite postgres mysql numpy pandas
        typeerror valueerror keyerror subclass runtime stdin stdout stderr localhost
        quellcode quelltext programmcode programmiere programmieren fehlermeldung código
        codigo programación programmation logiciel compilateur
    """,
    "math": """
        matrix invertible odds squared cubed decimals fraction fractions perimeter
        radius diameter triangle triangles converge converges convergent diverge
        diverges numerator denominator correlation bayes bayesian coefficient
        coefficients calculate calculates calculated calculating calculation
        calculations calculator compute computes computed math maths mathematics
        mathematical mathematically arithmetic equation equations formula formulas
        formulae integral integrals derivative derivatives differentiate algebra
        algebraic geometry geometric trigonometry calculus theorem theorems prove proof
        probability probabilities statistics percentage percentages median variance sqrt
        logarithm logarithms exponent factorial matrices eigenvalue eigenvalues
        eigenvector polynomial polynomials quadratic multiply multiplied divisible
        divisor hypotenuse circumference binomial modulo permutations combinatorics
        berechne berechnen gleichung gleichungen ableitung wahrscheinlichkeit
        quadratwurzel integriere calcule calculer équation équations dérivée probabilité
        calcula calcular ecuación ecuaciones derivada probabilidad
    """,
    "retrieval": """
        find search searches searching searched locate retrieve retrieves retrieved
        retrieving retrieval recall recalls lookup fetch remind finde finden suche
        suchen zeige trouve trouver cherche chercher busca buscar encuentra encontrar
    """,
    "creative": """
        riddle riddles lullaby lullabies playful humorous witty funny whimsically poetic
        catchy dramatic fantasy roleplay pretend pirate dragon wizard fairy biography
        superhero poem poems poetry story stories storytelling tale tales fairytale
        lyric lyrics song songs haiku haikus limerick sonnet ballad fiction fictional
        brainstorm brainstorming slogan slogans tagline taglines joke jokes screenplay
        parody rhyme rhymes rhyming metaphor metaphors pun puns invent inventive
        creative creatively imaginative whimsical imagine villain protagonist gedicht
        gedichte märchen reime erfinde kurzgeschichte poème poèmes chanson inventer
        poema poemas cuento cuentos canción
    """,
    "synthesis": """
        gist upshot essence nutshell report brief memo arguments trends similarities
        shorten summarise summarises summarised summarising summarize summarizes
        summarized summarizing summary summaries synthesis synthesise synthesize
        synthesising synthesizing compare compares compared comparing comparison
        comparisons contrast contrasting combine combining overview digest condense
        consolidate recap outline distil distill takeaways tldr tradeoffs analyse
        analyze analysing analyzing analysis evaluate conclusions themes zusammenfassung
        zusammenfassen vergleiche vergleichen überblick résume résumer résumez comparer
        comparez synthèse resumir resumen comparar compara
    """,
}

# The commonest words of English, German, French and Spanish.
COMMON_WORDS = """
    a about after all also am an and any are as at be because been but by can could did do
    does for from get give go good had has have he hello help hey hi how i if in into is
    it its just know let like make many me more my need new no not now of on one or our
    out over please say see she show so some tell than thank thanks that the their them
    then there these they this to today tomorrow up us use very want was we what when
    where which who why will with would yes you your
    aber als am an auch auf aus bei bin bist bitte da danke das dass dem den der des die
    dir du ein eine einen einer er es für guten gute habe haben hallo hat heute ich im ist
    ja kann kein keine mein mich mir mit morgen nach nein nicht noch oder sein sich sie
    sind so über um und uns von war warum was welche wenn wer werden wie wir wird wo zu
    zum zur
    au aux avec bonjour ce cette c comme comment dans de demain des donc du elle en est et
    être fait il ils j je l la le les leur ma mais me merci mes moi mon ne non nous on où
    oui ou par pas plus pour pourquoi qu quand que quel quelle qui sa se ses si son sont
    sur ta te tes toi ton tu un une vous
    al como con cómo cuando cuándo cual cuál de del donde dónde el ella en eres es esta
    está este esto gracias hay hola la las lo los mañana me mi más no nos o para pero por
    porque que quién qué se ser si sin sobre son su sus sí te tengo tu tú un una usted y
    yo
"""

PHRASES: dict[QueryType, tuple[str, ...]] = {
    "safety": (
        (
            r"safe to (?:eat|drink|mix|take|touch|inhale|breathe|swim|give|share"
            r"|swallow|combine)\b"
        ),
        (
            r"(?:kill|hurt|cut|injure)(?:ing)? (?:myself|yourself|himself|herself"
            r"|themselves|someone|somebody|people|him|her)\b"
        ),
        r"(?:sql|prompt|command) injections?\b",
        r"(?:personal|private|sensitive) (?:data|information|details)\b",
        (
            r"(?:hate speech|self[- ]harm|(?:data|security) breach|carbon monoxide"
            r"|gas leak|identity theft|system prompt)"
        ),
        r"(?:first aid|chest pain|smell(?:s|ing)? (?:of )?gas\b)",
        (
            r"(?:ignore|disregard|forget)\b.{0,20}\b(?:previous|prior|above|earlier"
            r"|your) (?:instructions|rules|prompts?)\b"
        ),
        r"how much\b.{1,40}\bis too much\b",
        r"makes? (?:me|you|him|her|them|us|people) (?:ill|sick)\b",
        r"(?:following|threatening|stalking) (?:me|us|her|him)\b",
        r"unsafe\b(?! (?:block|code|rust|fn|pointer))",
    ),
    "code": (
        (
            r"(?<!zip )(?<!dress )(?<!postal )(?<!area )(?<!moral )(?<!morse )"
            r"(?<!promo )(?<!tax )codes?\b(?! of conduct)"
        ),
        (
            r"(?:write|implement|create|build|fix|test|call|rename|add|define"
            r"|rewrite|run|port|schreibe?)(?:s|ing|ed)? {CODE_OBJECT}"
        ),
        r"optimi[sz](?:es?|ing|ed) {CODE_OBJECT}",
        (
            r"(?:this|that|my|the|our) (?:functions?|methods?|scripts?|build)\b(?! "
            r"(?:f\b|of the|with respect))"
        ),
        r"(?:this|slow|the) quer(?:y|ies)\b",
        r"(?:for|while) loop",
        r"generator expression",
        r"data structure",
        r"hash ?map",
        r"big o\b",
        r"borrow checker",
        r"stack (?:overflow|trace)",
        r"object[- ]oriented",
        r"(?:keyword|default) argument",
        r"unit test",
        r"null pointer",
        r"merge conflict",
        r"pull request",
        r"race condition",
        r"memory leak",
        r"thread[- ]?safe",
        r"type hint",
        r"code review",
        r"command line",
        r"shell command",
        r"environment variable",
        r"off[- ]by[- ]one",
        r"c\+\+",
        r"c#",
        r"node\.js",
        r"pip install\b",
        r"exceptions?\b(?! (?:of|to)\b)",
        (
            r"(?:apps?|programs?|servers?|browser|process|service|tests?|builds?"
            r"|pipeline) (?:always |still |keeps? )?{FAILS}"
        ),
        r"http (?:status|requests?|headers?|errors?|\d{3})\b",
        (
            r"(?:install|import|upgrade|publish)\w* (?:the |a |this |that )?"
            r"(?:packages?|librar(?:y|ies)|modules?|dependenc)"
        ),
        r"(?:patch|branch|commit)\b.{0,40}\b(?:merge|rebase|revert|review)\b",
        r"(?:merge|rebase|revert|review)\w*\b.{0,40}\b(?:patch|branch|commit)\b",
        r"keyword\b.{0,20}\bmean",
        r"select\b[^.?!]{1,200}?\bfrom\b[^.?!]{1,100}?\bwhere\b",
        r'file "[^"\n]{1,300}", line \d',
        r"at [\w.$]++\([\w.]++:\d",
        r"def \w++\(",
        r"include <",
        (
            r"[\w.]++\.(?:py|js|tsx?|java|rs|cpp|sh|rb|php|sql|html|css|json|ya?ml"
            r"|toml|ipynb)\b"
        ),
        r"\w++(?:\(\)|::\w|==|!=|&&|=>)",
    ),
    "math": (
        r"\d++\s*[+*×÷^]\s*\(?\d+",
        r"\d++\s+[-−/:]\s+\d",
        r"\d++\)?\s*[-+*/]\s*\d+\s*=",
        r"[a-z]\s?\^\s?\d",
        r"\d++(?:[.,]\d+)?\s?(?:%|percent)\s+(?:of|off|von|de)\b",
        (
            r"{NUMBER}\s+(?:times|plus|minus|divided by|multiplied by|modulo|mal"
            r"|geteilt durch)\s+{NUMBER}\b"
        ),
        r"how (?:many|much|far|fast|long)\b[^\n]{0,200}?\d[^\n]{0,60}?\d",
        r"if\b[^\n]{1,100}?\d[^\n]{1,100}?\bhow (?:many|much|far|fast|long)\b",
        r"(?:mean|average|median|limit|product) of\b[^\n]{0,40}?\d",
        r"integrate (?:x|y|t|e|f|sin|cos|over|the)\b",
        r"round \d",
        r"divided? \d",
        r"(?:sin|cos|tan|log|ln|exp)\([a-z\d]",
        r"decimal places?\b",
        r"expected value\b",
        r"p[- ]value\b",
        r"standard deviation\b",
        r"solve for\b",
        r"compound interest\b",
        r"(?:square|cube) roots?\b",
        r"(?:prime|even|odd|complex|rational) numbers?\b",
        r"sum of\b",
        r"sums? up to\b",
        r"how many ways\b",
        r"add up\b",
        r"area of\b",
        r"volume of a\b",
    ),
    "retrieval": (
        r"look(?:ing|ed)? (?:up|for)\b",
        r"look(?:ing)? (?:it|that|this|them) up\b",
        r"{FIRST}(?:where|when|wo|wann|où|dónde)\s+(?:\w++\s+)?{IS}",
        r"{FIRST}who(?:m|se)?\b(?! are you)",
        r"^(?:have|has|had|did) (?:we|i|you|anyone|anybody|somebody|someone)\b",
        r"dig (?:out|up)\b",
        r"get me\b",
        r"last time\b",
        r"do we have\b",
        r"do you remember\b",
        r"mention(?:s|ed)?\b",
        (
            r"(?:in|from|of|through) (?:my|our|the) (?:notes|emails?|files|history"
            r"|archive|records|inbox|logs?|calendar)\b"
        ),
        (
            r"(?:link|address|date|name|number|password|author|title|version|minutes"
            r"|location) (?:to|of|we) (?:the|our|my|that|this)\b"
        ),
        r"which of (?:my|our|the)\b",
        r"is there (?:anything|something|any|a (?:note|record|file|document))\b",
        r"what (?:did|was|were|had) (?:we|i|you|they|he|she|it|the|our|my|that|said)\b",
        (
            r"(?:which|what) (?:file|page|document|note|message|email|folder|meeting"
            r"|commit|chapter|section|session)\b"
        ),
        (
            r"(?:show|list|get|give|pull up|bring up)(?: me)? (?:all|every|the "
            r"(?:last|latest|notes|list|entries|records|file))\b"
        ),
    ),
    "creative": (
        (
            r"(?:write|draft|compose)\s+(?:me\s+)?(?:an?\s+|the\s+)?"
            r"(?:\w++\s+){0,2}{PIECE}"
        ),
        r"(?:dream|make|making|think) up\b",
        r"come up with\b",
        r"plot twist\b",
        r"once upon a time\b",
        r"in the style of\b",
        r"role[- ]play\b",
        r"a novel\b(?! (?:approach|way|method|technique|idea|use|virus))",
        r"letter from (?:the|an?)\b",
        r"(?:sounds?|reads?|written|talk|speak) (?:like|as) (?:an?|if)\b",
        r"(?:opening|ending|scene|chapter) (?:of|for) an?\b",
        r"(?:names?|titles?) (?:for|ideas?|suggestions?)\b",
        r"ideas? for (?:an?|my|our)\b",
    ),
    "synthesis": (
        r"boil\b.{1,60}\bdown\b",
        r"(?:pull|bring|put|tie|draw)\b.{1,80}\btogether\b",
        r"fasse\b.{1,200}\bzusammen\b",
        r"for and against\b",
        r"pros and cons\b",
        r"advantages and disadvantages\b",
        r"bottom line\b",
        r"in common\b",
        r"bullet points?\b",
        r"tl;dr\b",
        r"relat(?:e|es|ionship|ed)\b.{0,30}\b(?:to each other|between)\b",
        r"differ(?:s|ences?)? (?:between|from)\b",
        r"merge (?:these|the|both|all)\b",
        r"weigh (?:up|the|both|these)\b",
        r"lessons (?:learned|learnt)\b",
        r"patterns (?:in|do)\b",
        r"one[- ]page\b",
        r"in (?:one|two|three|a few|\d+) (?:paragraphs?|sentences?|words|lines)\b",
        r"(?:key|main) (?:points|findings|ideas|messages|arguments|lessons)\b",
        r"trade-offs?\b",
    ),
}

MARKS: dict[QueryType, tuple[str, ...]] = {
    "code": (r"```", r"~~~", r"\bRust\b", r"\b[A-Z]\w*(?:Error|Exception)\b"),
    "math": (r"∫", r"∑", r"√", r"≤", r"≥", r"∂", r"∏"),
}
