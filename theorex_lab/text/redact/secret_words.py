"""Names of secrets, what stands for none, and hints.

The patterns are verbose, and name others of `secret_patterns.PATTERNS`.
"""

from theorex_lab.text.redact.secret_patterns import Entry, Row

# Hints, and the pattern of a name: only names whose hint is in the lower-case text are
# compiled.
PASSWORDS: tuple[Entry, ...] = (
    (
        ("pass",),
        r"pass(?:word|wd|phrase|code|wrd|wort)|passw(?=\\*[\"']?[ \t]{0,4}[:=])",
    ),
    (("pwd",), r"pwd"),
    (("kennwort",), r"kennwort"),
    (("парол",), r"парол[ьяюей]{1,2}"),
    (("contrase",), r"contrase[ñn]a"),
    (("senha",), r"senha"),
    (("mot",), r"mot[ _-]?de[ _-]?passe"),
    (("hasł",), r"hasło"),
    (("haslo",), r"haslo"),
    (("密",), r"密[码碼]"),
    (("パスワード",), r"パスワード"),
    (("비밀번호",), r"비밀번호"),
    (("wachtwoord",), r"wachtwoord"),
    (("lösenord",), r"lösenord"),
    (("parola",), r"parola"),
    (("salasana",), r"salasana"),
    (("heslo",), r"heslo"),
)

_OF_API = r"[ _-](?:api|secr[eè]te|de[ ]api|secreta|d'api|de[ ]l'api)"
# Names that are no password's, in the same way.
OTHER_NAMES: tuple[Entry, ...] = (
    (
        ("pass",),
        r"""
              (?<=[_.\"'-])pass(?=\\*[\"'\]]{0,2}[ \t]{0,4}(?:[:=,]|=>))
            | (?<=key)pass|(?<=store)pass|(?<=db)pass
        """,
    ),
    (("storepw",), r"storepw"),
    (("requirepass",), r"requirepass"),
    (("masterauth",), r"masterauth"),
    (("psk",), r"(?<![a-z])psk"),
    (("secret",), r"secret(?:[_-]?id)?"),
    (("token",), r"token"),
    (("токен",), r"токен"),
    (("секрет",), r"секрет"),
    (("geheim",), r"geheimnis"),
    (("jeton",), r"jeton"),
    (
        ("key",),
        r"""
            (?:
                  api|access|account|private|signing|encryption|decryption
                | shared|subscription|storage|webhook|hmac|function|functions
                | service[_-]?role|(?<=[_-])auth|(?<=x-)auth|license|licence
                | master|consumer|deploy|bot|rsa|ssh|anon|ingest|write|read|dsa
                | aes|crypto|cipher|app|application|client|gpg|jwt|admin
            )[_ -]?key
        """,
    ),
    # Other keys, and names that announce a secret less surely: see "vague".
    (("key",), r"(?<=[a-z0-9_-])(?<!api[_-])(?<!access[_-])(?<!secret[_-])key"),
    (("auth",), r"(?<![a-z])o?auth(?=\\*[\"']?[ \t]{0,4}[:=])"),
    (("pat",), r"(?<=_)pat(?=\\*[\"']?[ \t]{0,4}[:=])"),
    (("jwt",), r"(?<![a-z])jwt"),
    (("bearer",), r"(?<![a-z])bearer(?=\\*[\"']?[ \t]{0,4}[:=])"),
    (("salt",), r"(?<=[a-z_-])salt"),
    (("webhook",), r"webhook(?=[_-]?(?:id|path)?\\*[\"']?[ \t]{0,4}[:=])"),
    (("ключ",), r"(?:api|апи)[ -]ключ|ключ[ -](?:api|доступа)"),
    (("schl",), r"(?:api|zugriffs|zugangs|geheimer)[ -]?schl(?:ü|ue)ssel"),
    (("clé",), rf"clé{_OF_API}"),
    (("clef",), rf"clef{_OF_API}"),
    (("clave",), rf"clave{_OF_API}"),
    (("chave",), r"chave[ _-](?:de[ ])?api"),
    (("credential",), r"credentials?"),
    (("creds",), r"creds"),
    (("otp",), r"(?<![a-z])t?otp(?:[ _-](?:code|secret|seed))?"),
    (("passkey",), r"passkey"),
    (("pin",), r"(?<![A-Za-z])(?-i:PIN)(?:[ _-]?code)?"),
    (("seed",), r"(?<=[_-])seed(?=[_-]?(?:hex|phrase))"),
    (("cookie",), r"(?<=session[_-])cookie"),
    (("_auth",), r"(?<=[/:\s])_auth"),
    (("dsn",), r"(?<=[_-])dsn(?=$)"),
    (("sessid",), r"(?:php|j|asp)sessid"),
    (("sessionid",), r"(?:php|j|asp)sessionid"),
    (("apikey",), r"apikey"),
    (("connectionstring",), r"connectionstring"),
)

# What sets a value, before a blank or a tab.
_SETTERS = "setx set env export setenv configure config secret secrets".split()
_SETTING = (
    *[f"{word} " for word in _SETTERS],
    *[f"{word}\t" for word in _SETTERS],
)

# Hints, and where a value stands after a name, which <<names>> stands for, without a
# sign of assignment.
VALUES_WITHOUT_A_SIGN: tuple[Row, ...] = (
    (
        ("</", "/>"),
        r"""
            (?i)
            <(?:[\w.-]{1,40}:)?[\w.-]{0,40}?(?P<name><<names>>)[\w-]{0,16}
            (?:\s[^<>\n]{0,200})?>(?:<!\[CDATA\[)?(?P<bare>[^<>\n]{1,2000})(?=\]\]>|</)
        """,
        0,
        (),
    ),
    (
        ("</", "/>"),
        r"""
            (?i)
            <(?:key|string|name|entry|property|item)\b(?:[^<>\n]{0,200}>)?[^<>\n]{0,80}?
            (?P<name><<names>>)\\*[\"']?(?:>|</(?:key|name)>\s{0,40}<(?:string|value)>)
            (?P<bare>[^<>\n]{1,2000})(?=</)
        """,
        0,
        (),
    ),
    (
        ("value", "content"),
        r"""
            (?i)
            (?P<name><<names>>)\\*[\"']?(?:,?(?:\s|\\n){0,40}|/?>\s{0,40}<)\\*[\"']?
            (?:value|content|stringvalue)\\*[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\*[\"']?
            (?P<bare>(?!from)[^\s\"'\\<>,]{1,2000})
        """,
        0,
        (),
    ),
    (
        ("-",),
        r"""
            (?i)
            (?<![\w-])(?:--?(?=[a-z])|/)[a-z-]{0,32}(?P<name><<names>>)
            (?P<flag>[ \t]{1,4}|:(?=\S))\\*[\"']?(?![-$<>&|])(?P<bare>[^\s\"'\\]+)
        """,
        34,
        ("-", "/"),
    ),
    (
        tuple(
            """
            set env add with export store put pass auth config
            """.split()
        ),
        r"""
            (?i)
            (?<![\w-])(?:
                  setx|env|export|set|setenv
                | configure[ \t]set
                | config[ \t]set|secret[ \t]set|secrets[ \t]set
            )[ \t]{1,4}[\w.:/@-]{0,80}?(?P<name><<names>>)[\w]{0,8}(?P<flag>[ \t]{1,4})
            (?:(?:--body|-b|to)[ \t]{1,4})?\\*[\"']?(?![-$<=:])(?P<bare>[^\s\"'\\=]+)
        """,
        97,
        _SETTING,
    ),
    (
        tuple(
            """
            set env add with export store put pass auth config
            """.split()
        ),
        r"""
            (?i)
            (?:set|with|put|add)[_.]?[a-z]{0,12}?(?P<name><<names>>)\([ \t]{0,2}\\*
            (?P<quote>[\"'])(?P<bare>[^\s\"'\\]{1,512})(?=\\*[\"'][ \t]{0,2}\))
        """,
        17,
        ("set", "with", "put", "add"),
    ),
    (
        ('"', "'"),
        r"""
            (?i)
            (?P<name><<names>>)\\*[\"'](?P<pair>,[ \t]{0,4})\\*[\"']
            (?P<bare>[^\s\"'\\]{1,512})(?=\\*[\"'])
        """,
        0,
        (),
    ),
    (
        ("=",),
        r"""
            (?m)
            ^[ \t]*(?:export[ \t]+|ENV[ \t]+|set[ \t]+)?
            (?P<name>[A-Z][A-Z0-9_]{0,60}?(?i:<<names>>))=(?P<env>)
            (?P<bare>[^\s\"'`$\\,;][^\s\"'`\\]*)
        """,
        0,
        (),
    ),
)

# What is assigned to a name of a secret and is none: types, and words of prose.
PLAIN_WORDS = frozenset(
    """
    none null nil true false str string bytes int integer number bool boolean any object
    undefined required optional secretstr varchar char yes no on text void self default
    empty unknown unset float varying type field input invalid incorrect wrong missing
    include same-origin omit password passwort token secret the a an must should is are
    was
    """.split()
)

# What a password or a token may be in a message.
STATES = frozenset(
    """
    required optional invalid incorrect wrong missing weak expired correct valid ok fail
    failed passed must should cannot
    """.split()
)

# What a sentence says that a password or a token is.
TOLD_STATES = frozenset(
    """
    wrong invalid incorrect required missing empty weak expired correct valid changed
    reset set stored hashed encrypted none null true false undefined secret password
    admin user string text yes no not optional unknown shown hidden masked unset the
    your valid blank same default strong short long revoked
    """.split()
)

# Attributes of a cookie, whose values are no secrets.
COOKIE_ATTRIBUTES = frozenset(
    """
    path domain expires max-age samesite secure httponly priority version comment
    """.split()
)

# One of these, in lower case, is in every sentence that names a password, a token or a
# key.
PROSE_HINTS = (
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "kennwort",
    "парол",
    "contrase",
    "senha",
    "de passe",
    "haslo",
    "hasło",
    "wachtwoord",
    "parola",
    "pin ",
    "pin:",
    "pin-",
    "pincode",
    "пин-код",
    "token",
    "secret",
    "geheimnis",
    "токен",
    "секрет",
    "key",
    "schlüssel",
    "schluessel",
    "ключ",
    "clé ",
    "clave",
    "verification",
    "security code",
    "one-time",
    "otp",
    "2fa",
    "mfa",
    "login ",
    "login-",
    "backup code",
    "recovery code",
    "auth code",
    "auth-code",
    "authentication code",
    "access code",
    "confirmation code",
)

# One of these is before a user and a password.
LOGIN_HINTS = frozenset(
    {"cred", "login", "log in", "log-in", "user", "zugangsdaten", "anmeldung", "логин"}
)

# One of these is before the words of a wallet.
PHRASE_HINTS = frozenset(
    {"seed", "mnemonic", "phrase", "wallet", "backup", "recovery", "фраз"}
)

# Of what is piped, of cookies, and of base64 of user and password.
OTHER_HINTS = frozenset({"echo", "printf", "<<<", "cookie", "basic", "auth"})
