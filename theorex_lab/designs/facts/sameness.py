"""When two facts say exactly the same: their normal form, its SHA-256, and the tokens whose signs carry meaning."""

import hashlib
import re
import unicodedata

# Tokens with a digit, or with a sign that a name ends in or begins with: "C++", "c#", ".net", "v1.2", "-5", "50%".
_SIGNED = re.compile(r"(?:(?<!\w)[-+±<>≤≥~$€£.]+)?\w+(?:[.,:/+*_-]+\w+)*(?:[+#%!°]+|\*+)?")
_PLAIN_JOIN = re.compile(r"(?<=[^\W\d_])[-.](?=[^\W\d_])")


def normal_form(text: str) -> str:
    """A text in lower case, with letters, digits and single blanks alone.

    >>> normal_form("Prefers Bun over  Node.js")
    'prefers bun over nodejs'
    """
    folded = unicodedata.normalize("NFKC", text).lower()
    kept = (sign for sign in folded if sign.isalnum() or sign.isspace() or unicodedata.combining(sign))
    return " ".join("".join(kept).split())


def fact_hash(text: str) -> str:
    """SHA-256 of the normal form, in hexadecimal digits.

    >>> fact_hash("Prefers Bun over Node.js")[:8]
    '5c035831'
    """
    return hashlib.sha256(normal_form(text).encode()).hexdigest()


def signed_tokens(text: str) -> tuple[str, ...]:
    """Tokens, in order, that lose signs with a meaning in the normal form; dots and hyphens between letters do not.

    >>> signed_tokens("Node.js and C++ v1.2 at -5, not 5.")
    ('c++', 'v1.2', '-5')
    """
    folded = unicodedata.normalize("NFKC", text).lower().replace("\u2212", "-")
    tokens = (_PLAIN_JOIN.sub("", token.rstrip("!")) for token in _SIGNED.findall(folded))
    return tuple(token for token in tokens if not token.replace("_", "a").isalnum())


def same_fact(first: str, second: str) -> bool:
    """Whether two texts are exact duplicates: the same normal form, and the same signs where they carry meaning.

    A text without letters or digits is a duplicate of the same text alone.

    >>> same_fact("He likes tea.", "he likes tea"), same_fact("Writes C++", "writes C"), same_fact("at -5", "at 5")
    (True, False, False)
    """
    form = normal_form(first)
    if form != normal_form(second):
        return False
    return signed_tokens(first) == signed_tokens(second) if form else first.strip() == second.strip()
