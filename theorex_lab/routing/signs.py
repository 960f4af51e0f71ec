"""The words, phrases and marks that tell a query's type, in English; the commonest in German, French and Spanish.

A word that means several things (function, safe, number, script, where) counts only within a phrase.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from theorex_lab.config import QueryType


class Signs(NamedTuple):
    """The signs of a type: whole words and phrases, both in lower case, and marks in the text as it stands."""

    words: frozenset[str]
    phrases: re.Pattern[str]
    marks: re.Pattern[str] | None


# Parts of phrases that occur in several, by the name that stands for them.
_PARTS = {
    "{FIRST}": r"(?:^|(?<=[.!?:,;]\s))(?:and |but |so )?",
    "{IS}": r"(?:is|are|was|were|did|do|does|can|has|have|had|wrote|said|ist|steht|liegt|war|hat|est|está)\b",
    "{NUMBER}": r"(?:\d++|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|fifty|hundred)",
    "{FAILS}": r"(?:crash|hang|freez|fail|break|time[sd]? out)",
    "{PIECE}": r"(?:novel|monologue|dialogue|verse|toast|scene|speech|script|opening line|chapter|love letter)\b",
    "{CODE_OBJECT}": (
        r"(?:\w++\s+){0,3}(?:functions?|methods?|class|classes|scripts?|programs?|loops?|modules?|parsers?|endpoints?|"
        r"decorators?|iterators?|(?:unit )?tests?|quer(?:y|ies)|cli|makefile|migration|funktion|programm)\b"
    ),
}


def _signs(words: str, phrases: str, marks: str = "") -> Signs:
    """`phrases` and `marks`: alternatives, one or more a line."""
    for name, part in _PARTS.items():
        phrases = phrases.replace(name, part)
    alternatives = "|".join(line.strip() for line in phrases.strip().splitlines())
    # One look for the beginning of a word serves all phrases of a type: they are tried on every query.
    found = rf"\b(?=\w)(?:{alternatives})"
    return Signs(frozenset(words.split()), re.compile(found), re.compile(marks) if marks else None)


# The order is the order of the trials.
SIGNS: dict[QueryType, Signs] = {
    "safety": _signs(
        """
        safety danger dangers dangerous dangerously hazard hazards hazardous harm harms harmed harmful
        poison poisons poisoned poisoning poisonous toxic lethal overdose overdosed overdosing suicide
        suicidal weapon weapons firearm firearms bomb bombs explosive explosives detonate violence violent
        abuse abused abusive harass harassed harassing harassment stalker terrorism terrorist extremist
        malware ransomware spyware keylogger phishing cyberattack jailbreak jailbreaking vulnerability
        vulnerabilities vulnerable exploit exploits exploited malicious hack hacked hacker hackers hacking
        leaked threaten threatened threatening threats assault assaulted illegal illegally confidential
        drown drowning choking bleeding fraud fraudulent stolen emergency medication allergic steal
        blackmail scam scammed scammer guardrail guardrails doxxing gefahr gefahren gefährlich gefährliche
        gefährlichen gefährlicher gefährliches giftig giftige sprengstoff selbstmord waffe waffen dangereux
        dangereuse empoisonner peligro peligroso peligrosa veneno
        """,
        r"""
        safe to (?:eat|drink|mix|take|touch|inhale|breathe|swim|give|share|swallow|combine)\b
        (?:kill|hurt|cut|injure)(?:ing)? (?:myself|yourself|himself|herself|themselves|someone|somebody|people|him|her)\b
        (?:sql|prompt|command) injections?\b
        (?:personal|private|sensitive) (?:data|information|details)\b
        (?:hate speech|self[- ]harm|(?:data|security) breach|carbon monoxide|gas leak|identity theft|system prompt)
        (?:first aid|chest pain|smell(?:s|ing)? (?:of )?gas\b)
        (?:ignore|disregard|forget)\b.{0,20}\b(?:previous|prior|above|earlier|your) (?:instructions|rules|prompts?)\b
        how much\b.{1,40}\bis too much\b
        makes? (?:me|you|him|her|them|us|people) (?:ill|sick)\b
        (?:following|threatening|stalking) (?:me|us|her|him)\b
        unsafe\b(?! (?:block|code|rust|fn|pointer))
        """,
    ),
    "code": _signs(
        """
        software script scripts endpoint endpoints variable variables imports loops array arrays parse
        parses parsed parser deploy deployed deployment linux ssh cron websocket subprocess enum struct
        constructor oauth bytecode indentation whitespace backtrace linting coding codebase coder
        programming programmer python javascript typescript java golang kotlin haskell php sql bash html css
        json yaml regex regexp api apis sdk debug debugs debugged debugging debugger bug bugs bugfix
        stacktrace traceback segfault compile compiles compiled compiler compiling syntax refactor refactors
        refactored refactoring pytest unittest linter algorithm algorithms recursion recursive boolean mutex
        deadlock async coroutine coroutines git github gitlab docker dockerfile kubernetes npm webpack
        django frontend backend repo repository sqlite postgres mysql numpy pandas typeerror valueerror
        keyerror subclass runtime stdin stdout stderr localhost quellcode quelltext programmcode
        programmiere programmieren fehlermeldung código codigo programación programmation logiciel
        compilateur
        """,
        r"""
        (?<!zip )(?<!dress )(?<!postal )(?<!area )(?<!moral )(?<!morse )(?<!promo )(?<!tax )codes?\b(?! of conduct)
        (?:write|implement|create|build|fix|test|call|rename|add|define|rewrite|run|port|schreibe?)(?:s|ing|ed)? {CODE_OBJECT}
        optimi[sz](?:es?|ing|ed) {CODE_OBJECT}
        (?:this|that|my|the|our) (?:functions?|methods?|scripts?|build)\b(?! (?:f\b|of the|with respect))
        (?:this|slow|the) quer(?:y|ies)\b
        (?:for|while) loop|generator expression|data structure|hash ?map|big o\b|borrow checker|stack (?:overflow|trace)
        object[- ]oriented|(?:keyword|default) argument|unit test|null pointer|merge conflict|pull request|race condition
        memory leak|thread[- ]?safe|type hint|code review|command line|shell command|environment variable|off[- ]by[- ]one
        c\+\+|c#|node\.js|pip install\b|exceptions?\b(?! (?:of|to)\b)
        (?:apps?|programs?|servers?|browser|process|service|tests?|builds?|pipeline) (?:always |still |keeps? )?{FAILS}
        http (?:status|requests?|headers?|errors?|\d{3})\b
        (?:install|import|upgrade|publish)\w* (?:the |a |this |that )?(?:packages?|librar(?:y|ies)|modules?|dependenc)
        (?:patch|branch|commit)\b.{0,40}\b(?:merge|rebase|revert|review)\b
        (?:merge|rebase|revert|review)\w*\b.{0,40}\b(?:patch|branch|commit)\b
        keyword\b.{0,20}\bmean
        select\b[^.?!]{1,200}?\bfrom\b[^.?!]{1,100}?\bwhere\b
        file "[^"\n]{1,300}", line \d|at [\w.$]++\([\w.]++:\d
        def \w++\(|include <|[\w.]++\.(?:py|js|tsx?|java|rs|cpp|sh|rb|php|sql|html|css|json|ya?ml|toml|ipynb)\b
        \w++(?:\(\)|::\w|==|!=|&&|=>)
        """,
        r"```|~~~|\bRust\b|\b[A-Z]\w*(?:Error|Exception)\b",
    ),
    "math": _signs(
        """
        matrix invertible odds squared cubed decimals fraction fractions perimeter radius diameter triangle
        triangles converge converges convergent diverge diverges numerator denominator correlation bayes
        bayesian coefficient coefficients calculate calculates calculated calculating calculation
        calculations calculator compute computes computed math maths mathematics mathematical mathematically
        arithmetic equation equations formula formulas formulae integral integrals derivative derivatives
        differentiate algebra algebraic geometry geometric trigonometry calculus theorem theorems prove
        proof probability probabilities statistics percentage percentages median variance sqrt logarithm
        logarithms exponent factorial matrices eigenvalue eigenvalues eigenvector polynomial polynomials
        quadratic multiply multiplied divisible divisor hypotenuse circumference binomial modulo
        permutations combinatorics berechne berechnen gleichung gleichungen ableitung wahrscheinlichkeit
        quadratwurzel integriere calcule calculer équation équations dérivée probabilité calcula calcular
        ecuación ecuaciones derivada probabilidad
        """,
        r"""
        \d++\s*[+*×÷^]\s*\(?\d+|\d++\s+[-−/:]\s+\d|\d++\)?\s*[-+*/]\s*\d+\s*=|[a-z]\s?\^\s?\d
        \d++(?:[.,]\d+)?\s?(?:%|percent)\s+(?:of|off|von|de)\b
        {NUMBER}\s+(?:times|plus|minus|divided by|multiplied by|modulo|mal|geteilt durch)\s+{NUMBER}\b
        how (?:many|much|far|fast|long)\b[^\n]{0,200}?\d[^\n]{0,60}?\d
        if\b[^\n]{1,100}?\d[^\n]{1,100}?\bhow (?:many|much|far|fast|long)\b
        (?:mean|average|median|limit|product) of\b[^\n]{0,40}?\d
        integrate (?:x|y|t|e|f|sin|cos|over|the)\b|round \d|divided? \d|(?:sin|cos|tan|log|ln|exp)\([a-z\d]
        decimal places?\b|expected value\b|p[- ]value\b|standard deviation\b|solve for\b|compound interest\b
        (?:square|cube) roots?\b|(?:prime|even|odd|complex|rational) numbers?\b
        sum of\b|sums? up to\b|how many ways\b|add up\b|area of\b|volume of a\b
        """,
        r"[∫∑√≤≥∂∏]",
    ),
    "retrieval": _signs(
        """
        find search searches searching searched locate retrieve retrieves retrieved retrieving retrieval
        recall recalls lookup fetch remind finde finden suche suchen zeige trouve trouver cherche chercher
        busca buscar encuentra encontrar
        """,
        r"""
        look(?:ing|ed)? (?:up|for)\b|look(?:ing)? (?:it|that|this|them) up\b
        {FIRST}(?:where|when|wo|wann|où|dónde)\s+(?:\w++\s+)?{IS}
        {FIRST}who(?:m|se)?\b(?! are you)
        ^(?:have|has|had|did) (?:we|i|you|anyone|anybody|somebody|someone)\b
        dig (?:out|up)\b|get me\b|last time\b|do we have\b|do you remember\b|mention(?:s|ed)?\b
        (?:in|from|of|through) (?:my|our|the) (?:notes|emails?|files|history|archive|records|inbox|logs?|calendar)\b
        (?:link|address|date|name|number|password|author|title|version|minutes|location) (?:to|of|we) (?:the|our|my|that|this)\b
        which of (?:my|our|the)\b|is there (?:anything|something|any|a (?:note|record|file|document))\b
        what (?:did|was|were|had) (?:we|i|you|they|he|she|it|the|our|my|that|said)\b
        (?:which|what) (?:file|page|document|note|message|email|folder|meeting|commit|chapter|section|session)\b
        (?:show|list|get|give|pull up|bring up)(?: me)? (?:all|every|the (?:last|latest|notes|list|entries|records|file))\b
        """,
    ),
    "creative": _signs(
        """
        riddle riddles lullaby lullabies playful humorous witty funny whimsically poetic catchy dramatic
        fantasy roleplay pretend pirate dragon wizard fairy biography superhero poem poems poetry story
        stories storytelling tale tales fairytale lyric lyrics song songs haiku haikus limerick sonnet
        ballad fiction fictional brainstorm brainstorming slogan slogans tagline taglines joke jokes
        screenplay parody rhyme rhymes rhyming metaphor metaphors pun puns invent inventive creative
        creatively imaginative whimsical imagine villain protagonist gedicht gedichte märchen reime erfinde
        kurzgeschichte poème poèmes chanson inventer poema poemas cuento cuentos canción
        """,
        r"""
        (?:write|draft|compose)\s+(?:me\s+)?(?:an?\s+|the\s+)?(?:\w++\s+){0,2}{PIECE}
        (?:dream|make|making|think) up\b|come up with\b|plot twist\b|once upon a time\b|in the style of\b|role[- ]play\b
        a novel\b(?! (?:approach|way|method|technique|idea|use|virus))|letter from (?:the|an?)\b
        (?:sounds?|reads?|written|talk|speak) (?:like|as) (?:an?|if)\b
        (?:opening|ending|scene|chapter) (?:of|for) an?\b
        (?:names?|titles?) (?:for|ideas?|suggestions?)\b|ideas? for (?:an?|my|our)\b
        """,
    ),
    "synthesis": _signs(
        """
        gist upshot essence nutshell report brief memo arguments trends similarities shorten summarise
        summarises summarised summarising summarize summarizes summarized summarizing summary summaries
        synthesis synthesise synthesize synthesising synthesizing compare compares compared comparing
        comparison comparisons contrast contrasting combine combining overview digest condense consolidate
        recap outline distil distill takeaways tldr tradeoffs analyse analyze analysing analyzing analysis
        evaluate conclusions themes zusammenfassung zusammenfassen vergleiche vergleichen überblick résume
        résumer résumez comparer comparez synthèse resumir resumen comparar compara
        """,
        r"""
        boil\b.{1,60}\bdown\b|(?:pull|bring|put|tie|draw)\b.{1,80}\btogether\b|fasse\b.{1,200}\bzusammen\b
        for and against\b|pros and cons\b|advantages and disadvantages\b|bottom line\b|in common\b|bullet points?\b|tl;dr\b
        relat(?:e|es|ionship|ed)\b.{0,30}\b(?:to each other|between)\b|differ(?:s|ences?)? (?:between|from)\b
        merge (?:these|the|both|all)\b|weigh (?:up|the|both|these)\b|lessons (?:learned|learnt)\b|patterns (?:in|do)\b
        one[- ]page\b|in (?:one|two|three|a few|\d+) (?:paragraphs?|sentences?|words|lines)\b
        (?:key|main) (?:points|findings|ideas|messages|arguments|lessons)\b|trade-offs?\b
        """,
    ),
}
