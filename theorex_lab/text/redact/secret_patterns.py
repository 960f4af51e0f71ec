"""What the mask knows secrets by: patterns by their names.

The patterns are verbose: white space outside of a class of characters does not count,
and a blank is written `[ ]`. They are compiled where they are used, since a text needs
few of them; `<<name>>` stands for the pattern of that name in PATTERNS. Every
repetition is bounded or cannot be entered twice, so that the time is linear. What
stands in the group `keep` stays before the mask; in commands and names the group
`value` or `bare` is the secret.
"""

# The words that lead to a pattern (hints in lower case, prefixes or programs), and the
# pattern. A plain tuple:
# importing `typing` for a class of it would cost every hook that masks some 5 ms.
Entry = tuple[tuple[str, ...], str]
# An entry of what stands around a name; how far before the name it begins, at most, 0
# where that is open; and words, in lower case, of which each begins with one, '' for
# any.
Row = tuple[tuple[str, ...], str, int, tuple[str, ...]]

PATTERNS = {
    # Not inside a word; after an escaped line break or a percent-encoded sign a word
    # begins too.
    "edge": r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))",
    "digit": r"(?=[A-Za-z_-]{0,40}[0-9])",
    # How the rest of a vendor's token may go on after a dot.
    "more": r"(?:\.[A-Za-z0-9_=-]{6,})*",
    "password in url": r"(?!\d{1,5}(?:[/?#]|$))(?!\$|%s|\{|<|\*{2}|\)?\[)",
    # In every address with a user, a token or a password in it.
    "user in url": r"://[^\s@]{0,700}@",
    "sql user": r"(?:role|user|login)[ \t]{1,4}[\w\"]{1,64}",
    "kind of key": (
        r"[A-Z0-9 ]{0,40}(?:PRIVATE[ ]KEY(?:[ ]BLOCK)?|OpenVPN[ ]Static[ ]key[ ]V1)["
        r" ]?-----?"
    ),
    "begin": r"-----?[ ]?BEGIN[ ]<<kind of key>>",
    "end": r"-----?[ ]?END[ ]<<kind of key>>",
    "break": r"(?:\s|\\+[rnt])",
    # What a key without its end goes on with: lines of base64, and headers before them.
    "body": (
        r"""
        (?:
            <<break>>{0,80}[\"'+> ]{0,4}(?:
                  [A-Za-z0-9+/=]{16,}
                | (?=[a-z]{0,15}[A-Z0-9+/=])[A-Za-z0-9+/=]{3,15}(?=<<break>>|\Z)
                | (?:Proc-Type|DEK-Info|Version|Comment|Hash|Subject):[ ]?[^\n\\]{1,200}
            )
        )*
    """
    ),
    "lines before": (
        r"(?:(?:\s|n\\+|r\\+){0,8}[A-Za-z0-9+/=]{4,}(?=\s|n\\|r\\|\Z))*(?:\s|n\\+)*"
    ),
    "putty": (
        r"(?s)Private-Lines:[ ]?[0-9]{1,4}.*?(?:Private-MAC:[ ]?[0-9a-f]{1,80}|\Z)"
    ),
    "aws id": r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}",
    "aws secret": (
        r"""
        (?<![A-Za-z0-9/+=])(?=[^\s]{0,39}[0-9])(?=[^\s]{0,39}[A-Z])(?=[^\s]{0,39}[a-z])
        [A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])
    """
    ),
    "base64": (
        r"""
        (?<![A-Za-z0-9+/_=-])(?:[A-Za-z0-9+/]{60,76}\s{1,2}(?=[A-Za-z0-9+/]{4,}))*
        [A-Za-z0-9+/_-]{16,}={0,2}
    """
    ),
    "hex": r"(?<![0-9A-Za-z])(?:0x|\\x)?(?:[0-9a-fA-F]{2}){12,}(?![0-9A-Za-z])",
    # Tokens of bots and tables: no sign of theirs is rare enough to look for it first.
    "dotted": (
        r"""
        (?:(?<![A-Za-z0-9_.-])|(?<=%3D)|(?<=%20)|(?<=\\n))(?:
              [MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![\w-])
            | pat[A-Za-z0-9]{14}\.[0-9a-f]{32,}
            | 2/[0-9]{15,17}/[0-9]{15,17}:[0-9a-f]{32}
        )
    """
    ),
    "cookies": (
        r"""
        (?i)
        (?P<keep>
            (?:set-)?cookies?\\*[\"']?\]?(?:[ \t]{0,4}[:=][ \t]{0,4}|,[ ]{0,2})\\*[\"'`]?
        )(?P<pairs>
            [\w.%$-]{1,80}=[^\s;\"'`\\,<>()]{1,4096}
            (?:;[ \t]?[\w.%$-]{1,80}(?:=[^\s;\"'`\\]{0,4096})?){0,80}
        )
    """
    ),
    "basic": (
        r"""
        (?i)
        (?P<keep>
              (?<![a-z])basic[ \t]{1,4}
            | [\"']_?auth\\*[\"'][ \t]{0,2}:\s{0,8}\\*[\"']
            | (?<![\w])_auth[ \t]{0,2}=[ \t]{0,2}
        )(?P<value>[A-Za-z0-9+/]{6,2000}={0,2})
    """
    ),
    # Signs before and after a value on a command line, also one in a JSON text.
    "quote": r"\\*[\"']?",
    "word": r"[^\s\"'\\]{1,256}",
    "unquoted": r"(?:(?<=')[^'\n]{1,256}|(?<=\")[^\"\n\\]{1,256}|<<word>>)",
    "after p": r"(?P<keep>(?<!\S)-p[ =]?<<quote>>)(?![-$<{])(?P<value><<unquoted>>)",
    # What is piped into a program that reads a password: `echo X | sudo -S`, `echo
    # user:X | chpasswd`.
    "piped": (
        r"""
        (?P<keep>
            (?<![\w-])(?:echo|printf)[ \t]{1,4}(?:-[ne]{1,2}[ \t]{1,4})?
            (?:\\*[\"']?%s(?:\\+n)?\\*[\"']?[ \t]{1,4})?\\*[\"']?
            (?:(?=[^\s:]{1,64}:[^\n]{1,300}chpasswd)[^\s:]{1,64}:)?
        )(?![$<\[])(?P<value>[^\s\"'\\|]{1,256})(?P<after>
            \\*[\"']?(?:\\+n\\*[\"']?)?[ \t]{0,4}\|[ \t]{0,4}(?:
                  sudo[ \t]{1,4}(?:-\S{1,20}[ \t]{1,4}){0,3}-[A-Za-z]{0,4}S
                | (?:sudo[ \t]{1,4})?(?:chpasswd|passwd[ \t]{1,4}--stdin|cryptsetup|smbpasswd)
                | [^\n|]{1,200}
                  (?:--password-stdin|--with-token|--passphrase-fd|-pass(?:in)?[ ]stdin)
            )
        )
    """
    ),
    "here": (
        r"""
        (?P<keep>
            (?:--password-stdin|--with-token|sudo[ ]-S)[^\n<]{0,80}<{3}[ \t]{0,4}\\*[\"']?
        )(?![$<])(?P<value>[^\s\"'\\]{1,256})
    """
    ),
    "arguments": (
        r"""
        (?P<arguments>
            [ \t](?:[^\n;|\\\"'&]|\\[\s\S]|\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'|[\"']|&(?!&)){1,1500}
        )
    """
    ),
    # Names that often stand for something else: their value is a secret only where it
    # looks random.
    "weak": (
        r"""
        (?i)
          credentials?|creds
        | (?:
                license|licence|master|consumer|deploy|bot|rsa|ssh|anon|ingest
              | write|read|dsa|aes|crypto|cipher|app|application|client|gpg
              | jwt|admin|shared|service[_-]?role|storage|webhook|hmac
              | functions?|account|subscription
          )[_ -]?key
        | .*sess.*|cookie|dsn|connectionstring
    """
    ),
    # Names that stand for something else more often than not: their value is a secret
    # only where a machine has drawn it.
    "vague": r"(?i)key|o?auth|pat|jwt|bearer|salt|webhook",
    "suffix": (
        r"""
        (?:
            [_-]?(?:
                  key|base|hash|value|prod|production|dev|test|staging|live|old
                | new|current|plain|text|data|default|string|[a-f]
                | id(?=[\"']?:[ ]?[\"'][0-9a-f]{8}-)
            )
        ){0,2}[0-9]{0,2}
    """
    ),
    "type": (
        r"""
        (?:
              str(?:ing)?|bytes|text|secretstr|any|varchar|char|final
            | optional\[str\]
            | str[ ]?\|[ ]?none
            | final\[str\]
            | &?(?:'static[ ])?str
            | string\?
        )
    """
    ),
    "sign": (
        r"""
        (?:[ \t]{1,4}(?:string|str|text|\[\]byte|char\[\]))?[ \t]{0,20}
        (?:=>|:=|\?=|\+=|=(?!=)|:[ \t]{0,4}<<type>>[ \t]{0,4}=(?!=)|:(?!:)|：|%3[AaDd])[ \t]{0,20}
    """
    ),
    "assigned": (
        r"""
        (?:
              (?:[bfru@]{0,2}|\|[ \t]*\\?\n[ \t]*)(?P<quote>\\*(?:\"\"\"|'''|[\"'`]))
              (?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n\\]))*)
            | (?P<bare>[^\s\"'`,;&\\]+)
        )
    """
    ),
    "placeholder": (
        r"""
          \$\{[^}\n]*\}|\$\(.*\)|\$[A-Za-z_]\w*|\$env:\w+|%\w+%
        | <[^<>\n]{1,60}>|\{\{.*\}\}|\{[\w.]*\}|\$\{\{.*|\[masked\].*
        | [^\s…]*…\S*
        | \S{0,12}\*{3,}\S*
        | [xX]{3,}|\.{2,}
        | %-?[0-9]*[a-z](?:\\+n)?
        | (?i:
              (?:
                    your|my|the|some|insert|enter|example|dummy|fake|placeholder
                  | change|test|sample|demo|new|old
              )[-_ ]?(?:\w+[-_ ]){0,4}(?:password|secret|token|key|here|me|passwd|value)s?
          )
        | (?i:redacted|changeme|placeholder|masked|hidden|unset|tbd|todo|n/?a)
        | !vault.*|ENC\[.*|arn:aws:.*
        | vault:[\w/]+\#\w+
        | op://.*|@[A-Z]\w+\(.*
    """
    ),
    "expression": (
        r"""
          \$[A-Za-z_{(]|[<{(\[*|]|%[a-z(]|[)]
        | [A-Za-z_][\w.]*(?:[(\[]|::\w|->|\?\.)
        | &?[A-Za-z_]\w*\*?\)
        | @|\.\.|!\w+[( ]|/[*/]|→
    """
    ),
    "own name": (
        r"""
        (?i)
          [a-z_.$]*(?:pass|pwd|secret|token|key|cred)[a-z_.]*[):,]*
        | self\.[\w.]+|this\.[\w.]+|args\.[\w.]+
        | (?:
                config|settings|options?|opts|env|process|request|req|user|cfg
              | ctx|props|data|form|body|params?|values?|state|event|row|entry
              | result|response|resp|credentials?|auth
          )\.[\w.]+
    """
    ),
    "random": (
        r"""
          (?=[^\n]{0,200}[0-9])(?=[^\n]{0,200}[A-Za-z])[^\s\"'<>{}()$\[\]]{8,}
        | [A-Za-z]{24,}
    """
    ),
    # What a text says that is shown to people, and no secret.
    "message": (
        r"""
          [.:,;!?)][ ]|[:.!?]$|\{|%s
        | (?i:\b(?:is|the|your|must|for|not|required|invalid|enter|password|token|key|secret)\b)
    """
    ),
    "after an option": (
        r"""
        (?i)
          option|flags?|to|is|or|and|argument|parameter|param|in|for
        | with|from|as|was|when|must|should|can|will|if|value|because|of
        | on|at|not|does|doesn't
        | [a-z]{1,3}[.,:;)]
    """
    ),
    "password": (
        r"""
          pass(?:word|phrase|code|wort|wd)s?
        | pwd|kennwort
        | парол[ьяеюём]{1,2}
        | contrase[ñn]a|senha|mot[ ]de[ ]passe|has[łl]o|wachtwoord
        | parola|login[ ]data
        | (?<![a-z])pin(?:[ -]?code)?
        | пин-код
    """
    ),
    "token": (
        r"""
          (?:[a-z]{2,12}[ _-])?(?:token|secret|geheimnis|токен|секрет)
        | (?:
                api|access|secret|private|encryption|signing|license|auth
              | geheimer|zugangs|account|master
          )[ _-]?(?:key|schl[uü]e?ssel)
        | (?:api-)?ключ(?:[ ]api)?
        | cl(?:é|ave)[ ](?:api|de[ ]api)
        | zugangstoken
        | (?:
                verification|security|one-time|otp|2fa|mfa|login|backup
              | recovery|auth|authentication|access|confirmation
          )[ -]code
    """
    ),
    "of": (
        r"""
        (?:
            [ \t]{1,2}(?:
                  for|of|to|on|at|from|in|für|fürs|von|zu|zum|vom|des|der|для|от
                | к|de|del|du|pour|para|di|per|here|there|i[ ]use|we[ ]use
                | you[ ]need
            )(?:[ \t]{1,2}[^\s:=]{1,40}){0,4}?
        )?
    """
    ),
    "link": (
        r"""
        (?:
              [ \t]{1,2}(?:
                    (?:
                          is|was|ist|war|lautet|lauten|heißt|hei[sß]st|equals|are|es|est
                        | è|é|это|будет|remains|should[ ]be|will[ ]be|became|being|=
                    )(?:
                        [ \t]{1,2}(?:
                              now|set[ ]to|changed[ ]to|reset[ ]to|jetzt|nun|теперь
                            | still|called|as[ ]follows|simply|just|currently|ahora
                            | maintenant|actually
                        )
                    )?:?
                  | (?:has[ ]been[ ]|was[ ]|is[ ]|been[ ])?
                    (?:set|changed|reset|updated|rotated|switched|geändert|gesetzt)?[ ]?
                    (?:to|auf|на|à|a)
                  | (?:in|as|via|mit)(?=[ ][\"'`«“„])
                  | [—–→:=-]{1,2}>?|now|wird|->
              )[ \t]{1,4}(?:\r?\n[ \t]{0,8}>?[ \t]{0,4})?
            | [ \t]{0,2}[—–→:=][ \t]{0,3}(?:\r?\n[ \t]{0,8})?
            | [ \t]{1,2}(?=[\"'`«“„*]{1,3}\S)
            | (?<!\s)[ \t](?=\S{0,24}[0-9@#$%^&*!])
        )
    """
    ),
    "told": (
        r"""
        (?P<open>[\"'`«“„‘*_]{0,3})(?P<value>[^\s\"'`«»“”„’<>|]{3,256})
        (?=(?P<tail>[\"'`»”“’]?(?:[ \t]{1,2}[^\W\d_]{2,12})?))
    """
    ),
    "spoken": (
        r"""
        (?i)
        (?<![a-z_/.$-])(?P<name>(?P<pass><<password>>)|<<token>>)(?![a-z_(\[=.])
        (?:[ \t]{0,2}\([^()\n]{1,40}\)|['’]s(?=[ \t]))?(?P<link><<of>><<link>>)<<told>>
    """
    ),
    # What carries digits in technical prose and is no secret.
    "technical": (
        r"""
        (?i)
          (?:
                base|sha|md|utf|aes|argon|pbkdf|k|x|ed|rs|hs|es|s|ec|http|ipv
              | oauth|pkcs|p|i|web|rfc|rsa|des|ascii|iso|http/|tls|ssl|ntlmv
              | scrypt|bcrypt|blake|crc|l|h|u|v|int|uint|python|py|step|issue
              | pr|section|line|part|phase|test|level|tier|type|option|node
              | rev|ver|version|release|es|ps|win|arm|amd|gpt|claude|llama
          )-?[0-9][\w.]*(?:[-/][\w.-]*)?
        | [0-9]+(?:[.,:/x×-][0-9]+)*
          (?:%|[a-z]{1,2}|st|nd|rd|th|bit|bits|bytes?|chars?|min|sec|ms|days?|hours?)?\+?
        | [0-9]+-[a-z-]+
        | [<>=~≥≤+]+[0-9].*
        | \#[0-9]+
        | [a-z]+(?:/[a-z0-9]+)+
        | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
        | (?:https?|file|ssh)://.*
        | [./~\\].*|[A-Za-z]:\\.*
        | [0-9]{4}-[0-9]{2}.*
        | [\w./-]+\.(?:
                py|js|ts|json|ya?ml|txt|md|sh|env|toml|pem|key|cfg|ini|go|rs
              | java|html|csv|php|rb|sql|lock
          )(?::[0-9]+)?
    """
    ),
    "code": (
        r"""
          \[masked\]
        | [${<(\[%&|\\#+*].*
        | .*[(\[{}=].*|.*::.*|\w+->.*
        | [a-z_]+\.[a-z_]\w*(?:\.\w+)*
        | [^\w]+|--?[a-z].*|@[\w/-]+|[xX*.•●]+
    """
    ),
    # What is counted where a number follows: `the password is 12 characters long`.
    "unit": (
        r"""
        (?i)
        \s+(?:
              char|digit|letter|byte|bit|symbol|day|hour|minute|second|week
            | month|year|word|time|zeichen|ziffer|tage|stunde|minuten|символ
            | знак|caract|or|to|more|different|field|line|user|token|entr
            | item|item|out|of|per|percent|stelle|attempt|tries
        )
    """
    ),
    "words": r"(?:(?:[0-9]{1,2}[.):][ \t]{0,2})?[a-z]{3,10}[\s,;|-]{1,4}){11,24}",
    "phrase": (
        r"""
        (?i)
        (?P<keep>
            (?:
                  (?:seed|mnemonic|recovery|backup|secret|wallet|wiederherstellungs|сид)
                  [ _-]?(?:phrase|words|seed|mnemonic|key|фраз[аы])s?
                | (?:seed|mnemonic)(?=[ ]?(?:[:=]|is[ ]))
            )(?:[ \t]{1,2}(?:is|are|ist|lautet|was|words|for[ ]\w{1,20}))?\\*[\"']?
            [ \t]{0,4}[:=—–-]?\s{0,8}(?:[bf]?\\*[\"'`\[]{1,2}\s{0,4})?
        )(?-i:
            (?=(?:[^a-z\n]{0,6}[a-z]{3,10}[^a-z]{1,5}){11})<<words>>
            (?:[0-9]{1,2}[.):][ \t]?)?(?:[a-z]{3,10})?
        )
    """
    ),
    "login": (
        r"""
        (?i)
        (?P<keep>
            (?<![a-z_-])(?:
                  credentials?|creds|logins?|log[ -]in|zugangsdaten|anmeldung
                | user(?:name)?[ ]?(?:/|and|&|:)[ ]?pass(?:word|wd)?
                | логин/пароль
            )(?:[ \t]{1,2}(?:are|is|sind|with|as|data|for[ ]\S{1,30}))?[ \t]{0,2}[:=]?
            [ \t]{1,3}[\"'`(]{0,2}[\w.@+-]{1,64}[ ]?[:/][ ]?
        )(?P<value>(?!//)[^\s\"'`<>,:/]{4,128})
    """
    ),
}
