"""Cues of English that distinguish a standing rule from a task and from small talk.

Each pattern is a sign, not a verdict: `rules` weighs them. They are of English and of
coding work in general; another language gets a module like this one. Standard library
only.
"""

from __future__ import annotations

import re

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.text.caseless import caseless_test

# Words before a sentence's verb that carry nothing of a rule.
_OPENERS = r"""
    (?:
        (?: and | also | but | so | ok | okay | please | pls | then | in[ ]general
          | from[ ]now[ ]on | going[ ]forward | generally | no | yes | remember | note
          | first | again | now | great | good | hmm+ | just
        )
        [,:;.]? \s+
    )*
"""

# What a file or a collection of an agent's instructions is called.
RULE_FILE = r"""
    (?: [\w./-]+\.mdc \b
      | \b(?:claude|agents?|gemini|conventions|guidelines)\.md \b
      | \bcopilot[-_ ]instructions?(?:\.md)? \b
      | \b(?:cursor|agents?|project|global|house|custom) \s+ (?:rules?|instructions?) \b
      | \b(?:rules?|rule[ ]files?|instructions?|directives?|guidelines?|preferences?
        | conventions?) \b
    )
"""

# A verb that begins a lasting wish: it says how to work, not what to do next.
WISH = caseless_test(
    rf"""
    ^ {_OPENERS} (?: for[ ][^,]{{3,40}},[ ] )?
    (?: always | never | avoid | prefer | keep | stop | only | ask | follow | lint
      | format | verify[ ](?:that[ ])?the[ ]code[ ] | stay | respect | stick[ ]to
      | treat | limit | wait | make[ ]sure | ensure | be[ ]sure
      | be[ ](?:careful|concise|brief|terse|short|explicit) | answer | reply | respond
      | no[ ](?! need | problem | idea | worries | way | longer | changes? | errors?
          | tests?[ ](?:found|run|needed) ) \w{{3,}}
      | single | one
      | when(?:ever)? \b [^.?!]{{3,80}} \b
        (?: never | always | first | use | do[ ]not | don'?t )
      | after[ ](?:each|every) | before[ ](?:each|every|any)
      | (?:do[ ]not|don'?t) [ ]
        (?! need | think | want | see | know | have | like | love | get | remember
          | understand | care | forget | mind | worry | believe | feel )
    ) \b
    """,
    re.VERBOSE,
)
# A verb that begins a wish as often as a piece of work: with a word of MANNER a wish.
WISH_OR_TASK = caseless_test(
    rf"""
    ^ {_OPENERS}
    (?: use | write | put | place | document | describe | include | explain | present
      | show[ ]me | work | leave | focus
    ) \b
    """,
    re.VERBOSE,
)
# "Use pnpm instead of npm": one way to work is named, and the one that it replaces.
CONTRAST = caseless_test(
    r"\b(?:instead of|rather than|never|, ?not|and not|but not|over)\b"
)
MANNER = caseless_test(
    r"""
    \b(?: always | never | each | every | all | any | instead | rather[ ]than
      | without | not | whenever | when \s \w+ing | before \s \w+ing
    )\b
    """,
    re.VERBOSE,
)

# A verb that begins a piece of work. It is a rule only with a word of EVERY_TIME.
TASK = caseless_test(
    rf"""
    ^ {_OPENERS}
    (?: (?:can|could|would)[ ](?:you|we) | let'?s | lets | now | go[ ]ahead | go[ ]with
      | continue | proceed | add | implement | fix | create | build | remove | delete
      | rename | move | change | convert | refactor | merge | replace | update | make(?![ ]sure)
      | look | take[ ]a[ ]look | investigate | review | summari[sz]e | translate
      | proofread | check | run | try | start | finish | generate | read | fetch | find
      | set | switch | pull | push | commit | save | store | test
      | verify[ ](?!(?:that[ ])?the[ ]code[ ]) | demonstrate | show | give | tell | think
      | format[ ](?:your|this|it|the)
      | explain[ ](?:\w+ly[ ])?(?:what|why|how|the|this|to) | describe[ ](?:the|this|how)
      | write[ ](?:a|an|the|some|it|this) | use[ ](?:the|this|that|these|those)
      | put[ ](?:the|this|that|it) | keep[ ](?:going|trying|in[ ]mind)
      | (?:include|place|document)[ ](?:the|this|that|it|those|these)
      | leave[ ](?:it|this|that) | ask[ ]me[ ]any | focus[ ]on[ ](?:the|this|that)
      | gather | collect | analy[sz]e | study | search | list | open | install | deploy
      | upgrade | discuss | redo | address | consider | design | plan | propose
      | organi[sz]e | clean
      | i[ ](?:need|want)[ ](?:you[ ]to|to) | we[ ](?:also[ ])?need[ ]to | need[ ]to
      | you[ ](?:need[ ]to|should|must)[ ](?:look|check|fix|try|update|switch|add|go)
    ) \b
    """,
    re.VERBOSE,
)

# A wish that holds beyond the moment.
EVERY_TIME = caseless_test(
    r"""
    \b(?: always | never | every[ ]time | each[ ]time | whenever | from[ ]now[ ]on
      | going[ ]forward | in[ ](?:the[ ])?future | at[ ]all[ ]times | in[ ]general
      | by[ ]default | must[ ]not | must | under[ ]no[ ]circumstances
      | without[ ]exception | as[ ]a[ ]rule | any[ ]?time | where(?:ver)?[ ]possible
      | it'?s[ ]important | mandatory | strictly | in[ ]all[ ]cases | constantly
      | after[ ](?:each|every) | before[ ](?:each|every|any) | each[ ]phase | next[ ]time
    )\b
    """,
    re.VERBOSE,
)

NEGATION = caseless_test(
    r"\b(?:don'?t|do not|never|not|no|avoid|stop|without|rather than|instead of)\b",
)

# What ought to be, said of the code or of the agent.
OUGHT = caseless_test(
    r"""
    \b(?: should(?:n'?t)? | must(?:n'?t)? | needs?[ ]to | ha(?:ve|s)[ ]to | ought
      | supposed[ ]to | may[ ](?:not[ ])?be
      | we[ ](?:focus|use|prefer|never|always|keep|follow)
      | i[ ](?:prefer|expect|always|never) | i'?ll[ ]do | i[ ]do[ ]the | you[ ]do[ ]the
      | you[ ](?:always|never) | you[ ]are[ ]to
    )\b
    """,
    re.VERBOSE,
)

# What stands before a colon that announces a text of someone else.
ANNOUNCEMENT = caseless_test(
    r"^(?:here(?:'s| is| are)|this is|(?:the|a|an|his|her|their|my) [\w ]+ "
    r"(?:says?|said|reads?|wrote))\b",
)

# Who does what: the user's part of the work, or the agent's.
ROLE = caseless_test(
    r"""
    ^ the[ ]user[ ](?:does|makes|decides|tests|runs|commits|reviews|prefers|wants
      |expects)\b
    | ^ you[ ](?:are[ ]to|do[ ]the|always|never)\b
    """,
    re.VERBOSE,
)

# How work is done in any project: a rule speaks of at least one of these.
_PRACTICE = r"""
    \b(?: code | tests? | testing | tested | untested | commit\w* | push\w* | stag(?:e|ing)
      | branch(?:es)? | git | docs? | documentation | comments? | dependenc\w+ | lint\w*
      | format\w* | style | conventions? | rules? | guidelines? | directions
      | instructions? | naming | dry | duplicat\w+ | decisions? | decide | options?
      | ask(?:ing)? | questions? | plans? | reviews? | changelog | workspaces? | root
      | litter\w* | environment | venv | virtualenv | secrets? | logging
      | pull[ ]requests? | coverage | tautolog\w+ | concise | workflow | helpers?
      | repo(?:sitory)? | worktrees? | refactor\w* | bugs? | confirmation
      | explanations? | explain | estimates? | sprawl | exit[ ]points? | many[ ]returns
      | functions? | class(?:es)? | modules? | imports? | type[ ]hints? | types
      | docstrings? | indentation | tabs | spaces | mocks? | mocking | fixtures?
      | warnings | abbreviations? | emojis? | brief
      | english | todos? | backward[- ]compatib\w+ | [\w-]+\.mdc
    )\b
    """
PRACTICE = lazy_pattern(_PRACTICE, re.I | re.VERBOSE)
PRACTICE_IN_LOWER_CASE = lazy_pattern(_PRACTICE, re.VERBOSE)

# A word that points at something outside the sentence.
DEICTIC = caseless_test(
    r"""
    \b(?: (?:this|that|these|those)
        (?! [ ](?:project|repo|repository|code[ ]?base|workspace) )
      | here | above | below | now | again | latest | current | such
      | other | the[ ]new | (?:phase|step|chunk|part|milestone|sprint|stage|task)[ ]?\#?\d+
    )\b
    """,
    re.VERBOSE,
)

# What a thing of the product is to do or to be: "make sure uploads return their id". It
# is a rule only if it speaks of how work is done.
PRODUCT_WISH = lazy_pattern(
    rf"""
    ^ {_OPENERS}
    (?: (?P<sure>make[ ]sure|ensure|be[ ]sure) (?:[ ]that)? [ ]
        (?! you\b | to\b | we\b | i\b | agents?\b | all[ ](?:tests|code)\b )
      | no[ ] \w+ | there[ ](?:should|must) | it[ ](?:should|must)
      | only[ ](?!use|ever|commit|push|write|edit|change|touch|add|create|run|answer|ask)
      | single | one | keep[ ](?:the|its?|this|that)\b
    )
    """,
    re.I | re.VERBOSE,
)
# A piece of work in a second clause: "no ports for jobs - remove them everywhere".
SECOND_TASK = caseless_test(
    r"(?: [-–—]+ |; )(?:please |just |now )?"
    r"(?:remove|delete|drop|add|fix|rename|update|change|move|replace|revert|undo)\b",
)
# "do it", "reference them", "in any other location": what is meant is not in the
# sentence.
WITHOUT_REFERENT = caseless_test(
    rf"""
    \b (?:any|some|an)[ ]?other[ ](?:location|place|way|folder|file|one)s? \b
    | ^ {_OPENERS} (?:only|always|never|don'?t|do[ ]not)[ ](?:go[ ]ahead|proceed|continue)
      [ ](?:if|when|once)\b
    | ^ {_OPENERS}
    (?: (?:always|never|only|make[ ]sure[ ](?:you|to)|ensure|be[ ]sure[ ]to) [ ]
        (?:you[ ])? )?
    (?!keep[ ]) (?:do[ ]not[ ]|don'?t[ ])? \w+ [ ] (?:\w+[ ]with[ ]|with[ ]|to[ ]|for[ ])?
    (?: it | them | this | that | these | those | something | anything | so ) \b
    """,
    re.VERBOSE,
)
BEGINS_WITH_PRONOUN = caseless_test(
    r"^(?:so|and|but|it|its|that|this|these|those|they|he|she|which|then|there)\b"
)

# How a prompt begins that objects to what an agent has just done.
CORRECTION = caseless_test(
    r"""
    ^ (?: no\b | nope | wait | stop | hold[ ]on | hmm | uhh? | umm | whoa | dude | man\b
      | what[ ]the | why[ ](?:are|did|didn'?t|do|would|don'?t|is|isn'?t|so|not)
      | you[ ](?:just|didn'?t|did|are|aren'?t|forgot|missed|were|should|must|have|broke
        |keep|still|edited|updated|modified|committed|made|changed|removed|seem)
      | you'?re[ ]not | that'?s[ ](?:not|wrong) | this[ ]is(?:n'?t|[ ]not|[ ]wrong)
      | not[ ]what | i[ ](?:said|told|asked|didn'?t|meant|already|made|don'?t)
      | i'?ll[ ]do | don'?t | do[ ]not | never | but[ ](?:you|i|we) | again | actually
      | (?:that[ ])?doesn'?t[ ]seem | that[ ](?:does|is|isn'?t) | in[ ]what[ ]world
      | have[ ]you | since[ ]when | please[ ]don'?t | undo | revert
      | we[ ](?:don'?t|never|already|must) | instead | is[ ]there[ ]a[ ]way[ ]we
    ) \b
    """,
    re.VERBOSE,
)

# The user asks to write a wish down where agents read it, or says that it lasts.
RECORD_REQUEST = caseless_test(
    rf"""
      \b(?: make | create | add | write | record | document | save | put | turn | update
          | adjust | include | improve | change | has | mention )
      \b [^.?!\n]{{0,80}} {RULE_FILE}
    | \b from[ ]now[ ]on \b
    | \b remember [ ] (?:that|to) \b
    | \b (?:for|in) [ ] (?:the[ ])? future \b
    | \b (?:so[ ]that|make[ ]sure) [ ] you [ ] (?:never|always|don'?t) \b
    | \b never[ ]do[ ]this[ ]again \b
    | ^ mention[ ]that \b
    """,
    re.VERBOSE,
)

# A norm of a conversation's summary stands under a heading such as these.
NORM_HEADING = caseless_test(
    r"constraint|convention|guideline|preference|\brules?\b|instruction"
    r"|user (?:wants|prefers|correct)",
)

# An agent says that it keeps a rule of the user's or of the project's.
OBEYED = caseless_test(
    r"""
      \b(?: per | as[ ]per | following | according[ ]to | in[ ]line[ ]with | under
          | respecting | adhering[ ]to | against | by )
      [ ] (?:your|the|our|these|this|its|project|house|repo\w*) \b
      [^.;:]{0,40}
      (?: \b(?:rules? | guidelines? | conventions? | instructions? | preferences?
          | directions? | policy) \b
        | \.mdc\b | claude\.md | agents\.md )
    | \b(?: violat\w+ | adher\w+[ ]to | comply[ ]with | required[ ]by | per )
      [ ] [^.;]{0,30} \b rules? \b
    | \b per[ ](?:project|repo|house)[ ]conventions? \b
    """,
    re.VERBOSE,
)
# Sentences of an agent that name a rule but do not say what it is: plans, confessions,
# thanks, verdicts of a review.
NOT_OBEDIENCE = caseless_test(
    r"""
      ^ (?: let[ ]me | let'?s | now | next | i'?ll | i[ ]will | i'?m[ ]going | to[ ]ensure
        | thank | you'?re | here | this | it | that | after | first | sorry | earlier
        | i[ ]can | \(?\d
        | \W*(?:✅|⚠|❌|🔴|🟡|🟢) )
    | \b(?: should[ ]have | did[ ]?n[o'’]?t[ ]+ (?:follow|invoke|create|start|use|read)
        | neglected | failed[ ]to | i[ ]missed | apologi[sz]e | checklist )
    | ✅ | ⚠ | ❌
    """,
    re.VERBOSE,
)

# A reminder that is only the name of a rule file: "@errors.mdc".
BARE_REMINDER = lazy_pattern(r"^\W*@?(?:[\w-]+/)*([\w.-]+\.mdc|[A-Z]+\.md)\W*$")
RULE_MENTION = lazy_pattern(r"@(?:[\w.-]+/)*([\w-]+\.mdc|[A-Z]{4,}\.md)\b")

# What is no lasting wish, however it is put: reports of a state, moods, invitations, and
# what holds for the moment: "nothing of that yet", "no code changes".
SMALL_TALK = caseless_test(
    r"""
      \b any[ ]questions \b | \b same[ ](?:issue|error|problem) \b
    | ^ i[ ](?:don'?t|do[ ]not|didn'?t)[ ](?:want|need|like|love|see|know|understand|think) \b
    | \b (?:doesn'?t|does[ ]not|isn'?t|not)[ ](?:work|working) \b
    | \b (?:there[ ](?:is|are)|still|same|another|other|an?)[ ](?:\w+[ ])?errors? \b
    | \b mistakes? \b (?! [ ](?:in|when|with)[ ](?!the[ ]future) )
    | \b (?:what[ ]the[ ](?:hell|fuck)|wth|wtf|man|dude) \b | \b option[ ][a-z0-9]\b
    | \b in[ ]mind \b | \b i[ ](?:think|guess|suspect) \b | \? .* \?
    | \b (?:yet|for[ ]now|right[ ]now|this[ ]time|for[ ]the[ ]moment) \W* $
    | ^ (?:please[ ])? (?:no|(?:don'?t|do[ ]not)[ ]make[ ](?:any[ ])?)[ ]? (?:code[ ])?
      (?:changes?|edits?) \W* $
    """,
    re.VERBOSE,
)
