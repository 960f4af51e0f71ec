"""The relations that statements are read for.

Each has the words of general English that name it.
"""

from typing import Literal, NamedTuple

Holds = Literal["one", "many", "open", ""]


class KnownRelation(NamedTuple):
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
    KnownRelation(
        "residence",
        "one",
        "live lives living lived reside resides resided residing residence home "
        "dwell dwells address moved moves relocated",
        marks=frozenset({"place"}),
    ),
    KnownRelation("birthplace", "one", "born birthplace", marks=frozenset({"place"})),
    KnownRelation("death", "one", "died death deathplace", marks=frozenset({"place"})),
    KnownRelation(
        "employer",
        "one",
        "works work working worked employed employs employer employment job",
        marks=frozenset({"place"}),
    ),
    KnownRelation(
        "leader",
        "one",
        "ceo chief executive led lead leads leader leading head heads headed "
        "boss president director chairman chairwoman chair chairs runs run "
        "managed manages manager manage directs directed governs governed "
        "governor",
        marks=frozenset({"object"}),
    ),
    KnownRelation("mayor", "one", "mayor", marks=frozenset({"object"})),
    KnownRelation(
        "headquarters",
        "one",
        "headquarters headquartered hq based office offices seat",
        marks=frozenset({"place"}),
    ),
    KnownRelation(
        "owner",
        "one",
        "own owns owned owner owners belong belongs belonged maintains maintained"
        " maintainer responsible",
        marks=frozenset({"object"}),
    ),
    KnownRelation(
        "author",
        "one",
        "wrote written write writes author authored composed composer painted",
        marks=frozenset({"object"}),
    ),
    KnownRelation(
        "founder",
        "one",
        "founded founder founders established",
        marks=frozenset({"object"}),
    ),
    KnownRelation(
        "creator",
        "one",
        "created creator creates invented inventor designed designer built builder",
        marks=frozenset({"object"}),
    ),
    KnownRelation(
        "developer", "one", "developed developer develops", marks=frozenset({"object"})
    ),
    KnownRelation("performer", "one", "performed performer"),
    KnownRelation(
        "version", "one", "version versions release releases released deployed"
    ),
    KnownRelation("port", "one", "port ports"),
    KnownRelation("spouse", "one", "married spouse wife husband marry"),
    KnownRelation("citizen", "one", "citizen citizenship nationality"),
    KnownRelation("capital", "one", "capital", marks=frozenset({"object"})),
    KnownRelation("owned_price", "one", "price prices cost costs costed"),
    KnownRelation("age", "one", "age aged"),
    KnownRelation("email", "one", "email e-mail mail"),
    KnownRelation("phone", "one", "phone telephone"),
    KnownRelation("deadline", "one", "deadline due"),
    KnownRelation("birthday", "one", "birthday"),
    KnownRelation("status", "one", "status state"),
    KnownRelation("role", "one", "role title position"),
    KnownRelation(
        "speaks", "many", "speak speaks speaking spoke fluent languages speaker"
    ),
    KnownRelation(
        "depends",
        "many",
        "depend depends depended depending dependency dependencies rely relies "
        "relied call calls calling called require requires required need needs",
    ),
    KnownRelation(
        "knows",
        "many",
        "know knows knew friend friends befriended met colleague colleagues",
    ),
    KnownRelation(
        "family",
        "many",
        "sibling siblings brother sister brothers sisters children daughter daughters"
        " son sons cousin",
    ),
    KnownRelation("member", "many", "member members joined belongs-to participates"),
    KnownRelation("visited", "many", "visited visits travelled traveled toured"),
    KnownRelation(
        "skills", "many", "skill skills skilled learned learnt studies studied"
    ),
    KnownRelation(
        "owns_things",
        "many",
        "has have contains includes included supports supported offers features bought"
        " collects",
    ),
    KnownRelation("hobbies", "many", "hobby hobbies enjoys interested interests"),
    KnownRelation("plays", "many", "plays-with"),
    KnownRelation("awards", "many", "award awards won"),
    KnownRelation(
        "preference",
        "open",
        "prefer prefers preferred preference like likes liked favour favours "
        "favourite favorite favors choice choose chooses chose use uses used "
        "using",
    ),
)
