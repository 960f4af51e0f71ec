"""Secrets that are told in a sentence: `the password is X`, `das Passwort lautet X`, `пароль — X`, twelve words of a wallet."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

MASK = "[masked]"
_PASSWORD = (
    r"pass(?:word|phrase|code|wort|wd)s?|pwd|kennwort|парол[ьяеюём]{1,2}|contrase[ñn]a|senha|mot[ ]de[ ]passe|has[łl]o|wachtwoord|parola|login[ ]data"
    r"|(?<![a-z])pin(?:[ -]?code)?|пин-код"
)
_TOKEN = (
    r"(?:[a-z]{2,12}[ _-])?(?:token|secret|geheimnis|токен|секрет)|(?:api|access|secret|private|encryption|signing|license|auth|geheimer|zugangs|account|master)[ _-]?(?:key|schl[uü]e?ssel)"
    r"|(?:api-)?ключ(?:[ ]api)?|cl(?:é|ave)[ ](?:api|de[ ]api)|zugangstoken"
    r"|(?:verification|security|one-time|otp|2fa|mfa|login|backup|recovery|auth|authentication|access|confirmation)[ -]code"
)
# One of these, in lower case, is in every sentence that names a password, a token or a key.
HINTS = tuple(
    "passw|passphrase|passcode|pwd|kennwort|парол|contrase|senha|de passe|haslo|hasło|wachtwoord|parola|pin |pin:|pin-|pincode|пин-код|token|secret|"
    "geheimnis|токен|секрет|key|schlüssel|schluessel|ключ|clé |clave|verification|security code|one-time|otp|2fa|mfa|login |login-|backup code|"
    "recovery code|auth code|auth-code|authentication code|access code|confirmation code".split("|")
)
_OF = r"(?:[ \t]{1,2}(?:for|of|to|on|at|from|in|für|fürs|von|zu|zum|vom|des|der|для|от|к|de|del|du|pour|para|di|per|here|there|i[ ]use|we[ ]use|you[ ]need)(?:[ \t]{1,2}[^\s:=]{1,40}){0,4}?)?"
_LINK = (
    r"(?:[ \t]{1,2}(?:(?:is|was|ist|war|lautet|lauten|heißt|hei[sß]st|equals|are|es|est|è|é|это|будет|remains|should[ ]be|will[ ]be|became|being|=)"
    r"(?:[ \t]{1,2}(?:now|set[ ]to|changed[ ]to|reset[ ]to|jetzt|nun|теперь|still|called|as[ ]follows|simply|just|currently|ahora|maintenant|actually))?:?"
    r"|(?:has[ ]been[ ]|was[ ]|is[ ]|been[ ])?(?:set|changed|reset|updated|rotated|switched|geändert|gesetzt)?[ ]?(?:to|auf|на|à|a)|(?:in|as|via|mit)(?=[ ][\"'`«“„])"
    r"|[—–→:=-]{1,2}>?|now|wird|->)[ \t]{1,4}(?:\r?\n[ \t]{0,8}>?[ \t]{0,4})?|[ \t]{0,2}[—–→:=][ \t]{0,3}(?:\r?\n[ \t]{0,8})?|[ \t]{1,2}(?=[\"'`«“„*]{1,3}\S)|(?<!\s)[ \t](?=\S{0,24}[0-9@#$%^&*!]))"
)
_VALUE = r"(?P<open>[\"'`«“„‘*_]{0,3})(?P<value>[^\s\"'`«»“”„’<>|]{3,256})(?=(?P<tail>[\"'`»”“’]?(?:[ \t]{1,2}[^\W\d_]{2,12})?))"
_SPOKEN = rf"(?i)(?<![a-z_/.$-])(?P<name>(?P<pass>{_PASSWORD})|{_TOKEN})(?![a-z_(\[=.])(?:[ \t]{{0,2}}\([^()\n]{{1,40}}\)|['’]s(?=[ \t]))?(?P<link>{_OF}{_LINK}){_VALUE}"
# What carries digits in technical prose and is no secret.
_TECHNICAL = (
    r"(?i)(?:base|sha|md|utf|aes|argon|pbkdf|k|x|ed|rs|hs|es|s|ec|http|ipv|oauth|pkcs|p|i|web|rfc|rsa|des|ascii|iso|http/|tls|ssl|ntlmv|scrypt|bcrypt|blake|crc|l|h|u|v|int|uint|python|py|"
    r"step|issue|pr|section|line|part|phase|test|level|tier|type|option|node|rev|ver|version|release|es|ps|win|arm|amd|gpt|claude|llama)-?[0-9][\w.]*(?:[-/][\w.-]*)?"
    r"|[0-9]+(?:[.,:/x×-][0-9]+)*(?:%|[a-z]{1,2}|st|nd|rd|th|bit|bits|bytes?|chars?|min|sec|ms|days?|hours?)?\+?|[0-9]+-[a-z-]+|[<>=~≥≤+]+[0-9].*|#[0-9]+|[a-z]+(?:/[a-z0-9]+)+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?|file|ssh)://.*|[./~\\].*|[A-Za-z]:\\.*|[0-9]{4}-[0-9]{2}.*|[\w./-]+\.(?:py|js|ts|json|ya?ml|txt|md|sh|env|toml|pem|key|cfg|ini|go|rs|java|html|csv|php|rb|sql|lock)(?::[0-9]+)?"
)
_CODE = r"\[masked\]|[${<(\[%&|\\#+*].*|.*[(\[{}=].*|.*::.*|\w+->.*|[a-z_]+\.[a-z_]\w*(?:\.\w+)*|[^\w]+|--?[a-z].*|@[\w/-]+|[xX*.•●]+"
_STATUS = frozenset(
    "wrong invalid incorrect required missing empty weak expired correct valid changed reset set stored hashed encrypted none null true false undefined secret "
    "password admin user string text yes no not optional unknown shown hidden masked unset the your valid blank same default strong short long revoked".split()
)
# What is counted where a number follows: `the password is 12 characters long`.
_UNIT = r"(?i)\s+(?:char|digit|letter|byte|bit|symbol|day|hour|minute|second|week|month|year|word|time|zeichen|ziffer|tage|stunde|minuten|символ|знак|caract|or|to|more|different|field|line|user|token|entr|item|item|out|of|per|percent|stelle|attempt|tries)"
_WORDS = r"(?:(?:[0-9]{1,2}[.):][ \t]{0,2})?[a-z]{3,10}[\s,;|-]{1,4}){11,24}"
_PHRASE = (
    r"(?i)(?P<keep>(?:(?:seed|mnemonic|recovery|backup|secret|wallet|wiederherstellungs|сид)[ _-]?(?:phrase|words|seed|mnemonic|key|фраз[аы])s?|(?:seed|mnemonic)(?=[ ]?(?:[:=]|is[ ])))"
    rf"(?:[ \t]{{1,2}}(?:is|are|ist|lautet|was|words|for[ ]\w{{1,20}}))?\\*[\"']?[ \t]{{0,4}}[:=—–-]?\s{{0,8}}(?:[bf]?\\*[\"'`\[]{{1,2}}\s{{0,4}})?)(?-i:(?=(?:[^a-z\n]{{0,6}}[a-z]{{3,10}}[^a-z]{{1,5}}){{11}}){_WORDS}(?:[0-9]{{1,2}}[.):][ \t]?)?(?:[a-z]{{3,10}})?)"
)
_LOGIN = (
    r"(?i)(?P<keep>(?<![a-z_-])(?:credentials?|creds|logins?|log[ -]in|zugangsdaten|anmeldung|user(?:name)?[ ]?(?:/|and|&|:)[ ]?pass(?:word|wd)?|логин/пароль)(?:[ \t]{1,2}(?:are|is|sind|with|as|data|for[ ]\S{1,30}))?[ \t]{0,2}[:=]?[ \t]{1,3}[\"'`(]{0,2}[\w.@+-]{1,64}[ ]?[:/][ ]?)"
    r"(?P<value>(?!//)[^\s\"'`<>,:/]{4,128})"
)


def mask_logins(text: str, lowered: str) -> str:
    """Mask the second of user and password: `credentials: bob / X`."""
    if any(
        hint in lowered for hint in ("cred", "login", "log in", "log-in", "user", "zugangsdaten", "anmeldung", "логин")
    ):
        text = re.sub(_LOGIN, _mask_login, text)
    return text


def mask_prose(text: str, lowered: str) -> str:
    """Mask what a sentence calls a password, a token or a key, where it carries digits or signs as no word does."""
    if any(hint in lowered for hint in ("seed", "mnemonic", "phrase", "wallet", "backup", "recovery", "фраз")):
        text = re.sub(_PHRASE, lambda match: match["keep"] + MASK, text)
    if not any(hint in lowered for hint in HINTS):
        return text
    return re.sub(_SPOKEN, _mask_told, text)


def _mask_login(match: Match[str]) -> str:
    value = match["value"].rstrip(".;)")
    if not re.search("[0-9@#$%^&*!]", value) or re.fullmatch(_TECHNICAL, value) or re.fullmatch(_CODE, value):
        return match[0]
    return match["keep"] + MASK + match["value"][len(value) :]


def _mask_told(match: Match[str]) -> str:
    value = re.sub(r"[.,;:)\]}*_]+$", "", match["value"])
    if not _looks_chosen(value, match):
        return match[0]
    start, end = match.start("value") - match.start(), match.start("value") - match.start() + len(value)
    return match[0][:start] + MASK + match[0][end:]


def _looks_chosen(value: str, match: Match[str]) -> bool:
    """Whether a value is one that somebody chose or a machine drew, and no word of the sentence."""
    is_password, quoted, tail = match["pass"] is not None, bool(match["open"].strip("_")), match["tail"]
    if len(value) < 3 or value.lower() in _STATUS or re.fullmatch(_CODE, value):
        return False
    if value.isdecimal():
        is_code = is_password or "code" in match["name"].lower()
        return (
            is_code
            and 4 <= len(value) <= 32
            and not re.match(_UNIT, tail)
            and not re.fullmatch("(?:19|20)[0-9]{2}", value)
        )
    if re.fullmatch(_TECHNICAL, value.rstrip("!?")):
        return False
    if re.search("[0-9]", value):
        return (
            len(value) >= (4 if is_password else 8) and re.fullmatch(r"[a-z]+(?:[_-][a-z]+)*[_-]?[0-9]", value) is None
        ) or (is_password and len(value) > 6)
    bare = value.rstrip("!?")
    if re.search("[@#$%^&*!+=~]", bare):
        return (
            len(value) >= (5 if is_password else 16)
            and re.search(r"[\w][@#$%^&*!+=~]|[@#$%^&*!+=~]\w", bare) is not None
        )
    if is_password and (
        bare.count("-") >= 3 or (re.search("[a-z][A-Z][a-z]", bare) and re.search("[—–→]", match["link"]))
    ):
        return len(value) >= 8
    if quoted and is_password:
        return (
            re.fullmatch("[A-Za-z]{5,}", bare) is not None
            and match["open"] in ('"', "'", "`", "„", "“", "«")
            and bare.lower() not in _STATUS
            and not tail.strip("\"'`»”“’ ")
        )
    return (
        not is_password
        and re.fullmatch("(?=.{0,30}[a-z])(?=[a-z]{0,30}[A-Z])[A-Za-z]{20,}", value) is not None
        and len(re.findall("[a-z][A-Z]", value)) > 3
    )
