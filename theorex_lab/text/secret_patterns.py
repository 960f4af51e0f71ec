"""What the mask knows secrets by: patterns, prefixes of vendors' keys, programs, names and words.

The patterns are verbose: white space outside of a class of characters does not count, and a blank is written `[ ]`. They
are compiled where they are used, since a text needs few of them; `<<name>>` stands for the pattern of that name in PATTERNS.
Every repetition is bounded or cannot be entered twice, so that the time is linear. What stands in the group `keep` stays
before the mask; in commands and names the group `value` or `bare` is the secret.
"""

# The words that lead to a pattern: hints in lower case, prefixes or programs; and the pattern. No class: `typing` costs time.
Entry = tuple[tuple[str, ...], str]

PATTERNS = {
    # Not inside a word; after an escaped line break or a percent-encoded sign a word begins too.
    "edge": r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))",
    "digit": r"(?=[A-Za-z_-]{0,40}[0-9])",
    # How the rest of a vendor's token may go on after a dot.
    "more": r"(?:\.[A-Za-z0-9_=-]{6,})*",
    "password in url": r"(?!\d{1,5}(?:[/?#]|$))(?!\$|%s|\{|<|\*{2}|\)?\[)",
    "sql user": r"(?:role|user|login)[ \t]{1,4}[\w\"]{1,64}",
    "kind of key": r"[A-Z0-9 ]{0,40}(?:PRIVATE[ ]KEY(?:[ ]BLOCK)?|OpenVPN[ ]Static[ ]key[ ]V1)[ ]?-----?",
    "begin": r"-----?[ ]?BEGIN[ ]<<kind of key>>",
    "end": r"-----?[ ]?END[ ]<<kind of key>>",
    "break": r"(?:\s|\\+[rnt])",
    # What a key without its end goes on with: lines of base64, and headers before them.
    "body": r"""
        (?:
            <<break>>{0,80}[\"'+> ]{0,4}(?:
                  [A-Za-z0-9+/=]{16,}
                | (?=[a-z]{0,15}[A-Z0-9+/=])[A-Za-z0-9+/=]{3,15}(?=<<break>>|\Z)
                | (?:Proc-Type|DEK-Info|Version|Comment|Hash|Subject):[ ]?[^\n\\]{1,200}
            )
        )*
    """,
    "lines before": r"(?:(?:\s|n\\+|r\\+){0,8}[A-Za-z0-9+/=]{4,}(?=\s|n\\|r\\|\Z))*(?:\s|n\\+)*",
    "putty": r"(?s)Private-Lines:[ ]?[0-9]{1,4}.*?(?:Private-MAC:[ ]?[0-9a-f]{1,80}|\Z)",
    "aws id": r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}",
    "aws secret": r"""
        (?<![A-Za-z0-9/+=])(?=[^\s]{0,39}[0-9])(?=[^\s]{0,39}[A-Z])(?=[^\s]{0,39}[a-z])
        [A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])
    """,
    "base64": r"""
        (?<![A-Za-z0-9+/_=-])(?:[A-Za-z0-9+/]{60,76}\s{1,2}(?=[A-Za-z0-9+/]{4,}))*
        [A-Za-z0-9+/_-]{16,}={0,2}
    """,
    "hex": r"(?<![0-9A-Za-z])(?:0x|\\x)?(?:[0-9a-fA-F]{2}){12,}(?![0-9A-Za-z])",
    # Tokens of bots and tables: no sign of theirs is rare enough to look for it first.
    "dotted": r"""
        (?:(?<![A-Za-z0-9_.-])|(?<=%3D)|(?<=%20)|(?<=\\n))(?:
              [MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![\w-])
            | pat[A-Za-z0-9]{14}\.[0-9a-f]{32,}
        )
    """,
    "cookies": r"""
        (?i)
        (?P<keep>
            (?:set-)?cookies?\\*[\"']?\]?(?:[ \t]{0,4}[:=][ \t]{0,4}|,[ ]{0,2})\\*[\"'`]?
        )(?P<pairs>
            [\w.%$-]{1,80}=[^\s;\"'`\\,<>()]{1,4096}
            (?:;[ \t]?[\w.%$-]{1,80}(?:=[^\s;\"'`\\]{0,4096})?){0,80}
        )
    """,
    "basic": r"""
        (?i)
        (?P<keep>
              (?<![a-z])basic[ \t]{1,4}
            | [\"']_?auth\\*[\"'][ \t]{0,2}:\s{0,8}\\*[\"']
            | (?<![\w])_auth[ \t]{0,2}=[ \t]{0,2}
        )(?P<value>[A-Za-z0-9+/]{6,2000}={0,2})
    """,
    # Signs before and after a value on a command line, also one in a JSON text.
    "quote": r"\\*[\"']?",
    "word": r"[^\s\"'\\]{1,256}",
    "unquoted": r"(?:(?<=')[^'\n]{1,256}|(?<=\")[^\"\n\\]{1,256}|<<word>>)",
    "after p": r"(?P<keep>(?<!\S)-p[ =]?<<quote>>)(?![-$<{])(?P<value><<unquoted>>)",
    # What is piped into a program that reads a password: `echo X | sudo -S`, `echo user:X | chpasswd`.
    "piped": r"""
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
    """,
    "here": r"""
        (?P<keep>
            (?:--password-stdin|--with-token|sudo[ ]-S)[^\n<]{0,80}<{3}[ \t]{0,4}\\*[\"']?
        )(?![$<])(?P<value>[^\s\"'\\]{1,256})
    """,
    "arguments": r"""
        (?P<arguments>
            [ \t](?:[^\n;|\\\"'&]|\\[\s\S]|\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'|[\"']|&(?!&)){1,1500}
        )
    """,
    # Names that often stand for something else: their value is a secret only where it looks random.
    "weak": r"""
        (?i)
          credentials?|creds
        | (?:
                license|licence|master|consumer|deploy|bot|rsa|ssh|anon|ingest
              | write|read|dsa|aes|crypto|cipher|app|application|client|gpg
              | jwt|admin|shared|service[_-]?role|storage|webhook|hmac
              | functions?|account|subscription
          )[_ -]?key
        | .*sess.*|cookie|dsn|connectionstring
    """,
    "suffix": r"""
        (?:
            [_-]?(?:
                  key|base|hash|value|prod|production|dev|test|staging|live|old
                | new|current|plain|text|data|default|string|[a-f]
                | id(?=[\"']?:[ ]?[\"'][0-9a-f]{8}-)
            )
        ){0,2}[0-9]{0,2}
    """,
    "type": r"""
        (?:
              str(?:ing)?|bytes|text|secretstr|any|varchar|char|final
            | optional\[str\]
            | str[ ]?\|[ ]?none
            | final\[str\]
            | &?(?:'static[ ])?str
            | string\?
        )
    """,
    "sign": r"""
        (?:[ \t]{1,4}(?:string|str|text|\[\]byte|char\[\]))?[ \t]{0,20}
        (?:=>|:=|\?=|\+=|=(?!=)|:[ \t]{0,4}<<type>>[ \t]{0,4}=(?!=)|:(?!:)|：|%3[AaDd])[ \t]{0,20}
    """,
    "assigned": r"""
        (?:
              (?:[bfru@]{0,2}|\|[ \t]*\\?\n[ \t]*)(?P<quote>\\*(?:\"\"\"|'''|[\"'`]))
              (?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n\\]))*)
            | (?P<bare>[^\s\"'`,;&\\]+)
        )
    """,
    "placeholder": r"""
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
    """,
    "expression": r"""
          \$[A-Za-z_{(]|[<{(\[*|]|%[a-z(]|[)]
        | [A-Za-z_][\w.]*(?:[(\[]|::\w|->|\?\.)
        | &?[A-Za-z_]\w*\*?\)
        | @|\.\.|!\w+[( ]|/[*/]|→
    """,
    "own name": r"""
        (?i)
          [a-z_.$]*(?:pass|pwd|secret|token|key|cred)[a-z_.]*[):,]*
        | self\.[\w.]+|this\.[\w.]+|args\.[\w.]+
        | (?:
                config|settings|options?|opts|env|process|request|req|user|cfg
              | ctx|props|data|form|body|params?|values?|state|event|row|entry
              | result|response|resp|credentials?|auth
          )\.[\w.]+
    """,
    "random": r"""
          (?=[^\n]{0,200}[0-9])(?=[^\n]{0,200}[A-Za-z])[^\s\"'<>{}()$\[\]]{8,}
        | [A-Za-z]{24,}
    """,
    # What a text says that is shown to people, and no secret.
    "message": r"""
          [.:,;!?)][ ]|[:.!?]$|\{|%s
        | (?i:\b(?:is|the|your|must|for|not|required|invalid|enter|password|token|key|secret)\b)
    """,
    "after an option": r"""
        (?i)
          option|flags?|to|is|or|and|argument|parameter|param|in|for
        | with|from|as|was|when|must|should|can|will|if|value|because|of
        | on|at|not|does|doesn't
        | [a-z]{1,3}[.,:;)]
    """,
    "password": r"""
          pass(?:word|phrase|code|wort|wd)s?
        | pwd|kennwort
        | парол[ьяеюём]{1,2}
        | contrase[ñn]a|senha|mot[ ]de[ ]passe|has[łl]o|wachtwoord
        | parola|login[ ]data
        | (?<![a-z])pin(?:[ -]?code)?
        | пин-код
    """,
    "token": r"""
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
    """,
    "of": r"""
        (?:
            [ \t]{1,2}(?:
                  for|of|to|on|at|from|in|für|fürs|von|zu|zum|vom|des|der|для|от
                | к|de|del|du|pour|para|di|per|here|there|i[ ]use|we[ ]use
                | you[ ]need
            )(?:[ \t]{1,2}[^\s:=]{1,40}){0,4}?
        )?
    """,
    "link": r"""
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
    """,
    "told": r"""
        (?P<open>[\"'`«“„‘*_]{0,3})(?P<value>[^\s\"'`«»“”„’<>|]{3,256})
        (?=(?P<tail>[\"'`»”“’]?(?:[ \t]{1,2}[^\W\d_]{2,12})?))
    """,
    "spoken": r"""
        (?i)
        (?<![a-z_/.$-])(?P<name>(?P<pass><<password>>)|<<token>>)(?![a-z_(\[=.])
        (?:[ \t]{0,2}\([^()\n]{1,40}\)|['’]s(?=[ \t]))?(?P<link><<of>><<link>>)<<told>>
    """,
    # What carries digits in technical prose and is no secret.
    "technical": r"""
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
    """,
    "code": r"""
          \[masked\]
        | [${<(\[%&|\\#+*].*
        | .*[(\[{}=].*|.*::.*|\w+->.*
        | [a-z_]+\.[a-z_]\w*(?:\.\w+)*
        | [^\w]+|--?[a-z].*|@[\w/-]+|[xX*.•●]+
    """,
    # What is counted where a number follows: `the password is 12 characters long`.
    "unit": r"""
        (?i)
        \s+(?:
              char|digit|letter|byte|bit|symbol|day|hour|minute|second|week
            | month|year|word|time|zeichen|ziffer|tage|stunde|minuten|символ
            | знак|caract|or|to|more|different|field|line|user|token|entr
            | item|item|out|of|per|percent|stelle|attempt|tries
        )
    """,
    "words": r"(?:(?:[0-9]{1,2}[.):][ \t]{0,2})?[a-z]{3,10}[\s,;|-]{1,4}){11,24}",
    "phrase": r"""
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
    """,
    "login": r"""
        (?i)
        (?P<keep>
            (?<![a-z_-])(?:
                  credentials?|creds|logins?|log[ -]in|zugangsdaten|anmeldung
                | user(?:name)?[ ]?(?:/|and|&|:)[ ]?pass(?:word|wd)?
                | логин/пароль
            )(?:[ \t]{1,2}(?:are|is|sind|with|as|data|for[ ]\S{1,30}))?[ \t]{0,2}[:=]?
            [ \t]{1,3}[\"'`(]{0,2}[\w.@+-]{1,64}[ ]?[:/][ ]?
        )(?P<value>(?!//)[^\s\"'`<>,:/]{4,128})
    """,
}

# Prefixes, and what follows them: only prefixes that are in the text are compiled.
PREFIXED: tuple[Entry, ...] = (
    (
        tuple(
            """
            ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glft- glcbt- glimt-
            glsoat- glptt- glagent- gloas- GR1348941 sk_live_ sk_test_ rk_live_ rk_test_
            pk_live_ pk_test_ whsec_ ya29. GOCSPX- xkeysib- xsmtpsib- AIza sq0atp-
            sq0csp- sq0idp- lin_api_ lin_oauth_ figd_ figo_ figor_ PMAK- PMAT- glsa_
            glc_ dckr_pat_ dckr_oat_ CFPAT- sntrys_ sntryu_ nvapi- tskey- rubygems_
            clojars_ CLOJARS_ pscale_tkn_ pscale_oauth_ pscale_pw_ shippo_live_
            shippo_test_ duffel_live_ duffel_test_ rzp_live_ rzp_test_ sb_secret_
            lsv2_pt_ lsv2_sk_ tgp_v1_ pcsk_ ddp_ ddw_ bkua_ bkpt_ sgp_ CCIPAT_ CCIPRJ_
            rdme_ tfp_ pnu_ FLWSECK_TEST- FLWSECK- FLWPUBK- doo_v1_ dop_v1_ dor_v1_
            HRKU- FlyV1- fm1r_ fm1a_ fm2_ fo1_ nfp_ nfc_ nfo_ nfu_ nfb_ sha256~ fio-u-
            s-s4t2ud- s-s4t2af- hvs. hvb. hvr. dt0c01. dt0s16. dp.pt. dp.st. dp.ct.
            dp.sa. dp.scim. dp.audit. amzn.mws. cmVmdGtu AKCp sm_aat_ sm_pat_ sm_sat_
            dckr_ access_token$production$ gsk_ ngrok_ apify_api_ secret-token:
            EAACEdEose0cBA cal_live_ ntn_ ak_live_
            """.split()
        ),
        r"[A-Za-z0-9_-]{16,}",
    ),
    (
        tuple(
            """
            sk- sk_ key- rk- rnd_ fw_ api_org_ vcp_ vci_ vca_ vcr_ vck_ sdk- mob- pul-
            uk- gr_ ops- pat- pk- ak- sl.
            """.split()
        ),
        r"<<digit>>[A-Za-z0-9_-]{16,}",
    ),
    (
        tuple(
            """
            csk- fc- sess- jina_ tvly- phc_ phx_ rpa_ atp_ snk_ brv_ e2b_ nvs_ ctp_
            nntp_ whk_ whpk_ hfp_ pat_ ops_ ico- tk-us- napi_ sbp_ ctx7sk- cio_ lf_sk_
            ELAK- CFAT- patat. mt_live_ ak_live_
            """.split()
        ),
        r"(?=[A-Za-z]{0,30}[0-9])[A-Za-z0-9-]{20,}",
    ),
    (
        tuple(
            """
            pplx- xai- npm_ hf_ r8_ secret_ EAA oy2 cio SK_ re_
            """.split()
        ),
        r"[A-Za-z0-9]{30,}",
    ),
    (
        ("squ_", "sqp_", "sqa_", "re_", "EZAK", "EZTK", "LTAI", "AKID", "AQVN"),
        r"(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9_]{16,}",
    ),
    (("pypi-",), r"[A-Za-z0-9_-]{16,}"),
    (("dapi", "dkea", "ddapi"), r"[0-9a-f]{32,}(?:-[0-9])?"),
    (("shpat_", "shpss_", "shpca_", "shppa_", "shptka_"), r"[A-Fa-f0-9]{16,}"),
    (("AKIA", "ASIA", "ABIA", "ACCA", "A3T", "ABSK"), r"[A-Z0-9]{12,}"),
    (("ABSK",), r"[A-Za-z0-9+/=_-]{20,}"),
    (("ATATT3x", "ATCTT3x", "ATBB", "ATOA", "ATSTT"), r"[A-Za-z0-9=_-]{20,}"),
    (
        tuple(
            """
            xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xoxp- xoxe.xoxb-
            xapp-
            """.split()
        ),
        r"[A-Za-z0-9-]{8,}",
    ),
    (("NRAK-", "NRRA-", "NRAA-", "NRII-", "NRIQ-", "NRJS-"), r"[A-Za-z0-9]{20,}"),
    (("SG.",), r"[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    (("AGE-SECRET-KEY-1", "AGE-PLUGIN-", "xprv", "yprv", "zprv", "nsec1"), r"[0-9A-Za-z]{50,}"),
    (("api-", "access-sandbox-", "access-development-", "access-production-"), r"[0-9a-f-]{36}"),
    (("SK",), r"[0-9a-f]{32}(?![0-9a-z])"),
    (("1//0", "4/0A"), r"[A-Za-z0-9_/-]{30,}"),
    (("AAAAAAAAAAAAAAAAAAAAA",), r"[A-Za-z0-9_%+/=-]{60,}"),
)

# Hints, and the pattern that is compiled once one of them is in the lower-case text.
FORMATS: tuple[Entry, ...] = (
    (
        ("hooks.", "webhook", "/hooks/", "maker.ifttt"),
        r"""
            (?i)
            (?P<keep>
                  hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/
                | discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/
                | [\w.-]{1,64}\.webhook\.office\.com/webhookb?2?/
                | hooks\.zapier\.com/hooks/catch/
                | maker\.ifttt\.com/trigger/[\w-]{1,64}/(?:json/)?with/key/
                | /hooks/(?=[\w-]{20})
            )[^\s"'<>)\]\\]{12,}
        """,
    ),
    (("://",), r"""(?P<keep>://[^/\s:@"'?#]{0,128}:)<<password in url>>[^/\s"'?#]{1,512}(?=@)"""),
    (
        ("://",),
        r"""
            (?i)
            (?P<keep>
                (?:
                      postgres(?:ql)?|mysql|mariadb|mongodb|redis|rediss|amqps?
                    | ftps?|s?ftp|smb|ldaps?|mssql|clickhouse|https?
                )(?:\+\w{1,16})?://[^/\s:@"'?#]{0,128}:
            )<<password in url>>[^\s"'@:]{1,256}(?=@[\w.-]{1,255}(?:[:/\s]|$))
        """,
    ),
    (
        ("://",),
        r"""
            (?P<keep>://)(?=[^/\s:@"'?#]{8,512}(?::[^/\s:@"'?#]{0,64})?@)
            (?:
                  (?=[^/\s:@"'?#]{0,40}[0-9])[^/\s:@"'?#]{14,512}
                | (?=[^/\s:@"'?#]{0,40}[0-9])(?=[a-z0-9]{0,40}[A-Z])[^/\s:@"'?#]{8,512}
                | (?=[A-Za-z]{0,40}[a-z][A-Z])[A-Za-z_-]{16,512}
                | [A-Za-z_-]{24,512}
            )(?=(?::[^/\s:@"'?#]{0,64})?@[\w.\[-])
        """,
    ),
    (
        tuple(
            """
            x-amz- sig token= key= code= auth= hash= secret= pass
            """.split()
        ),
        r"""
            (?i)
            (?P<keep>
                (?:[?&;]|&amp;|%26|%3F|^)(?:
                      x-(?:amz|goog|oss)-(?:signature|security-token|credential)
                    | sig(?:nature)?|access_?token|id_token|refresh_token
                    | auth_?token|code|key|auth(?:key)?|hmac|hash|sign|st
                    | pass(?:word)?|pwd|secret
                    | oauth_(?:signature|token)
                    | apikey|subscription-key
                )(?:=|%3D)
            )(?=[^\s"'<>&#;]{0,60}[0-9])(?=[^\s"'<>&#;]{0,60}[A-Za-z])
            (?!\$|<|\{|%7B|\[masked)[^\s"'<>&#;\\)\]`]{12,}
        """,
    ),
    (("sig=",), r"(?P<keep>(?<![A-Za-z0-9])sig=)[A-Za-z0-9%+/=_-]{20,}"),
    (
        ("signature",),
        r"""
            (?i)
            (?P<keep>signature=\\*["']?)(?=[a-z+/%=_-]{0,40}[0-9])[A-Za-z0-9+/%=_-]{32,}
        """,
    ),
    (
        ("eyj",),
        r"""
            (?:(?<![A-Za-z0-9+/])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))eyJ[A-Za-z0-9_-]{16,}
            (?:\.[A-Za-z0-9_-]*){0,4}={0,2}
        """,
    ),
    (("flyv1",), r"FlyV1[ ][A-Za-z0-9_,+/=-]{20,}"),
    (
        (":aa",),
        r"""
              <<edge>>(?:(?<=bot)|)[0-9]{6,12}:AA[A-Za-z0-9_-]{30,40}
            | (?<=bot)[0-9]{6,12}:AA[A-Za-z0-9_-]{30,40}
        """,
    ),
    (("-us",), r"<<edge>>[0-9a-f]{32}-us[0-9]{1,2}(?![0-9])"),
    (("fffnral",), r"<<edge>>[0-9a-f]{30,36}FFFFNRAL"),
    ((".atlasv1.",), r"<<edge>>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    (("q~",), r"(?<![A-Za-z0-9_.~-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,36}"),
    (("1000.",), r"<<edge>>1000\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    (("a3-",), r"<<edge>>A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    (("00d",), r"<<edge>>00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{40,}"),
    (("v1.0-",), r"<<edge>>v1\.0-[0-9a-f]{20,}-[0-9a-f]{40,}"),
    (("t1.",), r"<<edge>>t1\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{40,}={0,2}"),
    (
        ("$1$", "$2", "$5$", "$6$", "$y$", "$argon", "$apr1"),
        r"""
            \$(?:1|2[abxy]|5|6|y|argon2(?:i|d|id)|apr1)\$[^\s:,;"'`<>$]{1,80}
            (?:\$[^\s:,;"'`<>$]{4,}){1,3}
        """,
    ),
    (
        ("authorization",),
        r"""
            (?i)
            (?P<keep>
                authorization\\*["']?\]?(?:[ \t]{0,4}(?:[:=]|=>|,)|%3A)[ \t]{0,4}
                (?:\\*["'`])?f?(?:
                    (?:
                          bearer|basic|token
                        | digest(?!.(?:username|realm))
                        | apikey|api-key|negotiate|ntlm|ssws|key|geniekey|splunk|dpop
                        | oauth|bot|hmac|jwt|aws4-hmac-sha256
                        | shared[a-z]{2,32}
                        | [a-z][a-z-]{1,24}(?=[ \t]+[^\s"'\\,;]{0,40}[0-9])
                    )(?:[ \t]{1,4}|%20|\+)
                )
            )(?![$<{%])(?:(?:username|credential|realm)=)?[^\s"'\\,;`]+
        """,
    ),
    (
        ("authorization",),
        r"""
            (?i)
            (?P<keep>authorization\\*["']?\]?[ \t]{0,4}[:=][ \t]{0,4}(?:\\*["'`])?)
            (?![$<{\[])(?=[^\s"'\\,;(]{0,60}[0-9])[^\s"'\\,;`(]{12,}(?![(\w])
        """,
    ),
    (("response=",), r'(?P<keep>(?<![A-Za-z])response=\\*")[0-9a-f]{16,}'),
    (
        ("bearer",),
        r"""
            (?i)
            (?P<keep>bearer[ \t]{1,4})
            (?:(?=[a-z._~+/=-]{0,64}[0-9])[a-z0-9._~+/=-]{8,}|[a-z0-9._~+/=-]{24,})
        """,
    ),
    (
        ("identified", "password", "passwort"),
        r"""
            (?i)
            (?P<keep>
                (?:
                      identified(?:[ \t]{1,4}with[ \t]{1,4}[\w"']{1,40})?[ \t]{1,4}by
                    | (?:with|encrypted|set|user|role|<<sql user>>)[ \t]{1,4}password
                      (?:[ \t]{1,4}(?:to|for[ \t]{1,4}[\w@'"]{1,80}[ \t]{0,4}=))?
                )[ \t]{1,4}\\*['"]
            )[^'"\\\s]{1,256}
        """,
    ),
    (
        ("password(", "securestring", "requirepass", "masterauth"),
        r"""
            (?i)
            (?P<keep>
                  (?-i:\bPASSWORD)\([ ]?\\*['"]
                | ConvertTo-SecureString[ \t]{1,4}(?:-String[ \t]{1,4})?['"]
                | (?<![a-z])(?:requirepass|masterauth)[ \t]{1,4}["']?
            )(?![$<\[])[^\s"'\\]{1,256}
        """,
    ),
    (
        ("machine", "default"),
        r"""
            (?i)
            (?P<keep>
                (?<![\w-])(?:
                      machine(?:[ \t\n]|\\n){1,8}[^\s\\]{1,255}
                    | default(?=(?:[ \t\r\n]|\\[rnt]){1,8}(?:login|account)\b)
                )(?:
                    (?:[ \t\r\n]|\\[rnt]){1,8}(?:login|account)(?:[ \t]|\\t){1,8}[^\s\\]{1,255}
                ){0,2}(?:[ \t\r\n]|\\[rnt]){1,8}password(?:[ \t]|\\t){1,8}
            )[^\s\\"']{1,255}
        """,
    ),
    (
        ("login",),
        r"""
            (?i)
            (?P<keep>
                (?<![\w-])login[ \t]{1,4}[^\s]{1,128}[ \t\n]{1,8}password[ \t]{1,4}
            )(?=[^\s]{0,40}[0-9@#$%^&*!])[^\s"']{4,255}
        """,
    ),
    (
        (":5432:", ":5433:", ":*:"),
        r"""
            (?m)
            (?P<keep>^[\w.*-]{1,255}:(?:543[0-9]|6432|\*):[\w*-]{1,64}:[\w*.-]{1,64}:)
            \S{1,255}$
        """,
    ),
)

# Programs, and the pattern within their arguments.
COMMANDS: tuple[Entry, ...] = (
    (
        ("curl", "wget", "http", "https", "xh"),
        r"""
            (?P<keep>
                (?<!\S)(?:-u|-U|-a|--auth|--user|--proxy-user|-E|--cert)[ =]?<<quote>>
                [^\s:\"'\\$]{0,128}:
            )(?![$/<{])(?P<value><<unquoted>>|[^\s\"'\\]{1,256})
        """,
    ),
    (("curl",), r"(?P<keep>(?<!\S)(?:-b|--cookie)[ =]?<<quote>>[\w.-]{1,64}=)(?P<value>[^\n\"'\s]{4,512})"),
    (("curl",), r"(?P<keep>(?<!\S)--(?:oauth2-bearer|pass)[ =]<<quote>>)(?P<value><<word>>)"),
    (
        tuple(
            """
            mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlsh mariadb
            mariadb-dump mariadb-admin mycli xtrabackup
            """.split()
        ),
        r"(?P<keep>(?<!\S)-p<<quote>>)(?![$<{])(?P<value><<unquoted>>)",
    ),
    (("sshpass",), r"<<after p>>"),
    (
        ("redis-cli", "iredis", "valkey-cli"),
        r"(?P<keep>(?<!\S)(?:-a|--pass|AUTH)[ =]<<quote>>)(?![$<{])(?P<value><<unquoted>>)",
    ),
    (
        tuple(
            """
            mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat
            mongotop
            """.split()
        ),
        r"<<after p>>",
    ),
    (
        tuple(
            """
            ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldappasswd ldapcompare
            """.split()
        ),
        r"(?P<keep>(?<!\S)-[ws][ ]?<<quote>>)(?!base|sub|one)(?![-$<{])(?P<value><<unquoted>>)",
    ),
    (
        tuple(
            """
            smbclient rpcclient net smbmap smbget smbcacls wmic winexe pth-smbclient
            """.split()
        ),
        r"(?P<keep>(?<!\S)(?:-U|--user)[ =]?<<quote>>[^\s%\"'\\]{1,128}%)(?P<value><<word>>)",
    ),
    (("mount", "mount.cifs", "sshfs"), r"(?P<keep>(?:pass|password)=)(?P<value>[^\s,\"'\\]{1,256})"),
    (("openssl",), r"(?P<keep>(?<!\S)(?:-pass(?:in|out)?|-pwd)[ =]<<quote>>pass:)(?![$<{])(?P<value><<word>>)"),
    (("openssl",), r"(?P<keep>(?<!\S)-k[ ]<<quote>>)(?![-$<{])(?P<value><<word>>)"),
    (
        ("htpasswd",),
        r"""
            (?P<keep>
                (?<!\S)-[A-Za-z]*b[A-Za-z]*[ ](?:-\S+[ ])*(?:\S+[ ])?\S+[ ]<<quote>>
            )(?![$<{])(?P<value><<word>>)(?=[\"'\\]*\s*$)
        """,
    ),
    (
        ("htpasswd",),
        r"""
            (?P<keep>(?<!\S)-[A-Za-z]*n[A-Za-z]*b?[A-Za-z]*[ ]\S+[ ]<<quote>>)(?![$<{])
            (?P<value><<word>>)(?=[\"'\\]*\s*$)
        """,
    ),
    (
        tuple(
            """
            docker podman helm skopeo nerdctl crane buildah oras az oc cqlsh twine kinit
            evil-winrm winrs ibmcloud cf ncftp ncftpget ansible influx nxc crackmapexec
            netexec vncviewer heroku mosh dbaccess clickhouse-client
            """.split()
        ),
        r"""
              (?<=login).*?(?P<keep>(?<!\S)-p[ =]?<<quote>>)(?![-$<{])(?P<value><<unquoted>>)
            | (?P<keep2>
                  \A(?!
                      .*(?:
                            login|run|exec|create|build|compose|up|logs|inspect|start
                          | top|ps|volume|push
                      )\b
                  ).*?(?<!\S)-p[ =]<<quote>>
              )(?![-$<{\d])(?P<value2><<unquoted>>)
        """,
    ),
    (("zip", "unzip"), r"(?P<keep>(?<!\S)-P[ ]?<<quote>>)(?![-$<{])(?P<value><<unquoted>>)"),
    (("7z", "7za", "7zz", "7zr", "unrar", "rar"), r"(?P<keep>(?<!\S)-h?p<<quote>>)(?![-$<{])(?P<value><<unquoted>>)"),
    (
        tuple(
            """
            sqlcmd bcp mosquitto_pub mosquitto_sub mosquitto_rr ipmitool tsql isql
            """.split()
        ),
        r"(?P<keep>(?<!\S)-P[ ]?<<quote>>)(?![-$<{])(?P<value><<unquoted>>)",
    ),
    (("mosquitto_passwd",), r"(?P<keep>(?<!\S)-b[ ]\S+[ ]\S+[ ]<<quote>>)(?P<value><<word>>)"),
    (
        ("snmpwalk", "snmpget", "snmpset", "snmpbulkwalk"),
        r"(?P<keep>(?<!\S)-[AXc][ ]<<quote>>)(?![-$<{])(?P<value><<word>>)",
    ),
    (
        ("sqlplus", "exp", "imp", "expdp", "impdp", "sqlldr"),
        r"""
            (?P<keep>(?<!\S)[\w$#]{1,64}/<<quote>>)(?![$<{/])
            (?P<value>[^\s@\"'\\]{1,128})(?=[\"'\\]*(?:@|\s|$))
        """,
    ),
    (("lftp",), r"(?P<keep>(?<!\S)-u[ ]<<quote>>[^\s,]{1,64},)(?P<value><<word>>)"),
    (
        ("rabbitmqctl",),
        r"""
            (?P<keep>
                (?:add_user|change_password|authenticate_user)[ ]\S{1,64}[ ]<<quote>>
            )(?P<value><<word>>)
        """,
    ),
    (
        ("wpa_passphrase", "rclone"),
        r"""
            (?P<keep>\A[ ](?:obscure|(?!config|copy|sync|ls|mount)\S{1,64})[ ]<<quote>>)
            (?![-$<{])(?P<value><<word>>)(?=[\"'\\]*\s*$)
        """,
    ),
    (
        ("cmdkey", "xfreerdp", "wfreerdp", "freerdp", "winrs"),
        r"(?i)(?P<keep>(?<!\S)/p(?:ass(?:word)?)?:<<quote>>)(?P<value><<word>>)",
    ),
    (
        ("net",),
        r"""
            (?i)
            (?P<keep>\A[ ](?:user[ ]\S{1,64}|use[ ](?=.*/user:)\S+(?:[ ]\\\\\S+)?)[ ])
            (?![-/*$\\])(?P<value><<word>>)
        """,
    ),
    (("net",), r"(?i)(?P<keep>\A[ ]use[ ].*/user:\S{1,64}[ ])(?![-/*$\\])(?P<value><<word>>)"),
    (("vault",), r"(?P<keep>\A[ ]login[ ](?:-\S+[ ])*)(?![-$<{])(?P<value><<word>>)"),
    (("vault",), r"(?P<keep>\A[ ](?:kv[ ]put|write)[ ].*?[ ](?:value|pw|pass)=)(?P<value>[^\s\"'\\]{1,256})"),
    (("kubectl", "oc"), r"(?P<keep>--from-literal[ =]<<quote>>[\w.-]{1,128}=)(?![$<{])(?P<value><<unquoted>>)"),
    (("gpg", "gpg2", "age"), r"(?P<keep>--passphrase[ =]<<quote>>)(?![$<{])(?P<value><<unquoted>>)"),
    (
        ("keytool", "jarsigner"),
        r"""
            (?P<keep>
                -(?:store|key|srcstore|deststore|srckey|destkey)pass(?:word)?[ ]<<quote>>
            )(?![$<{])(?P<value><<unquoted>>)
        """,
    ),
    (("nmcli",), r"(?P<keep>(?:password|psk)[ ]<<quote>>)(?P<value><<unquoted>>)"),
    (
        tuple(
            """
            iex mix npm pnpm yarn git gh hf huggingface-cli wrangler flyctl fly doctl
            glab wandb sentry-cli
            """.split()
        ),
        r"""
            (?P<keep>
                (?:
                      (?:
                            _auth|auth|_password|:_authToken|login|insteadOf|extraheader
                          | relogin
                      )[ =]
                    | --token[ =]
                )<<quote>>
            )(?![-$<{])(?=[^\s]{0,60}[0-9])(?P<value>[^\s\"'\\:/]{12,256})
        """,
    ),
    (
        ("security",),
        r"""
            (?P<keep>
                (?:
                      unlock-keychain
                    | add-generic-password
                    | add-internet-password
                    | set-key-partition-list
                    | import
                )[ ].*?(?<!\S)-[wpkP][ ]<<quote>>
            )(?![-$<{/])(?P<value><<unquoted>>)
        """,
    ),
    (("useradd", "usermod"), r"(?P<keep>(?<!\S)-p[ ]<<quote>>)(?![-$<{])(?P<value><<unquoted>>)"),
)

# Hints, and the pattern of a name: only names whose hint is in the lower-case text are compiled.
PASSWORDS: tuple[Entry, ...] = (
    (("pass",), r"pass(?:word|wd|phrase|code|wrd|wort)|passw(?=\\*[\"']?[ \t]{0,4}[:=])"),
    (("pwd",), r"pwd"),
    (("kennwort",), r"kennwort"),
    (("парол",), r"парол[ьяюей]{1,2}"),
    (("contrase",), r"contrase[ñn]a"),
    (("senha",), r"senha"),
    (("mot",), r"mot[ _-]?de[ _-]?passe"),
    (("has",), r"has[łl]o"),
    (("密",), r"密[码碼]"),
    (("パスワード",), r"パスワード"),
    (("비밀번호",), r"비밀번호"),
    (("wachtwoord",), r"wachtwoord"),
    (("lösenord",), r"lösenord"),
    (("parola",), r"parola"),
    (("salasana",), r"salasana"),
    (("heslo",), r"heslo"),
)

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
    (("ключ",), r"(?:api|апи)[ -]ключ|ключ[ -](?:api|доступа)"),
    (("schl",), r"(?:api|zugriffs|zugangs|geheimer)[ -]?schl(?:ü|ue)ssel"),
    (("cl",), r"cl(?:é|ef|ave)[ _-](?:api|secr[eè]te|de[ ]api|secreta|d'api|de[ ]l'api)"),
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
    (("sess",), r"(?:php|j|asp)sess(?:ion)?id"),
    (("apikey",), r"apikey"),
    (("connectionstring",), r"connectionstring"),
)

# Hints, and where a value stands after a name, which <<names>> stands for, without a sign of assignment.
VALUES_WITHOUT_A_SIGN: tuple[Entry, ...] = (
    (
        ("</", "/>"),
        r"""
            (?i)
            <(?:[\w.-]{1,40}:)?[\w.-]{0,40}?(?P<name><<names>>)[\w-]{0,16}
            (?:\s[^<>\n]{0,200})?>(?:<!\[CDATA\[)?(?P<bare>[^<>\n]{1,2000})(?=\]\]>|</)
        """,
    ),
    (
        ("</", "/>"),
        r"""
            (?i)
            <(?:key|string|name|entry|property|item)\b(?:[^<>\n]{0,200}>)?[^<>\n]{0,80}?
            (?P<name><<names>>)\\*[\"']?(?:>|</(?:key|name)>\s{0,40}<(?:string|value)>)
            (?P<bare>[^<>\n]{1,2000})(?=</)
        """,
    ),
    (
        ("value", "content"),
        r"""
            (?i)
            (?P<name><<names>>)\\*[\"']?(?:,?(?:\s|\\n){0,40}|/?>\s{0,40}<)\\*[\"']?
            (?:value|content|stringvalue)\\*[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\*[\"']?
            (?P<bare>(?!from)[^\s\"'\\<>,]{1,2000})
        """,
    ),
    (
        ("-",),
        r"""
            (?i)
            (?<![\w-])(?:--?(?=[a-z])|/)[a-z-]{0,32}(?P<name><<names>>)
            (?P<flag>[ \t]{1,4}|:(?=\S))\\*[\"']?(?![-$<>&|])(?P<bare>[^\s\"'\\]+)
        """,
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
    ),
    (
        ('"', "'"),
        r"""
            (?i)
            (?P<name><<names>>)\\*[\"'](?P<pair>,[ \t]{0,4})\\*[\"']
            (?P<bare>[^\s\"'\\]{1,512})(?=\\*[\"'])
        """,
    ),
    (
        ("=",),
        r"""
            (?m)
            ^[ \t]*(?:export[ \t]+|ENV[ \t]+|set[ \t]+)?
            (?P<name>[A-Z][A-Z0-9_]{0,60}?(?i:<<names>>))=(?P<env>)
            (?P<bare>[^\s\"'`$\\,;][^\s\"'`\\]*)
        """,
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

# One of these, in lower case, is in every sentence that names a password, a token or a key.
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
LOGIN_HINTS = frozenset({"cred", "login", "log in", "log-in", "user", "zugangsdaten", "anmeldung", "логин"})

# One of these is before the words of a wallet.
PHRASE_HINTS = frozenset({"seed", "mnemonic", "phrase", "wallet", "backup", "recovery", "фраз"})

# Of what is piped, of cookies, and of base64 of user and password.
OTHER_HINTS = frozenset({"echo", "printf", "<<<", "cookie", "basic", "auth"})
