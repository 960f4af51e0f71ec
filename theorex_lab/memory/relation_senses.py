"""What general English calls a relation, so that a question may use other words.

A sense is what several wordings mean: "is married to", "wife", "tied the knot". It is
named by patterns of word stems. A pattern holds where all its words stand near each
other; "@in" stands for a preposition before the value. The pattern of most words wins,
so that "written in the language of" is no author.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import NamedTuple

import Stemmer

# Words by which a kind of thing is named; they tell little of the relation itself.
KIND_WORDS = {
    "country": "country nation state land homeland",
    "city": "city town village place location municipality",
    "continent": "continent",
    "language": "language tongue",
    "religion": "religion faith",
    "sport": "sport game",
    "university": "university college school institution",
    "org": "company organization organisation firm business corporation club team",
    "person": "person individual man woman",
    "position": "position role",
    "genre": "genre music style",
    "field": "field area",
    "work": "work book novel",
}
# A kind that is a narrower one of another.
_WIDER_KINDS = {
    "place": {"city", "country", "continent", "university", "org"},
    "org": {"university", "org"},
    "person": {"person", "org"},
}
_NAMED_KINDS = frozenset({"person", "city", "country", "continent", "language"})
_IRREGULAR = {
    "wrote": "write",
    "written": "write",
    "sang": "sing",
    "sung": "sing",
    "spoke": "speak",
    "spoken": "speak",
    "led": "lead",
    "made": "make",
    "won": "win",
    "built": "build",
    "taught": "teach",
    "ran": "run",
    "held": "hold",
    "came": "come",
    "began": "begin",
    "begun": "begin",
    "drew": "draw",
    "drawn": "draw",
    "grew": "grow",
    "wed": "marry",
    "died": "die",
    "dies": "die",
    "dying": "die",
    "married": "marry",
    "marriage": "marry",
    "universities": "university",
    "lies": "lie",
    "lay": "lie",
    "rang": "ring",
    "took": "take",
    "gave": "give",
    "wore": "wear",
    "woven": "weave",
    "stood": "stand",
    "bred": "breed",
    "flown": "fly",
    "sold": "sell",
    "bought": "buy",
    "kept": "keep",
    "fought": "fight",
    "brought": "bring",
    "caught": "catch",
    "chose": "choose",
    "chosen": "choose",
    "known": "know",
    "founded": "establish",
    "founder": "founder",
    "founding": "establish",
    "founds": "establish",
    "foundation": "foundation",
}
_SHORTEST_DERIVED = 6  # letters
_DOER_ENDINGS = ("or", "er")  # of who does what a verb says
_LIKE_SPELLING = 0.86


class RelationSense(NamedTuple):
    """What several wordings of a relation mean.

    Attributes:
        name: What it is called here.
        kind: The kind of its value, '' where it may be of any.
        patterns: Word stems that name it, alternatives separated by ";".
        group: A wider sense, whose senses may stand for each other where no other
            does. The sense of the same name is the general one, which may stand for
            each.
    """

    name: str
    kind: str
    patterns: str
    group: str = ""


SENSES = (
    RelationSense(
        "author",
        "person",
        "author; write; writer; novelist; pen; penned; poet; playwright; whose book;"
        " whose novel; authored; dramatist; composer; compose",
        "maker",
    ),
    RelationSense(
        "creator",
        "person",
        "create; creator; invent; inventor; design; designer; architect; build; builder;"
        " paint; painter; sculptor; sculpt; discover; discoverer; mastermind; brainchild",
        "maker",
    ),
    RelationSense(
        "origin",
        "country",
        "origin; originate; create country; create @in; create where; invent country;"
        " invent @in; come @from; root; country @from; derive @from; emerge;"
        " originally @from; start country;"
        " begin country; develop country; country behind; cradle; arise; trace back;"
        " invent where; stem @from; birth country sport",
    ),
    RelationSense(
        "spouse",
        "person",
        "marry; spouse; wife; husband; partner; tie knot; consort; bride; groom",
    ),
    RelationSense("child", "person", "child; son; daughter; offspring; kid; children"),
    RelationSense("parent", "person", "parent; father; mother; dad; mum"),
    RelationSense("sibling", "person", "sibling; brother; sister"),
    RelationSense(
        "citizen",
        "country",
        "citizen; citizenship; nationality; national; passport; naturalized; compatriot;"
        " belong country; come @from; country @from; citizen country;"
        " citizenship country; nationality country",
        "home",
    ),
    RelationSense(
        "residence",
        "city",
        "live; reside; residence; home; dwell; settle; call home; move; relocate;"
        " inhabit; resident",
        "home",
    ),
    RelationSense(
        "born",
        "city",
        "birthplace; born; birth; native; hail; hometown; birth city; born city;"
        " place birth; see light day; come world; raise; grow up",
        "home",
    ),
    RelationSense(
        "died",
        "city",
        "die; death; pass away; deathplace; perish; last breath; demise; place death;"
        " die city; life end; end life; deceased",
    ),
    RelationSense(
        "buried", "city", "bury; burial; grave; rest place; tomb; lie rest; inter"
    ),
    RelationSense(
        "educated",
        "university",
        "educate; university; alma mater; study; graduate; alumnus; alumna; attend;"
        " school; college; degree; education; student; educate university;"
        " university study; university attend; go university; university graduate",
    ),
    RelationSense(
        "employer",
        "org",
        "employ; employer; work @for; job; salary; work @at; payroll;"
        " company work; staff; employee; wage; hire; work where",
    ),
    RelationSense(
        "workplace",
        "city",
        "work city; work @in; city work; work town; workplace",
    ),
    RelationSense(
        "field",
        "field",
        "field; occupation; profession; field work; work field; specialize; specialise;"
        " discipline; trade; speciality; specialty; expertise; line work; vocation;"
        " area work",
    ),
    RelationSense(
        "famous",
        "work",
        "famous; notable; renown; best know; masterpiece; notable work;"
        " well-known; celebrated; fame; famous work; know @for; reputation; magnum opus",
    ),
    RelationSense(
        "religion",
        "religion",
        "religion; faith; religious; creed; denomination; worship; affiliate religion;"
        " belief; adhere; church; believe @in; follower; convert",
    ),
    RelationSense(
        "sport",
        "sport",
        "sport; associate sport; compete; play sport; discipline sport",
    ),
    RelationSense(
        "position",
        "position",
        "position; play position; play as; role field; field position",
    ),
    RelationSense(
        "instrument", "", "instrument; play instrument; musical instrument; perform @on"
    ),
    RelationSense(
        "team",
        "org",
        "team; club; play @for; squad; turn out; member team",
    ),
    RelationSense(
        "coach",
        "person",
        "coach; trainer; manager; head coach; train; manage; bench boss",
        "leader",
    ),
    RelationSense(
        "ceo",
        "person",
        "chief executive; ceo; helm; chief executive officer; executive",
        "leader",
    ),
    RelationSense(
        "chair",
        "person",
        "chairperson; chairman; chairwoman; chair; preside; chairmanship",
        "leader",
    ),
    RelationSense(
        "director",
        "person",
        "director; direct; filmmaker; helmed; film director",
        "leader",
    ),
    RelationSense(
        "head of state",
        "person",
        "head state; president; monarch; king; queen; ruler; rule; sovereign; reign;"
        " current head state; emperor; throne; crown",
        "leader",
    ),
    RelationSense(
        "head of government",
        "person",
        "head government; prime minister; premier; chancellor; lead government;"
        " current head government; run government",
        "leader",
    ),
    RelationSense("mayor", "person", "mayor; mayoress; town hall head", "leader"),
    RelationSense("governor", "person", "governor; govern", "leader"),
    RelationSense(
        "leader",
        "person",
        "lead; leader; head; boss; chief; charge; run; captain; skipper; principal",
        "leader",
    ),
    RelationSense(
        "capital", "city", "capital; seat government; capital city; seat state"
    ),
    RelationSense(
        "continent",
        "continent",
        "continent; continent locate; continent lie; continent home; continent belong",
        "where",
    ),
    RelationSense(
        "official language",
        "language",
        "official language; officially speak; officially language; national language;"
        " people speak; speak @in; speak country; state language; language speak country;"
        " language country; speak there",
        "tongue",
    ),
    RelationSense(
        "original language",
        "language",
        "original language; originally language; film language; language film",
        "tongue",
    ),
    RelationSense(
        "written language",
        "language",
        "write language; write @in; compose language; publish language",
        "tongue",
    ),
    RelationSense(
        "speaks",
        "language",
        "speak; speak language; fluent; tongue; converse; native language; mother tongue;"
        " speaker; fluently; language know; communicate",
        "tongue",
    ),
    RelationSense(
        "genre",
        "genre",
        "music; genre; type music; kind music; style music; music play; music genre;"
        " play music; musical style; musical genre",
    ),
    RelationSense(
        "performer",
        "person",
        "perform; performer; sing; singer; artist; band behind; record; star; actor;"
        " vocalist; interpret",
        "maker",
    ),
    RelationSense(
        "broadcaster",
        "org",
        "broadcast; broadcaster; network; air; channel; original broadcaster;"
        " originally broadcast; originally air; original network; station; televise",
        "maker",
    ),
    RelationSense(
        "producer",
        "org",
        "produce; manufacture; manufacturer; make; maker; producer; company produce;"
        " company make; company manufacture; production company",
        "maker",
    ),
    RelationSense(
        "developer",
        "org",
        "develop; developer; company develop; development; engineer; code",
        "maker",
    ),
    RelationSense("publisher", "org", "publish; publisher; issue", "maker"),
    RelationSense(
        "founder",
        "person",
        "establish; founder; found; set up; cofounder; co-founder; cofound; co-found;"
        " start; originator; start company; launch",
        "maker",
    ),
    RelationSense(
        "founded in",
        "city",
        "establish city; establish @in; form; form city; establish where; formation;"
        " establish place; establish town; found city; found @in; start city; birthplace band;"
        " form @in; begin city; set up @in; come together; establish country",
    ),
    RelationSense(
        "headquarters",
        "city",
        "headquarters; headquarter; head office; base; base @in; seat; hq; main office;"
        " headquarters locate; headquarters city; headquarters base; home office",
        "where",
    ),
    RelationSense(
        "located",
        "place",
        "locate; where; lie @in; situate; lie; stand @in; position @in; find @in; part of country",
        "where",
    ),
    RelationSense(
        "owner",
        "person",
        "own; owner; belong @to; property; proprietor; team own; responsible;"
        " maintain; maintainer; belong team",
    ),
    RelationSense(
        "currency", "currency", "currency; legal tender; pay; money; coin; tender"
    ),
    RelationSense(
        "mentor", "person", "mentor; teacher; teach; tutor; pupil; apprentice"
    ),
    RelationSense("version", "", "version; release; version deploy; release deploy"),
    RelationSense("port", "", "port; listen @on; port listen"),
    RelationSense(
        "preference",
        "",
        "prefer; preference; choice; favourite; favorite; like best;"
        " use; like; choose; pick",
    ),
    RelationSense("depends", "", "depend; rely; dependency; need; require; call"),
    RelationSense("deadline", "", "deadline; due"),
    RelationSense("price", "", "price; cost; sell @for"),
    RelationSense("age", "", "age; old; year old"),
    RelationSense("birthday", "", "birthday; born @on; birth date; date birth"),
    RelationSense("email", "", "email; e-mail; mail"),
    RelationSense("phone", "", "phone; telephone; number call"),
    RelationSense("colour", "", "colour; color; paint colour"),
    RelationSense("river", "", "river; flow; river flow"),
    RelationSense("population", "", "population; inhabitants number"),
    RelationSense("award", "", "award; prize; win award; win prize; medal; honour"),
    RelationSense("friend", "person", "friend; befriend; pal"),
    RelationSense("successor", "person", "succeed; successor; follow by; heir"),
    RelationSense("predecessor", "person", "predecessor; precede"),
    RelationSense("neighbour", "", "border; neighbour; neighbor; adjacent"),
    RelationSense("anthem", "", "anthem; national anthem"),
    RelationSense("mascot", "", "mascot"),
    RelationSense("stadium", "", "stadium; home ground; arena; ground"),
    RelationSense("sponsor", "org", "sponsor; shirt sponsor; fund; finance"),
    RelationSense("member of", "org", "member; join; belong; membership; party"),
)


class SensePattern(NamedTuple):
    """The stems that name a sense together, and the prepositions before the value."""

    sense: RelationSense
    stems: frozenset[str]
    prepositions: frozenset[str]

    @property
    def weight(self) -> float:
        """How much it says: the number of its words; half for a preposition."""
        return len(self.stems) + 0.5 * len(self.prepositions)


@cache
def sense_patterns() -> tuple[SensePattern, ...]:
    """Return the patterns of all senses, those of most words first."""
    patterns: list[SensePattern] = []
    for sense in SENSES:
        for text in sense.patterns.split(";"):
            words = text.split()
            prepositions = {word for word in words if word.startswith("@")}
            stems = {plain_stem(word) for word in words if word not in prepositions}
            pattern = SensePattern(sense, frozenset(stems), frozenset(prepositions))
            patterns.append(pattern)
    patterns.sort(key=lambda pattern: -pattern.weight)
    return tuple(patterns)


@cache
def patterns_by_stem() -> dict[str, tuple[SensePattern, ...]]:
    """Return the patterns in which each stem stands."""
    by_stem: dict[str, list[SensePattern]] = {}
    for pattern in sense_patterns():
        for word in pattern.stems:
            by_stem.setdefault(word, []).append(pattern)
    return {word: tuple(patterns) for word, patterns in by_stem.items()}


@cache
def kinds_by_stem() -> dict[str, str]:
    """Return the kind of thing that each stem names: "nation" is a country."""
    kinds: dict[str, str] = {}
    for kind, words in KIND_WORDS.items():
        for word in words.split():
            kinds[plain_stem(word)] = kind
    return kinds


def sense_of(stems: Sequence[str], value: str = "") -> RelationSense | None:
    """Return the sense that the words of a statement name best.

    Of two that are named by as many words it is the one nearer to the value.

    Args:
        stems: Their stems; "@in" for a preposition before the value.
        value: The value; a number is no person and no place.

    >>> sense_of([relation_stem(word) for word in "created country @in".split()]).name
    'origin'
    >>> sense_of(["gyre"]) is None
    True
    """
    present = set(stems)
    best: SensePattern | None = None
    for stem in stems:
        for pattern in _patterns_in(stem, present):
            is_better = best is None or pattern.weight >= best.weight
            if is_better and not _is_amiss(pattern.sense, value):
                best = pattern
    return None if best is None else best.sense


def _patterns_in(
    stem: str,
    present: set[str],
) -> Iterator[SensePattern]:
    """Yield the patterns with a stem whose words are all present."""
    for pattern in patterns_by_stem().get(stem, ()):
        if pattern.stems <= present and pattern.prepositions <= present:
            yield pattern


def _is_amiss(
    sense: RelationSense,
    value: str,
) -> bool:
    """Return whether a value is none of a sense: a number where a name stands."""
    return value[:1].isdigit() and sense.kind in _NAMED_KINDS


def fits_kind(kind: str, wanted: str) -> bool:
    """Return whether a thing of one kind may be one of another: a city is a place."""
    if not kind or not wanted or kind == wanted:
        return True
    return kind in _WIDER_KINDS.get(wanted, ()) or wanted in _WIDER_KINDS.get(kind, ())


@lru_cache(1 << 14)
def plain_stem(word: str) -> str:
    """Return the stem of a word in lower case, of irregular forms too.

    >>> plain_stem("written") == plain_stem("writes")
    True
    """
    lower = _IRREGULAR.get(word, word)
    return str(Stemmer.Stemmer("english", 0).stemWord(lower))


@lru_cache(1 << 14)
def relation_stem(word: str) -> str:
    """Return the stem of a word, or of the word of a known relation it misspells.

    >>> relation_stem("univeristy") == relation_stem("university")
    True
    >>> relation_stem("translator") == relation_stem("translated")
    True
    """
    if word.startswith("@"):
        return word
    stem = plain_stem(word)
    if stem in _vocabulary() or len(word) < _SHORTEST_DERIVED:
        return stem
    likest = get_close_matches(word, _misspelt(word), 1, _LIKE_SPELLING)
    if likest:
        return plain_stem(likest[0])
    for ending in _DOER_ENDINGS:
        if word.endswith(ending):
            return plain_stem(word.removesuffix(ending) + "e")
    return stem


@cache
def _vocabulary() -> frozenset[str]:
    return frozenset([*patterns_by_stem(), *kinds_by_stem()])


@cache
def _spellings() -> dict[str, list[str]]:
    """Return the long words of all patterns by their first letter."""
    words: set[str] = set()
    for sense in SENSES:
        words.update(re.findall(r"[a-z]{6,}", sense.patterns))
    spellings: dict[str, list[str]] = {}
    for word in sorted(words):
        spellings.setdefault(word[0], []).append(word)
    return spellings


def _misspelt(word: str) -> list[str]:
    """Return the words that a word may stand for: of the same letters but for two."""
    candidates: list[str] = []
    for other in _spellings().get(word[0], ()):
        is_same_length = abs(len(other) - len(word)) <= 1
        n_other_letters = len(set(word) ^ set(other))
        if is_same_length and n_other_letters <= 2:
            candidates.append(other)
    return candidates


def stems_of(words: Iterable[str]) -> list[str]:
    """Return the stems of words in lower case, with misspellings mended."""
    return [relation_stem(word) for word in words]


@lru_cache(1 << 16)
def name_key(name: str) -> str:
    """Return a name in the form in which names are compared.

    >>> name_key("The Beatles"), name_key("Märtha  Louise"), name_key("D.C.")
    ('beatles', 'martha louise', 'dc')
    """
    decomposed = unicodedata.normalize("NFKD", name).casefold()
    letters = [sign for sign in decomposed if not unicodedata.combining(sign)]
    plain = _PUNCTUATION.sub("", "".join(letters).replace("-", " "))
    words = plain.split()
    if len(words) > 1 and words[0] in ("the", "a", "an"):
        words = words[1:]
    return " ".join(words)


_PUNCTUATION = re.compile(r"[^\w\s&+#]")
