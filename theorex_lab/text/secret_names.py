"""Secrets that are known by the name before them: assignments in code and settings, options, elements, JSON members."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

MASK = "[masked]"
# (hint, pattern of the name): only names whose hint is in the text are compiled. A hint is in lower case.
PASSWORDS: tuple[tuple[str, str], ...] = (
    ("pass", r"pass(?:word|wd|phrase|code|wrd|wort)|passw(?=\\*[\"']?[ \t]{0,4}[:=])"),
    ("pwd", "pwd"), ("kennwort", "kennwort"), ("парол", "парол[ьяюей]{1,2}"), ("contrase", "contrase[ñn]a"), ("senha", "senha"),
    ("mot", r"mot[ _-]?de[ _-]?passe"), ("has", "has[łl]o"), ("密", "密[码碼]"), ("パスワード", "パスワード"), ("비밀번호", "비밀번호"),
    ("wachtwoord", "wachtwoord"), ("lösenord", "lösenord"), ("parola", "parola"), ("salasana", "salasana"), ("heslo", "heslo"),
    ("pass", r"(?<=[_.\"'-])pass(?=\\*[\"'\]]{0,2}[ \t]{0,4}(?:[:=,]|=>))|(?<=key)pass|(?<=store)pass|(?<=db)pass"),
    ("storepw", "storepw"), ("requirepass", "requirepass"), ("masterauth", "masterauth"), ("psk", r"(?<![a-z])psk"),
)  # fmt: skip
TOKENS: tuple[tuple[str, str], ...] = (
    ("secret", "secret(?:[_-]?id)?"), ("token", "token"), ("токен", "токен"), ("секрет", "секрет"), ("geheim", "geheimnis"), ("jeton", "jeton"),
    ("key", r"(?:api|access|account|private|signing|encryption|decryption|shared|subscription|storage|webhook|hmac|function|functions|service[_-]?role|"
            r"(?<=[_-])auth|(?<=x-)auth|license|licence|master|consumer|deploy|bot|rsa|ssh|anon|ingest|write|read|dsa|aes|crypto|cipher|app|application|client|gpg|jwt|admin)"
            r"[_ -]?key"),
    ("ключ", r"(?:api|апи)[ -]ключ|ключ[ -](?:api|доступа)"), ("schl", r"(?:api|zugriffs|zugangs|geheimer)[ -]?schl(?:ü|ue)ssel"),
    ("cl", r"cl(?:é|ef|ave)[ _-](?:api|secr[eè]te|de[ ]api|secreta|d'api|de[ ]l'api)"), ("chave", r"chave[ _-](?:de[ ])?api"),
    ("credential", "credentials?"), ("creds", "creds"), ("otp", r"(?<![a-z])t?otp(?:[ _-](?:code|secret|seed))?"), ("passkey", "passkey"),
    ("pin", r"(?<![A-Za-z])(?-i:PIN)(?:[ _-]?code)?"), ("seed", r"(?<=[_-])seed(?=[_-]?(?:hex|phrase))"), ("cookie", "(?<=session[_-])cookie"),
    ("_auth", r"(?<=[/:\s])_auth"), ("dsn", "(?<=[_-])dsn(?=$)"), ("psess", r"(?:php|asp)sess(?:ion)?id"), ("jsess", r"jsess(?:ion)?id"),
    ("apikey", r"apikey"), ("connectionstring", "connectionstring"),
)  # fmt: skip
# Names that often stand for something else: their value is a secret only where it looks random.
_WEAK = (
    r"(?i)credentials?|creds|(?:license|licence|master|consumer|deploy|bot|rsa|ssh|anon|ingest|write|read|dsa|aes|crypto|cipher|app|application|client|gpg|"
    r"jwt|admin|shared|service[_-]?role|storage|webhook|hmac|functions?|account|subscription)[_ -]?key|.*sess.*|cookie|dsn|connectionstring"
)
_SUFFIX = r"(?:[_-]?(?:key|base|hash|value|prod|production|dev|test|staging|live|old|new|current|plain|text|data|default|string|[a-f]|id(?=[\"']?:[ ]?[\"'][0-9a-f]{8}-))){0,2}[0-9]{0,2}"
_A_PASSWORD = rf"(?i)(?:{'|'.join(pattern for _, pattern in PASSWORDS[:-6])}|pass|psk|storepw|requirepass){_SUFFIX}"
_TYPE = r"(?:str(?:ing)?|bytes|text|secretstr|any|varchar|char|final|optional\[str\]|str[ ]?\|[ ]?none|final\[str\]|&?(?:'static[ ])?str|string\?)"
_SIGN = rf"(?:[ \t]{{1,4}}(?:string|str|text|\[\]byte|char\[\]))?[ \t]{{0,20}}(?:=>|:=|\?=|\+=|=(?!=)|:[ \t]{{0,4}}{_TYPE}[ \t]{{0,4}}=(?!=)|:(?!:)|：|%3[AaDd])[ \t]{{0,20}}"
_VALUE = r"(?:(?:[bfru@]{0,2}|\|[ \t]*\\?\n[ \t]*)(?P<quote>\\*(?:\"\"\"|'''|[\"'`]))(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n\\]))*)|(?P<bare>[^\s\"'`,;&\\]+))"
_PLACEHOLDER = (
    r"\$\{[^}\n]*\}|\$\(.*\)|\$[A-Za-z_]\w*|\$env:\w+|%\w+%|<[^<>\n]{1,60}>|\{\{.*\}\}|\{[\w.]*\}|\$\{\{.*|\[masked\].*|[^\s…]*…\S*|\S{0,12}\*{3,}\S*|[xX]{3,}|\.{2,}|%-?[0-9]*[a-z](?:\\+n)?|"
    r"(?i:(?:your|my|the|some|insert|enter|example|dummy|fake|placeholder|change|test|sample|demo|new|old)[-_ ]?(?:\w+[-_ ]){0,4}(?:password|secret|token|key|here|me|passwd|value)s?)|"
    r"(?i:redacted|changeme|placeholder|masked|hidden|unset|tbd|todo|n/?a)|!vault.*|ENC\[.*|arn:aws:.*|vault:[\w/]+#\w+|op://.*|@[A-Z]\w+\(.*"
)
_EXPRESSION = r"\$[A-Za-z_{(]|[<{(\[*|]|%[a-z(]|[)]|[A-Za-z_][\w.]*(?:[(\[]|::\w|->|\?\.)|&?[A-Za-z_]\w*\*?\)|@|\.\.|!\w+[( ]|/[*/]|→"
_PLAIN_WORDS = frozenset(
    "none null nil true false str string bytes int integer number bool boolean any object undefined required optional secretstr varchar char yes no on "
    "text void self default empty unknown unset float varying type field input invalid incorrect wrong missing include same-origin omit "
    "password passwort token secret the a an must should is are was".split()
)
_STATUS = frozenset(
    "required optional invalid incorrect wrong missing weak expired correct valid ok fail failed passed must should cannot".split()
)
_OWN_NAME = r"(?i)[a-z_.$]*(?:pass|pwd|secret|token|key|cred)[a-z_.]*[):,]*|self\.[\w.]+|this\.[\w.]+|args\.[\w.]+|(?:config|settings|options?|opts|env|process|request|req|user|cfg|ctx|props|data|form|body|params?|values?|state|event|row|entry|result|response|resp|credentials?|auth)\.[\w.]+"
_RANDOM = r"(?=[^\n]{0,200}[0-9])(?=[^\n]{0,200}[A-Za-z])[^\s\"'<>{}()$\[\]]{8,}|[A-Za-z]{24,}"


# Letters that a pattern takes for another letter's case and `lower` does not.
_UNUSUAL_CASES = frozenset("\u017f\u0131\u0130\u212a")
# What a text says that is shown to people, and no secret.
_MESSAGE = (
    r"[.:,;!?)][ ]|[:.!?]$|\{|%s|(?i:\b(?:is|the|your|must|for|not|required|invalid|enter|password|token|key|secret)\b)"
)


def names_in(lowered: str) -> str:
    """The pattern of the names whose hint is in the lower-case text, '' where there is none."""
    return _one_of([pattern for hint, pattern in (*PASSWORDS, *TOKENS) if hint in lowered])


def _names_there(text: str, lowered: str) -> str:
    """As `names_in`, with those names alone that are in the text: the same few for most texts, so that little is compiled."""
    if not _UNUSUAL_CASES.isdisjoint(text):
        return names_in(lowered)
    lowered = text.lower()
    there = [pattern for hint, pattern in (*PASSWORDS, *TOKENS) if hint in lowered]
    return _one_of([each for each in there if re.search(each, text if "(?-i:" in each else lowered)])


def _one_of(patterns: list[str]) -> str:
    return f"(?:{'|'.join(patterns)}){_SUFFIX}" if patterns else ""


def mask_names(text: str, lowered: str) -> str:
    """Mask the values that are assigned to a password, a token, a secret or a key."""
    names = _names_there(text, lowered)
    if not names:
        return text
    for pattern in _rows(names, lowered):
        text = re.sub(pattern, _mask_value, text)
    return re.sub(rf"(?i)(?P<name>{names})\\*[\"']?\]?(?P<sign>{_SIGN}){_VALUE}", _mask_assignment, text)


def _rows(names: str, lowered: str) -> list[str]:
    """Where a value stands after a name without a sign of assignment; group `bare` is the value."""
    rows = []
    if "<" in text_signs(lowered):
        rows.append(
            rf"(?i)<(?:[\w.-]{{1,40}}:)?[\w.-]{{0,40}}?(?P<name>{names})[\w-]{{0,16}}(?:\s[^<>\n]{{0,200}})?>(?:<!\[CDATA\[)?(?P<bare>[^<>\n]{{1,2000}})(?=\]\]>|</)"
        )
        rows.append(
            rf"(?i)<(?:key|string|name|entry|property|item)\b(?:[^<>\n]{{0,200}}>)?[^<>\n]{{0,80}}?(?P<name>{names})\\*[\"']?(?:>|</(?:key|name)>\s{{0,40}}<(?:string|value)>)(?P<bare>[^<>\n]{{1,2000}})(?=</)"
        )
    if "value" in lowered or "content" in lowered:
        rows.append(
            rf"(?i)(?P<name>{names})\\*[\"']?(?:,?(?:\s|\\n){{0,40}}|/?>\s{{0,40}}<)\\*[\"']?(?:value|content|stringvalue)\\*[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}\\*[\"']?(?P<bare>(?!from)[^\s\"'\\<>,]{{1,2000}})"
        )
    if "-" in lowered:
        rows.append(
            rf"(?i)(?<![\w-])(?:--?(?=[a-z])|/)[a-z-]{{0,32}}(?P<name>{names})(?P<flag>[ \t]{{1,4}}|:(?=\S))\\*[\"']?(?![-$<>&|])(?P<bare>[^\s\"'\\]+)"
        )
    if any(
        each in lowered for each in ("set", "env", "add", "with", "export", "store", "put", "pass ", "auth", "config")
    ):
        rows.append(
            rf"(?i)(?<![\w-])(?:setx|env|export|set|setenv|configure[ \t]set|config[ \t]set|secret[ \t]set|secrets[ \t]set)[ \t]{{1,4}}[\w.:/@-]{{0,80}}?(?P<name>{names})[\w]{{0,8}}(?P<flag>[ \t]{{1,4}})(?:(?:--body|-b|to)[ \t]{{1,4}})?\\*[\"']?(?![-$<=:])(?P<bare>[^\s\"'\\=]+)"
        )
        rows.append(
            rf"(?i)(?:set|with|put|add)[_.]?[a-z]{{0,12}}?(?P<name>{names})\([ \t]{{0,2}}\\*(?P<quote>[\"'])(?P<bare>[^\s\"'\\]{{1,512}})(?=\\*[\"'][ \t]{{0,2}}\))"
        )
    rows.append(
        rf"(?i)(?P<name>{names})\\*[\"'](?P<pair>,[ \t]{{0,4}})\\*[\"'](?P<bare>[^\s\"'\\]{{1,512}})(?=\\*[\"'])"
    )
    if "=" in lowered:
        rows.append(
            rf"(?m)^[ \t]*(?:export[ \t]+|ENV[ \t]+|set[ \t]+)?(?P<name>[A-Z][A-Z0-9_]{{0,60}}?(?i:{names}))=(?P<env>)(?P<bare>[^\s\"'`$\\,;][^\s\"'`\\]*)"
        )
    return rows


def text_signs(lowered: str) -> str:
    return "<" if "</" in lowered or "/>" in lowered else ""


def _mask_value(match: Match[str]) -> str:
    """The match with its value masked, unless that is a placeholder, an expression, or a word where a secret must look random."""
    value, groups = match["bare"], match.groupdict()
    if is_ordinary(match["name"], "=", value, quoted="flag" not in groups and "env" not in groups):
        return match[0]
    if "flag" in groups and re.fullmatch(
        r"(?i)option|flags?|to|is|or|and|argument|parameter|param|in|for|with|from|as|was|when|must|should|can|will|if|value|because|of|on|at|not|does|doesn't|[a-z]{1,3}[.,:;)]",
        value,
    ):
        return match[0]
    if "pair" in groups and not (re.search("[0-9@#$%^&*!]", value) and len(value) > 5):
        return match[0]
    if re.fullmatch(r"[a-z]+[_-]password|(?:the|your|my)", value):
        return match[0]
    return match[0][: match.start("bare") - match.start()] + MASK + match[0][match.end("bare") - match.start() :]


def _mask_assignment(match: Match[str]) -> str:
    group = "bare" if match["quote"] is None else "quoted"
    if is_ordinary(match["name"], match["sign"], match[group], quoted=group == "quoted"):
        return match[0]
    start = match.start(group)
    if group == "bare" and re.fullmatch("(?i)bearer|basic|token", match[group]):
        return match[0]
    if group == "bare" and ":" in match["sign"] and match[group].isalpha() and match[group].islower():
        after = match.string[match.end() : match.end() + 8]
        if re.match(r"[ \t]+[^\W\d_]", after):  # a sentence goes on
            return match[0]
    return match.string[match.start() : start] + MASK + match[0][match.end(group) - match.start() :]


def is_ordinary(name: str, sign: str, value: str, *, quoted: bool) -> bool:
    """Whether what is assigned to a name such as `token` is no secret: a type, a variable, a count, a word of prose."""
    if not value or re.fullmatch(_PLACEHOLDER, value):
        return True
    is_password = re.fullmatch(_A_PASSWORD, name) is not None
    if not is_password and re.fullmatch(r"[0-9.,_kKmM]{1,7}[)\]}]*", value) and not re.match("(?i)pin|t?otp", name):
        return True
    if re.fullmatch(_WEAK, name) and not (re.fullmatch(_RANDOM, value) and "/" not in value[:2]):
        return True
    if quoted:
        return _is_text(name, value, is_password=is_password)
    word = value.lower().rstrip(")]}>.:!")
    if word in _PLAIN_WORDS or word in _STATUS or re.match(_EXPRESSION, value) or word.endswith(f".{name.lower()}"):
        return True
    upper_env = sign.strip(" \t") == sign == "=" and name.isupper()
    if re.fullmatch(_OWN_NAME, value) and not upper_env:
        return True
    if is_password:
        return (name.lower() == "pwd" or name.lower().endswith("pass")) and (
            value.startswith(("/", "~", ".")) or re.fullmatch("[0-9]{1,6}[})\\]]*", value) is not None
        )
    if value.startswith(("/", "~/", "./", "http://", "https://")):
        return True
    in_prose_or_code = sign != "="
    return (
        in_prose_or_code
        and not re.search("[0-9]", value)
        and (len(value) < 16 or "_" in value or "." in value or "-" in value)
    )


def _is_text(name: str, value: str, *, is_password: bool) -> bool:
    """Whether a quoted value is a message, a name or a template rather than a secret."""
    if re.match(r"[$#]?\{|\$[A-Za-z_(]|%\(|<[\w -]+>$|\{\{", value) and not re.search(r"\}[^}]{6,}$", value):
        return True
    if re.match(r"[)\]},; ]", value):
        return True  # the end of a quoted label, such as of input("Password: ")
    if " " in value and not re.search(r"[0-9\"]", value):
        # A sentence: a pass phrase has no punctuation before its spaces and is short.
        return value[0] == " " or len(value.split()) > 6 or re.search(_MESSAGE, value) is not None
    lowered = value.lower()
    if lowered in _STATUS or (lowered in _PLAIN_WORDS and (not is_password or len(lowered) > 3)):
        return not is_password or lowered != "password"
    return is_password and lowered == name.lower()


def is_secret_member(key: str, value: object) -> bool:
    """Whether a JSON member holds a secret, by its name."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    names = names_in(key.lower())
    if "authorization" in key.lower():
        names = f"{names}|authorization".strip("|")
    if not names:
        return False
    name = re.search(rf"(?i)(?:{names})\Z", key) or re.fullmatch("(?i)pass", key)
    return name is not None and not is_ordinary(name[0], ":", str(value), quoted=True)
