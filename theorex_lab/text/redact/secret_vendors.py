"""Secrets that are known by their own shape.

Those are the prefixes of vendors' keys, and formats. The patterns are verbose, and name
others of `secret_patterns.PATTERNS`.
"""

from theorex_lab.text.redact.secret_patterns import Entry

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
            shippo_test_ duffel_live_ duffel_test_ sb_secret_
            lsv2_pt_ lsv2_sk_ tgp_v1_ pcsk_ ddp_ ddw_ bkua_ bkpt_ sgp_ CCIPAT_ CCIPRJ_
            rdme_ tfp_ pnu_ FLWSECK_TEST- FLWSECK- FLWPUBK- doo_v1_ dop_v1_ dor_v1_
            HRKU- FlyV1- fm1r_ fm1a_ fm2_ fo1_ nfp_ nfc_ nfo_ nfu_ nfb_ sha256~ fio-u-
            s-s4t2ud- s-s4t2af- hvs. hvb. hvr. dt0c01. dt0s16. dp.pt. dp.st. dp.ct.
            dp.sa. dp.scim. dp.audit. amzn.mws. cmVmdGtu AKCp sm_aat_ sm_pat_ sm_sat_
            dckr_ gsk_ ngrok_ apify_api_
            cfk_ cfut_ cfat_ packagist_ glffct- xaat- xapt- GOOG1E
            ory_at_ ory_rt_ ory_ac_ WPL_AP1. AVNS_ dG9rO secret-token: EAACEdEose0cBA
            cal_live_ ntn_ ak_live_
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
    # Without a hyphen: a group of an event's id may begin with these digits.
    (("4b1d",), r"[A-Za-z0-9]{32,}"),
    (("rzp_live_", "rzp_test_"), r"[A-Za-z0-9]{14,}"),
    (("endr+",), r"[A-Za-z0-9]{16,}"),
    (("NRJS-",), r"[0-9a-f]{19,}"),
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
    (
        ("AGE-SECRET-KEY-1", "AGE-PLUGIN-", "xprv", "yprv", "zprv", "nsec1"),
        r"[0-9A-Za-z]{50,}",
    ),
    (
        ("api-", "access-sandbox-", "access-development-", "access-production-"),
        r"[0-9a-f-]{36}",
    ),
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
    (
        ("hook.", "hook/", "webhook"),
        r"""
            (?i)
            (?P<keep>
                ://[^\s"'<>]{0,120}hook[^\s"'<>/?#]{0,40}/(?:[a-z0-9.-]{1,12}/){0,4}
            )(?=[\w-]{0,40}[0-9])[\w-]{17,}(?:/[\w-]{17,}){0,3}
        """,
    ),
    (("pipedream.net/",), r"(?P<keep>\.m\.pipedream\.net/)[\w-]{16,}"),
    (("ycaj",), r"<<edge>>YCAJE[A-Za-z0-9_-]{20,}"),
    (("_mmk",), r"<<edge>>[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    (
        ("access_token$",),
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{12,}\$[0-9a-f]{24,}",
    ),
    (
        ("aqe",),
        r"<<edge>>AQE[A-Za-z0-9]{40,}-[A-Za-z0-9+/=]{16,}(?:-[A-Za-z0-9+/]{8,})?",
    ),
    (("$mysql$",), r"\$mysql\$A\$[0-9]{3}\*[0-9A-Za-z*]{40,}"),
    (
        ("://",),
        r"""(?P<keep>://[^/\s:@"'?#]{0,128}:)<<password in url>>[^/\s"'?#]{1,512}(?=@)""",
    ),
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
    (
        ("a3-",),
        r"<<edge>>A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
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
