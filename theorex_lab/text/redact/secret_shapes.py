"""Mask keys of vendors that no table lists, by what their keys have in common.

Such a key is a short prefix, which says whose or what it is, and then characters that a
machine drew: `acme_live_…`, `xyz-…`. What people write has the pairs of letters of
their language, what was drawn has not. Ids of things, which programs draw in the same
way, have the prefixes of ID_PREFIXES, or begin with their time.
"""

import re
from functools import lru_cache
from itertools import pairwise

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.text.redact.harmless_words import HarmlessWords
from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.secret_blocks import decoded_text

# The pairs of letters that are most frequent in English and in names of code: nine in
# ten of the pairs in an identifier are among them, four in ten of drawn letters.
_FREQUENT_PAIRS = frozenset(
    """
    th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou
    io le ve co me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di
    fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em
    ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig
    tu ev ld ry mp fe bl ab gh ty op wo sa ay ex ke fr oo av ag if ap gr od bo sp rd do
    uc bu ei ov by rm ep tt oc fa ef cu rn sc gi da yo cr cl du ga qu ue ff ba ey ls va
    um pp ua up lu go ht ru ug ds lt pi rc rr eg au ck ew mu br bi pt ak pu ui rg ib tl
    ny ki rk ys ob mm fu ph og ms ye ud mb ip ub oi rl gu dr hr cc tw ft wn nu af hu nn
    eo vo rv nf xp gn sm fl iz ok nl my gl aw ju oa eq sy sl ps jo lf nv je nk kn gs dy
    hy ze ks xt bs ik dd pl key id db js
    """.split()
)
# After one of these a drawn text is a secret, even one of hexadecimal digits.
_ANNOUNCING = frozenset(
    """
    sk pk ak rk live api apikey key keys tok token pat secret sec live auth oauth oat access
    pubkey refresh cred creds pwd pass passwd password private signkey privkey bearer
    """.split()
)
# What programs call things by that are no secret.
ID_PREFIXES = frozenset(
    """
    diff sha sha1 sha224 sha256 sha384 sha512 md5 blake2 blake3 crc h1 toolu tool call msg
    message req request resp response chatcmpl cmpl gen run thread asst file files batch
    item evt event cus sub pi pm ch in price prod acct txn seti card src cs id ids uid
    gid user usr org team proj project session conv conversation chat trace span job
    task build deploy dpl img image doc page node commit rev hash blob tree layer cache
    chunk index main vendor snapshot gene act capsule rs fc agent masked data obj object
    ref row col tmp temp test tests step turn part view css web
    """.split()
)
_FILE_ENDINGS = frozenset(
    """
    js mjs cjs css map png jpg jpeg gif svg webp ico json jsonl py md html htm woff
    woff2 ttf gz zip tar whl log db txt ts tsx jsx lock pdf csv yml yaml toml so dll com
    org net io dev app local internal
    """.split()
)
_LONGEST_PREFIX_CHARACTERS = 12
_SHORTEST_MIXED_CHARACTERS = 19
_SHORTEST_CHARACTERS = 22
_SHORTEST_BARE_CHARACTERS = 56
_LONGEST_LOOK_CHARACTERS = 400
_FEWEST_PAIRS = 6
_MOST_FREQUENT_SHARE = 0.68

_WORD = lazy_pattern(
    r"(?:(?<![A-Za-z0-9_.+$|/-])|(?<=[a-z][/])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
    r"[A-Za-z0-9][A-Za-z0-9_.$|-]{19,}(?![A-Za-z0-9+@/])"
)
_SEPARATOR = lazy_pattern(r"[_.$|-]+")
_PREFIX = lazy_pattern(r"[a-z][a-z0-9]*|[A-Z][A-Z0-9]*|[A-Z][a-z]+|v?[0-9]{1,12}")
_VOWELS = frozenset("aeiouy")
_UUID_DIGITS = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_UUID = lazy_pattern(_UUID_DIGITS, re.IGNORECASE)
# Of a key that begins with the id of its account.
_ID_AND_KEY = lazy_pattern(rf"{_UUID_DIGITS}[.:_][A-Za-z0-9]{{32}}", re.IGNORECASE)
# Of an id that begins with its time, and of a date.
_TIMED = lazy_pattern(r"0[0-9]|[12][0-9]{7}(?![0-9])|[12][0-9]{9,}")


def mask_drawn(text: str) -> str:
    """Mask the keys with a prefix; takes time linear in the length.

    >>> mask_drawn("use acme_live_9fQ2xKz7LmP4vRt8Ws3Y, not getUserByIdentifier_V2_200")
    'use [masked], not getUserByIdentifier_V2_200'
    """
    if _KEYLESS_WORDS.make_up(text):
        return text
    return _WORD.sub(_masked_word, text)


def _is_keyless(word: str) -> bool:
    """Return whether there is no key in a word; none goes on behind a blank."""
    return _WORD.sub(_masked_word, word) == word


_KEYLESS_WORDS = HarmlessWords(
    _is_keyless,
    shortest=_SHORTEST_MIXED_CHARACTERS + 1,
)


def _masked_word(match: re.Match[str]) -> str:
    """Return the mask for a word that is a key, and the marks that follow it."""
    word = match[0].rstrip("._$|-")
    if is_key(word):
        return MASK + match[0][len(word) :]
    return match[0]


@lru_cache(1 << 13)
def is_key(word: str) -> bool:
    """Return whether a word is a prefix and drawn characters.

    >>> is_key("toolu_vrtx9fQ2xKz7LmP4vRt8"), is_key("tests/test_words.py")
    (False, False)
    """
    word = word[:_LONGEST_LOOK_CHARACTERS]
    prefixes, body = _parted(word)
    if not prefixes or prefixes[0][0].isdigit():
        return _is_key_alone(word)
    lowered = [prefix.lower() for prefix in prefixes]
    is_announced = not _ANNOUNCING.isdisjoint(lowered) or _is_abbreviation(lowered[0])
    if not is_announced and lowered[0] in ID_PREFIXES:
        return False
    if word.rpartition(".")[2].lower() in _FILE_ENDINGS:
        return False
    return _is_key_body(body, is_announced=is_announced)


def _is_key_body(body: str, *, is_announced: bool) -> bool:
    """Return whether what follows a prefix is no id of a thing."""
    if _ID_AND_KEY.match(body):
        return True
    if _TIMED.match(body):
        return False
    if _UUID.fullmatch(body):
        return is_announced
    return _is_drawn(body, is_announced=is_announced)


def _parted(word: str) -> tuple[list[str], str]:
    """Return the prefixes of a word, and what follows them."""
    prefixes: list[str] = []
    start = 0
    for separator in _SEPARATOR.finditer(word):
        part = word[start : separator.start()]
        if len(part) > _LONGEST_PREFIX_CHARACTERS or not _PREFIX.fullmatch(part):
            break
        prefixes.append(part)
        start = separator.end()
    return prefixes, word[start:]


def _is_abbreviation(prefix: str) -> bool:
    """Return whether a prefix is no word of any language, and no name of ids."""
    if not 2 <= len(prefix) <= 4 or prefix in ID_PREFIXES:
        return False
    return _VOWELS.isdisjoint(prefix) and prefix.isalpha()


def _is_key_alone(word: str) -> bool:
    """Return whether a word without a prefix is a key.

    It is two drawn parts, an id and a key, or one that is long.
    """
    parts = _SEPARATOR.split(word)
    if _TIMED.match(word):
        return False
    if len(parts) == 1:
        return len(word) >= _SHORTEST_BARE_CHARACTERS and _is_bare_key(word)
    longest = sorted(parts, key=len)[-2:]
    return all(_is_mixed(part) and _looks_drawn(part) for part in longest) and (
        len(longest[0]) >= _SHORTEST_MIXED_CHARACTERS
    )


def _is_bare_key(word: str) -> bool:
    """Return whether one long word was drawn, and is no text in base64."""
    if not _is_mixed(word) or not _looks_drawn(word):
        return False
    return not decoded_text(word)


def _is_drawn(body: str, *, is_announced: bool) -> bool:
    """Return whether what follows a prefix was drawn, and is long enough for a key."""
    characters = _SEPARATOR.sub("", body)
    if _is_mixed(characters):
        shortest = _SHORTEST_MIXED_CHARACTERS
    elif is_announced or not _is_hexadecimal(characters):
        shortest = _SHORTEST_CHARACTERS
    else:
        return False
    if is_announced:
        shortest = min(shortest, 16)
    if len(characters) < shortest or not _has_long_part(body):
        return False
    return _looks_drawn(characters)


def is_drawn_value(value: str) -> bool:
    """Return whether a value is one that a machine drew of letters and digits.

    >>> is_drawn_value("9fQ2xKz7LmP4vRt8Ws3Y"), is_drawn_value("getUserById2AndName")
    (True, False)
    """
    characters = re.sub("[^A-Za-z0-9]", "", value[:_LONGEST_LOOK_CHARACTERS])
    shortest = _SHORTEST_MIXED_CHARACTERS
    if not _is_mixed(characters):
        shortest = _SHORTEST_CHARACTERS + 2
    if len(characters) < shortest or _is_hexadecimal(characters):
        return False
    return re.search(r"[\s/\\(){}]", value) is None and _looks_drawn(characters)


def _has_long_part(body: str) -> bool:
    """Return whether a body is not merely many short words."""
    parts = _SEPARATOR.split(body)
    n_characters = sum(map(len, parts))
    return n_characters >= 9 * len(parts)


def _is_mixed(characters: str) -> bool:
    """Return whether there are capitals, small letters and digits."""
    has_capitals = characters.lower() != characters
    has_small = characters.upper() != characters
    return has_capitals and has_small and re.search("[0-9]", characters) is not None


def _is_hexadecimal(characters: str) -> bool:
    """Return whether there are hexadecimal digits alone."""
    return re.fullmatch("[0-9a-f]+|[0-9A-F]+", characters) is not None


def _looks_drawn(characters: str) -> bool:
    """Return whether a machine drew the characters: they change without a pattern."""
    n_digit_groups = len(re.findall("[0-9]+", characters))
    if n_digit_groups < 1 or len(set(characters)) < 8:
        return False
    if _is_hexadecimal(characters):
        return n_digit_groups >= 4
    pairs = [
        first + second
        for first, second in pairwise(characters.lower())
        if first.isalpha() and second.isalpha()
    ]
    if len(pairs) < _FEWEST_PAIRS:
        return n_digit_groups >= 3
    n_frequent = sum(pair in _FREQUENT_PAIRS for pair in pairs)
    return n_frequent < _MOST_FREQUENT_SHARE * len(pairs)
