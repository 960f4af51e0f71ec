"""The relations that statements are read for: the words of general English that name
them.
"""

from typing import Literal, NamedTuple

Holds = Literal["one", "many", "open", ""]


class Known(NamedTuple):
    """A known relation.

    name: for what the words mean.  holds: how many values it holds: one, many, or open:
    one of each kind of thing. words: that name it.  marks: object: of "V leads S" the
    object is what the statement is about; place: "in", "on" and "at" belong to it.
    """

    name: str
    holds: Holds
    words: str
    marks: frozenset[str] = frozenset()


RELATIONS = (
    Known(
        "residence",
        "one",
        "live lives living lived reside resides resided residing residence home "
        "dwell dwells address moved moves relocated",
        marks=frozenset({"place"}),
    ),
    Known("birthplace", "one", "born birthplace", marks=frozenset({"place"})),
    Known("death", "one", "died death deathplace", marks=frozenset({"place"})),
    Known(
        "employer",
        "one",
        "works work working worked employed employs employer employment job",
        marks=frozenset({"place"}),
    ),
    Known(
        "leader",
        "one",
        "ceo chief executive led lead leads leader leading head heads headed "
        "boss president director chairman chairwoman chair chairs runs run "
        "managed manages manager manage directs directed governs governed "
        "governor",
        marks=frozenset({"object"}),
    ),
    Known("mayor", "one", "mayor", marks=frozenset({"object"})),
    Known(
        "headquarters",
        "one",
        "headquarters headquartered hq based office offices seat",
        marks=frozenset({"place"}),
    ),
    Known(
        "owner",
        "one",
        "own owns owned owner owners belong belongs belonged maintains maintained"
        " maintainer responsible",
        marks=frozenset({"object"}),
    ),
    Known(
        "author",
        "one",
        "wrote written write writes author authored composed composer painted",
        marks=frozenset({"object"}),
    ),
    Known(
        "founder",
        "one",
        "founded founder founders established",
        marks=frozenset({"object"}),
    ),
    Known(
        "creator",
        "one",
        "created creator creates invented inventor designed designer built builder",
        marks=frozenset({"object"}),
    ),
    Known(
        "developer", "one", "developed developer develops", marks=frozenset({"object"})
    ),
    Known("performer", "one", "performed performer"),
    Known("version", "one", "version versions release releases released deployed"),
    Known("port", "one", "port ports"),
    Known("spouse", "one", "married spouse wife husband marry"),
    Known("citizen", "one", "citizen citizenship nationality"),
    Known("capital", "one", "capital", marks=frozenset({"object"})),
    Known("owned_price", "one", "price prices cost costs costed"),
    Known("age", "one", "age aged"),
    Known("email", "one", "email e-mail mail"),
    Known("phone", "one", "phone telephone"),
    Known("deadline", "one", "deadline due"),
    Known("birthday", "one", "birthday"),
    Known("status", "one", "status state"),
    Known("role", "one", "role title position"),
    Known("speaks", "many", "speak speaks speaking spoke fluent languages speaker"),
    Known(
        "depends",
        "many",
        "depend depends depended depending dependency dependencies rely relies "
        "relied call calls calling called require requires required need needs",
    ),
    Known(
        "knows",
        "many",
        "know knows knew friend friends befriended met colleague colleagues",
    ),
    Known(
        "family",
        "many",
        "sibling siblings brother sister brothers sisters children daughter daughters"
        " son sons cousin",
    ),
    Known("member", "many", "member members joined belongs-to participates"),
    Known("visited", "many", "visited visits travelled traveled toured"),
    Known("skills", "many", "skill skills skilled learned learnt studies studied"),
    Known(
        "owns_things",
        "many",
        "has have contains includes included supports supported offers features bought"
        " collects",
    ),
    Known("hobbies", "many", "hobby hobbies enjoys interested interests"),
    Known("plays", "many", "plays-with"),
    Known("awards", "many", "award awards won"),
    Known(
        "preference",
        "open",
        "prefer prefers preferred preference like likes liked favour favours "
        "favourite favorite favors choice choose chooses chose use uses used "
        "using",
    ),
)
