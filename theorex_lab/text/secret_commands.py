"""Secrets on command lines: `curl -u user:X`, `mysql -pX`, `sshpass -p X`; each program has its own way of taking one."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

MASK = "[masked]"
# Signs before and after a value on a command line, also one in a JSON text.
_Q = r"\\*[\"']?"
_END = r"[^\s\"'\\]{1,256}"
_UNQUOTED = rf"(?:(?<=')[^'\n]{{1,256}}|(?<=\")[^\"\n\\]{{1,256}}|{_END})"
_AFTER_P = rf"(?P<keep>(?<!\S)-p[ =]?{_Q})(?![-$<{{])(?P<value>{_UNQUOTED})"
# (programs, pattern within the arguments): the value of group `value`, or all after `keep`, is the secret.
COMMANDS: tuple[tuple[str, str], ...] = (
    ("curl wget http https xh", rf"(?P<keep>(?<!\S)(?:-u|-U|-a|--auth|--user|--proxy-user|-E|--cert)[ =]?{_Q}[^\s:\"'\\$]{{0,128}}:)(?![$/<{{])(?P<value>{_UNQUOTED}|[^\s\"'\\]{{1,256}})"),
    ("curl", rf"(?P<keep>(?<!\S)(?:-b|--cookie)[ =]?{_Q}[\w.-]{{1,64}}=)(?P<value>[^\n\"'\s]{{4,512}})"),
    ("curl", rf"(?P<keep>(?<!\S)--(?:oauth2-bearer|pass)[ =]{_Q})(?P<value>{_END})"),
    ("mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlsh mariadb mariadb-dump mariadb-admin mycli xtrabackup", rf"(?P<keep>(?<!\S)-p{_Q})(?![$<{{])(?P<value>{_UNQUOTED})"),
    ("sshpass", _AFTER_P),
    ("redis-cli iredis valkey-cli", rf"(?P<keep>(?<!\S)(?:-a|--pass|AUTH)[ =]{_Q})(?![$<{{])(?P<value>{_UNQUOTED})"),
    ("mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop", _AFTER_P),
    ("ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldappasswd ldapcompare", rf"(?P<keep>(?<!\S)-[ws][ ]?{_Q})(?!base|sub|one)(?![-$<{{])(?P<value>{_UNQUOTED})"),
    ("smbclient rpcclient net smbmap smbget smbcacls wmic winexe pth-smbclient", rf"(?P<keep>(?<!\S)(?:-U|--user)[ =]?{_Q}[^\s%\"'\\]{{1,128}}%)(?P<value>{_END})"),
    ("mount mount.cifs sshfs", r"(?P<keep>(?:pass|password)=)(?P<value>[^\s,\"'\\]{1,256})"),
    ("openssl", rf"(?P<keep>(?<!\S)(?:-pass(?:in|out)?|-pwd)[ =]{_Q}pass:)(?![$<{{])(?P<value>{_END})"),
    ("openssl", rf"(?P<keep>(?<!\S)-k[ ]{_Q})(?![-$<{{])(?P<value>{_END})"),
    ("htpasswd", rf"(?P<keep>(?<!\S)-[A-Za-z]*b[A-Za-z]*[ ](?:-\S+[ ])*(?:\S+[ ])?\S+[ ]{_Q})(?![$<{{])(?P<value>{_END})(?=[\"'\\]*\s*$)"),
    ("htpasswd", rf"(?P<keep>(?<!\S)-[A-Za-z]*n[A-Za-z]*b?[A-Za-z]*[ ]\S+[ ]{_Q})(?![$<{{])(?P<value>{_END})(?=[\"'\\]*\s*$)"),
    ("docker podman helm skopeo nerdctl crane buildah oras az oc cqlsh twine kinit evil-winrm winrs ibmcloud cf ncftp ncftpget ansible influx nxc crackmapexec netexec vncviewer heroku mosh dbaccess clickhouse-client", rf"(?<=login).*?(?P<keep>(?<!\S)-p[ =]?{_Q})(?![-$<{{])(?P<value>{_UNQUOTED})|(?P<keep2>\A(?!.*(?:login|run|exec|create|build|compose|up|logs|inspect|start|top|ps|volume|push)\b).*?(?<!\S)-p[ =]{_Q})(?![-$<{{\d])(?P<value2>{_UNQUOTED})"),
    ("zip unzip", rf"(?P<keep>(?<!\S)-P[ ]?{_Q})(?![-$<{{])(?P<value>{_UNQUOTED})"),
    ("7z 7za 7zz 7zr unrar rar", rf"(?P<keep>(?<!\S)-h?p{_Q})(?![-$<{{])(?P<value>{_UNQUOTED})"),
    ("sqlcmd bcp mosquitto_pub mosquitto_sub mosquitto_rr ipmitool tsql isql", rf"(?P<keep>(?<!\S)-P[ ]?{_Q})(?![-$<{{])(?P<value>{_UNQUOTED})"),
    ("mosquitto_passwd", rf"(?P<keep>(?<!\S)-b[ ]\S+[ ]\S+[ ]{_Q})(?P<value>{_END})"),
    ("snmpwalk snmpget snmpset snmpbulkwalk", rf"(?P<keep>(?<!\S)-[AXc][ ]{_Q})(?![-$<{{])(?P<value>{_END})"),
    ("sqlplus exp imp expdp impdp sqlldr", rf"(?P<keep>(?<!\S)[\w$#]{{1,64}}/{_Q})(?![$<{{/])(?P<value>[^\s@\"'\\]{{1,128}})(?=[\"'\\]*(?:@|\s|$))"),
    ("lftp", rf"(?P<keep>(?<!\S)-u[ ]{_Q}[^\s,]{{1,64}},)(?P<value>{_END})"),
    ("rabbitmqctl", rf"(?P<keep>(?:add_user|change_password|authenticate_user)[ ]\S{{1,64}}[ ]{_Q})(?P<value>{_END})"),
    ("wpa_passphrase rclone", rf"(?P<keep>\A[ ](?:obscure|(?!config|copy|sync|ls|mount)\S{{1,64}})[ ]{_Q})(?![-$<{{])(?P<value>{_END})(?=[\"'\\]*\s*$)"),
    ("cmdkey xfreerdp wfreerdp freerdp winrs", rf"(?i)(?P<keep>(?<!\S)/p(?:ass(?:word)?)?:{_Q})(?P<value>{_END})"),
    ("net", rf"(?i)(?P<keep>\A[ ](?:user[ ]\S{{1,64}}|use[ ](?=.*/user:)\S+(?:[ ]\\\\\S+)?)[ ])(?![-/*$\\])(?P<value>{_END})"),
    ("net", rf"(?i)(?P<keep>\A[ ]use[ ].*/user:\S{{1,64}}[ ])(?![-/*$\\])(?P<value>{_END})"),
    ("vault", rf"(?P<keep>\A[ ]login[ ](?:-\S+[ ])*)(?![-$<{{])(?P<value>{_END})"),
    ("vault", r"(?P<keep>\A[ ](?:kv[ ]put|write)[ ].*?[ ](?:value|pw|pass)=)(?P<value>[^\s\"'\\]{1,256})"),
    ("kubectl oc", rf"(?P<keep>--from-literal[ =]{_Q}[\w.-]{{1,128}}=)(?![$<{{])(?P<value>{_UNQUOTED})"),
    ("gpg gpg2 age", rf"(?P<keep>--passphrase[ =]{_Q})(?![$<{{])(?P<value>{_UNQUOTED})"),
    ("keytool jarsigner", rf"(?P<keep>-(?:store|key|srcstore|deststore|srckey|destkey)pass(?:word)?[ ]{_Q})(?![$<{{])(?P<value>{_UNQUOTED})"),
    ("nmcli", rf"(?P<keep>(?:password|psk)[ ]{_Q})(?P<value>{_UNQUOTED})"),
    ("iex mix npm pnpm yarn git gh hf huggingface-cli wrangler flyctl fly doctl glab wandb sentry-cli", rf"(?P<keep>(?:(?:_auth|auth|_password|:_authToken|login|insteadOf|extraheader|relogin)[ =]|--token[ =]){_Q})(?![-$<{{])(?=[^\s]{{0,60}}[0-9])(?P<value>[^\s\"'\\:/]{{12,256}})"),
    ("security", rf"(?P<keep>(?:unlock-keychain|add-generic-password|add-internet-password|set-key-partition-list|import)[ ].*?(?<!\S)-[wpkP][ ]{_Q})(?![-$<{{/])(?P<value>{_UNQUOTED})"),
    ("useradd usermod", rf"(?P<keep>(?<!\S)-p[ ]{_Q})(?![-$<{{])(?P<value>{_UNQUOTED})"),
)  # fmt: skip
# What is piped into a program that reads a password: `echo X | sudo -S`, `echo user:X | chpasswd`.
_PIPED = (
    r"(?P<keep>(?<![\w-])(?:echo|printf)[ \t]{1,4}(?:-[ne]{1,2}[ \t]{1,4})?(?:\\*[\"']?%s(?:\\+n)?\\*[\"']?[ \t]{1,4})?\\*[\"']?(?:(?=[^\s:]{1,64}:[^\n]{1,300}chpasswd)[^\s:]{1,64}:)?)"
    r"(?![$<\[])(?P<value>[^\s\"'\\|]{1,256})(?P<after>\\*[\"']?(?:\\+n\\*[\"']?)?[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4}(?:-\S{1,20}[ \t]{1,4}){0,3}-[A-Za-z]{0,4}S"
    r"|(?:sudo[ \t]{1,4})?(?:chpasswd|passwd[ \t]{1,4}--stdin|cryptsetup|smbpasswd)|[^\n|]{1,200}(?:--password-stdin|--with-token|--passphrase-fd|-pass(?:in)? stdin)))"
)
_HERE = r"(?P<keep>(?:--password-stdin|--with-token|sudo -S)[^\n<]{0,80}<<<[ \t]{0,4}\\*[\"']?)(?![$<])(?P<value>[^\s\"'\\]{1,256})"
_ARGUMENTS = r"(?P<arguments>[ \t](?:[^\n;|\\\"'&]|\\[\s\S]|\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'|[\"']|&(?!&)){1,1500})"

# A word before a blank, where alone a program's arguments begin.
_WORD = r"(?<![\w.-])[\w.-]++(?=[ \t])"
_PROGRAMS = frozenset(program for programs, _ in COMMANDS for program in programs.split())


def mask_commands(text: str, lowered: str) -> str:
    """Mask what a program takes as a password on its command line."""
    if "echo" in lowered or "printf" in lowered or "<<<" in lowered:
        text = re.sub(
            _PIPED, lambda match: match[0] if MASK in match["value"] else f"{match['keep']}{MASK}{match['after']}", text
        )
        text = re.sub(_HERE, lambda match: match["keep"] + MASK, text)
    words = {word.removesuffix(".exe") for word in re.findall(_WORD, text)}
    tokens = _PROGRAMS & words
    if not tokens:
        return text
    names = "|".join(re.escape(each) for each in sorted(tokens, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])(?P<program>{names})(?:\.exe)?{_ARGUMENTS}", _mask_arguments, text)


def _mask_arguments(match: Match[str]) -> str:
    arguments = match["arguments"]
    for programs, pattern in COMMANDS:
        if match["program"] in programs.split():
            arguments = re.sub(pattern, _mask_one, arguments)
    return match[0][: match.start("arguments") - match.start()] + arguments


def _mask_one(match: Match[str]) -> str:
    group = "value" if match["value"] is not None else "value2"
    if match[group].startswith(MASK):
        return match[0]
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + MASK + match[0][end:]
