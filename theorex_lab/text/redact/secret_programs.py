"""Programs that take a secret on their command lines, and where it stands.

The patterns are verbose, and name others of `secret_patterns.PATTERNS`.
"""

from theorex_lab.text.redact.secret_patterns import Entry

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
    (
        ("curl",),
        r"(?P<keep>(?<!\S)(?:-b|--cookie)[ =]?<<quote>>[\w.-]{1,64}=)(?P<value>[^\n\"'\s]{4,512})",
    ),
    (
        ("curl",),
        r"(?P<keep>(?<!\S)--(?:oauth2-bearer|pass)[ =]<<quote>>)(?P<value><<word>>)",
    ),
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
    (
        ("mount", "mount.cifs", "sshfs"),
        r"(?P<keep>(?:pass|password)=)(?P<value>[^\s,\"'\\]{1,256})",
    ),
    (
        ("openssl",),
        r"(?P<keep>(?<!\S)(?:-pass(?:in|out)?|-pwd)[ =]<<quote>>pass:)(?![$<{])(?P<value><<word>>)",
    ),
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
    (
        ("zip", "unzip"),
        r"(?P<keep>(?<!\S)-P[ ]?<<quote>>)(?![-$<{])(?P<value><<unquoted>>)",
    ),
    (
        ("7z", "7za", "7zz", "7zr", "unrar", "rar"),
        r"(?P<keep>(?<!\S)-h?p<<quote>>)(?![-$<{])(?P<value><<unquoted>>)",
    ),
    (
        tuple(
            """
            sqlcmd bcp mosquitto_pub mosquitto_sub mosquitto_rr ipmitool tsql isql
            """.split()
        ),
        r"(?P<keep>(?<!\S)-P[ ]?<<quote>>)(?![-$<{])(?P<value><<unquoted>>)",
    ),
    (
        ("mosquitto_passwd",),
        r"(?P<keep>(?<!\S)-b[ ]\S+[ ]\S+[ ]<<quote>>)(?P<value><<word>>)",
    ),
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
    (
        ("net",),
        r"(?i)(?P<keep>\A[ ]use[ ].*/user:\S{1,64}[ ])(?![-/*$\\])(?P<value><<word>>)",
    ),
    (("vault",), r"(?P<keep>\A[ ]login[ ](?:-\S+[ ])*)(?![-$<{])(?P<value><<word>>)"),
    (
        ("vault",),
        r"(?P<keep>\A[ ](?:kv[ ]put|write)[ ].*?[ ](?:value|pw|pass)=)(?P<value>[^\s\"'\\]{1,256})",
    ),
    (
        ("kubectl", "oc"),
        r"(?P<keep>--from-literal[ =]<<quote>>[\w.-]{1,128}=)(?![$<{])(?P<value><<unquoted>>)",
    ),
    (
        ("gpg", "gpg2", "age"),
        r"(?P<keep>--passphrase[ =]<<quote>>)(?![$<{])(?P<value><<unquoted>>)",
    ),
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
    (
        ("useradd", "usermod"),
        r"(?P<keep>(?<!\S)-p[ ]<<quote>>)(?![-$<{])(?P<value><<unquoted>>)",
    ),
)
