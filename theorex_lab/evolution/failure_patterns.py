"""Patterns by which the steps of a run are read, and the signs of a mistake."""

import re
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern


class MistakeSign(NamedTuple):
    """A sign of a mistake, and what it is; `decisive_weights.json` says its weight."""

    name: str
    about: str


SIGNS = (
    MistakeSign("foreign_task", "the opening works on another task than the one given"),
    MistakeSign("opening_run", "the opening holds code, and it was run"),
    MistakeSign("first_code", "the first step that holds code"),
    MistakeSign(
        "first_commitment", "the first step after the opening that does more than ask"
    ),
    MistakeSign(
        "made_up",
        "simulated, assumed or remembered data in place of looked-up data, or a check"
        " by hand that no tool backs",
    ),
    MistakeSign(
        "placeholder",
        "a placeholder, an example value or an assumption that had to be replaced",
    ),
    MistakeSign(
        "first_claim",
        "the first step that states new facts without code and announces nothing more",
    ),
    MistakeSign("new_facts", "ln(1 + number of facts that no earlier step held)"),
    MistakeSign("brief", "fewer than 250 characters"),
    MistakeSign("approval", "agrees with or confirms what others did, without code"),
    MistakeSign("repair", "begins by naming what went wrong before"),
    MistakeSign(
        "doubted", "the next act names a problem, or records that nothing moves"
    ),
)

# What a tool's answer begins with.
RESULT = lazy_pattern(
    r"""
    \s*(?:
          exit[ ]?code\b
        | traceback[ ]\(most
        | code[ ]output:
        | there[ ]is[ ]no[ ]code
        | the[ ]script[ ]ran\b
        | address:[ ]\S
        | observation:
        | std(?:out|err):
    )
    """,
    re.I | re.VERBOSE,
)

# An answer that says that the call failed.
FAILED = lazy_pattern(
    r"""
      execution[ ]failed
    | ^Traceback[ ]\(most
    | ^\w*(?:Error|Exception)\b
    | exit[ ]?code:?[ ]*[1-9]
    """,
    re.I | re.M | re.VERBOSE,
)

# Fenced code; the last block may be left open.
CODE_BLOCK = lazy_pattern(r"```.*?(?:```|\Z)", re.S)

# Made-up data, or a check by hand that no tool backs.
MADE_UP = lazy_pattern(
    r"""
      \bsimulation\b(?![ ]of[ ]the[ ](?:game|process|rules))
    | \b(?:simulated?|mock|dummy|fabricat\w+|hypothetical|made[- ]up)\b
    | sample[ ](?:data|numbers|values)
    | let['’]?s[ ](?:assume|suppose)
    | with[ ](?:the|an|this)[ ]assumption
    | assum(?:e|ed|ing)[ ]the[ ]following
    | assumed[ ](?:numbers|values|data)
    | general(?:ly)?[ ](?:speaking|information|knowledge)
    | from[ ]my[ ]knowledge
    | \bmanual[ ](?:verification|analysis|check|review)
    | manually[ ](?:verif|check|analy|review|transcrib)
    | (?:since|as)[ ]we[ ](?:do[ ]not|don['’]t|cannot|can['’]t)
    """,
    re.I | re.VERBOSE,
)

# A placeholder or an example in place of data.
PLACEHOLDER = lazy_pattern(
    r"""
      placeholder
    | \byour[_ -](?:\w{1,20}[_ -])?(?:api|key|token)\w{0,20}
    | /path/to
    | \bexample\.com
    | as[ ]an[ ]example
    | example[ ](?:video|data|url)
    | replace[ ](?:it[ ])?with
    | \bassum
    """,
    re.I | re.VERBOSE,
)

# Asks another for something.
REQUEST = lazy_pattern(
    r"""
      please[ ](?:provide|share|confirm|verify|proceed|let[ ]me[ ]know)
    | could[ ]you
    | can[ ]you
    | can[ ](?:some|any)one
    | does[ ]anyone
    | waiting[ ]for
    | hold[ ]on
    | let[ ]me[ ]know
    """,
    re.I | re.VERBOSE,
)

# Announces what is done next.
ANNOUNCEMENT = lazy_pattern(
    r"""
    \b(?:
          I[ ]will
        | I['’]ll
        | let['’]?s
        | let[ ]us
        | we[ ]need[ ]to
        | we[ ]will
        | I[ ]suggest
        | next[ ]step
        | hold[ ]on
    )\b
    """,
    re.I | re.VERBOSE,
)

# Agrees with what others did.
APPROVAL = lazy_pattern(
    r"""
      \bI[ ]agree\b
    | \bagree[ ]with\b
    | \bconfirmed\b
    | \baccurate\b
    """,
    re.I | re.VERBOSE,
)

# Names what went wrong before.
REPAIR = lazy_pattern(
    r"""
      \bit[ ](?:seems|appears|looks)\b
    | \bthere[ ](?:was|is)[ ]an?[ ](?:issue|error)\b
    | \bcorrected\b
    """,
    re.I | re.VERBOSE,
)

# Declares the run done.
DONE = lazy_pattern(
    r"""
      \bterminate\b
    | conclude[ ]the
    | task[ ]is[ ]complete
    | final[ ]answer
    """,
    re.I | re.VERBOSE,
)

# Numbers, names and quoted words: what a step states.
CLAIM = lazy_pattern(
    r"""
      (?<![\w.])\$?\d[\d,./:-]{0,18}\d%?(?!\w)
    | (?<=[a-z,:*\"'(][ ])[A-Z][\w'-]{1,40}
      (?:[ ](?:of[ ]|the[ ]|de[ ]|van[ ])?[A-Z][\w'-]{1,40}){1,3}
    | \"[^\"\n]{2,60}\"
    | \*\*[^*\n]{2,60}\*\*
    """,
    re.VERBOSE,
)

# Words that look like names and state nothing.
FURNITURE = lazy_pattern(r"step\b|expert\b|\w+_expert\b", re.I)

# How tools say that they failed, in plain text and in the JSON that a hook keeps of
# their answers.
TOOL_FAILED = lazy_pattern(
    r"""
      "is_?error"\s*:\s*true
    | "success"\s*:\s*false
    | "(?:exit|return)_?code"\s*:\s*-?[1-9]
    | (?:^|["\n]|\\n)[ \t]*(?:[\w./-]{1,80}:[ ]){0,2}
      (?:fatal|error|[\w.]{0,80}(?:Error|Exception))(?:\[\w+\])?:
    | Traceback[ ]\(most[ ]recent
    | command[ ]not[ ]found
    | no[ ]such[ ]file[ ]or[ ]directory
    | permission[ ]denied
    | \b[1-9]\d{0,5}[ ](?:failed|errors?)\b
    | exit(?:ed[ ]with)?[ ](?:code|status):?[ ]*[1-9]
    """,
    re.I | re.VERBOSE,
)

# How a run says that the model was not there.
MODEL_DOWN = lazy_pattern(
    r"""
      ModelUnavailable
    | \brate[- ]limit
    | \bmodel[ ]unavailable\b
    | \b(?:model|endpoint|llm|completion)s?[ ](?:(?:is|was|are)[ ])?(?:
            unavailable
          | unreachable
          | not[ ]available
          | overloaded
          | timed[ ]out
          | did[ ]not[ ](?:answer|respond)
      )
    """,
    re.I | re.VERBOSE,
)

# Words by which a text takes over who reads it. Others pass, and are fenced as data
# wherever they come back.
ORDERS = lazy_pattern(
    r"""
    (?<!not[ ])(?<!n't[ ])(?<!never[ ])\b(?:ignore|disregard|forget|override)\s+(?:
        (?:
              all
            | any
            | of
            | the
            | your
            | my
            | our
            | previous
            | prior
            | earlier
            | above
            | these
            | those
            | system
        )\s+
    ){1,4}(?:instructions?|prompts?)\b
    """,
    re.I | re.VERBOSE,
)

# Where a browsing agent's words end and the page that it shows begins.
PAGE = lazy_pattern(
    r"""
    ^[ \t]*(?:
          here[ ]is[ ]a[ ]screenshot[ ]of\b
        | the[ ]following[ ](?:metadata|text)[ ]was[ ]extracted\b
        | automatic[ ]ocr[ ]of\b
        | viewport[ ]position:
    )
    """,
    re.I | re.M | re.VERBOSE,
)

# A conductor's record of how a run goes, which takes no part in the work.
LEDGER = lazy_pattern(
    r"""
      \A\s*updated[ ]ledger\b
    | "is_(?:request_satisfied|progress_being_made|in_loop)"\s*:
    """,
    re.I | re.VERBOSE,
)

# The same, where it says that the run does not get on.
STALLED = lazy_pattern(
    r"""
      "is_in_loop"\s*:\s*\{[^{}]{0,2000}"answer"\s*:\s*true
    | "is_progress_being_made"\s*:\s*\{[^{}]{0,2000}"answer"\s*:\s*false
    | \A\s*stalled\b
    """,
    re.I | re.VERBOSE,
)

# A conductor's note on the course of the run, which decides nothing by itself.
NOTE = lazy_pattern(
    r"""
    \A\s*(?:
          request[ ]satisfied\b
        | stalled\b
        | replan[ ]counter\b
        | max(?:imum)?[ ](?:number[ ]of[ ])?(?:rounds|turns|time)\b
    )
    """,
    re.I | re.VERBOSE,
)

# A conductor's plan: what it states was gathered before, or is a guess that it marks.
PLAN = lazy_pattern(r"\A\s*(?:initial|new|updated)[ ]plan\b", re.I)

# A plan that takes the place of an earlier one.
NEW_PLAN = lazy_pattern(
    r"""
      \A\s*new[ ]plan\b
    | \b(?:new|different|another|alternative)[ ](?:plan|approach)\b
    | \bre-?plan(?:ning|ned)?\b
    """,
    re.I | re.VERBOSE,
)

# A question whose answer is a number.
ASKS_NUMBER = lazy_pattern(
    r"""
    \bhow[ ](?:many|much|long|old|far|high|tall|deep)\b
    | \bwhat(?:['’]s|[ ]is|[ ]was)?[ ](?:the[ ])?
      (?:number|total|sum|percentage|average|difference)\b
    """,
    re.I | re.VERBOSE,
)

# A number, in digits or as a word.
NUMBER = lazy_pattern(
    r"\d|\b(?:zero|none|no|one|two|three|four|five|six|seven|eight|nine|ten)\b", re.I
)
