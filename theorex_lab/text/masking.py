"""The mask: what looks like a secret in a text becomes `[masked]`. Standard library only.

A hook starts for every tool call, so one look for HINTS decides whether the tables of secrets are loaded at all, and a
pattern is compiled once one of its own hints is there.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what type checkers take for true; importing `typing` for it would cost every start 5 ms
if TYPE_CHECKING:
    from re import Match
    from typing import Any

MASK = "[masked]"
_DEEPEST = 64
_SHORTEST_ENCODED_CHARACTERS = 20
# One of these is in every text that holds a secret, in lower case; a text without them is not looked at further. A test
# holds that every hint of every table contains one.
HINTS = tuple(
    (
        "$1$|$2|$5$|$6$|$apr1|$argon|$y$|-us|.atlasv1.|/hooks/|00d|1//0|1000.|2fa|4/0a|7z|:*:|://|:5432:|:5433:|:aa|"
        "<<<|a3-|a3t|aaaaaaaaaaaaaaaaaaaaa|abia|absk|acca|access code|access-development-|access-production-|"
        "access-sandbox-|age-plugin-|aiza|ak-|ak_live_|akcp|akia|akid|amzn.mws.|anmeldung|ansible|api-|api_org_|"
        "apify_api_|aqvn|asia|atatt3x|atbb|atctt3x|atoa|atp_|atstt|auth|az -|backup code|basic |bcp |bearer|bkpt_|"
        "bkua_|bot |bot_|brv_|buildah|cal_live_|cciprj_|cf -|cfat-|chave|cio|clave|clef|clickhouse|clojars_|clé|"
        "cmvmdgtu|code=|confirmation code|connectionstring|contrase|cookie|cqlsh|crackmapexec|crane|cred|ctp_|curl|"
        "dapi|dbaccess|dckr_|ddp_|ddw_|discord|dkea|docker|doo_v1_|dop_v1_|dor_v1_|dp.audit.|dp.ct.|dp.pt.|dp.sa.|"
        "dp.scim.|dp.st.|dsn|dt0c01.|dt0s16.|duffel_live_|duffel_test_|e2b_|eaa|exp |expdp|extraheader|eyj|ezak|eztk|"
        "fc-|fffnral|figd_|figo_|figor_|fio-u-|flwpubk-|flwseck-|flwseck_test-|flyv1 |flyv1-|fm1a_|fm1r_|fm2_|fo1_|"
        "freerdp|fw_|geheim|gho_|ghp_|ghr_|ghs_|ghu_|glagent-|glc_|glcbt-|gldt-|glft-|glimt-|gloas-|glptt-|glrt-|"
        "glsa_|glsoat-|gocspx-|gr1348941|gr_|hash=|hasl|hasł|helm|heroku|heslo|hf_|hfp_|hooks.|hrku-|http -|https -|"
        "hvb.|hvr.|hvs.|ibmcloud|ico-|identified|imp |impdp|influx|insteadof|ipmitool|isql|jeton|jina_|kennwort|key|"
        "kinit|kubectl|ldap|lftp|lin_api_|log in|log-in|login|lsv2_pt_|ltai|lösenord|maker.ifttt|maria|mfa|mnemonic|"
        "mob-|mongo|mosh -|mosquitto|mot de|mot-de|mot_de|motde|mt_live_|mycli|mysql|napi_|ncftp|nerdctl|net use|"
        "netexec|nfb_|nfc_|nfo_|nfp_|nfu_|ngrok_|nmcli|nntp_|npm_|nraa-|nrii-|nriq-|nrjs-|nrra-|nsec1|ntn_|nvs_|nxc|"
        'oc -|one-time|openssl|ops-|ops_|elak-|oras |otp|oy2|parola|passw|passphrase|passcode|pass=|_pass|.pass|-pass|keypass|sshpass|storepass|dbpass|requirepass|smbpass|"pass|\'pass|pat-|pat_|patat|phc_|phrase|phx_|pin |pincode|pin:|pin=|pin-|pin_|pin"|pk-|pk_live_|'
        "pk_test_|pmat-|pnu_|podman|pplx-|private-|pscale_pw_|pscale_tkn_|psk|pul-|pwd|pypi-|q~|r8_|rabbitmqctl|rar |"
        'rclone|rdme_|re_|recovery code|redis|response="|response=\\"|rk-|rk_live_|rk_test_|rnd_|rpa_|rpcclient|'
        "rubygems_|rzp_live_|rzp_test_|s-s4t2af-|s-s4t2ud-|salasana|sbp_|schl|sdk-|secret|securestring|security code|"
        "seed|senha|sess-|psess|jsess|sg.|sgp_|sha256~|shippo_live_|shippo_test_|shpca_|shppa_|shpss_|shptka_|sig=|signature=|sk-|sk_|sk0|sk1|sk2|sk3|sk4|sk5|sk6|sk7|sk8|sk9|ska|skb|skc|skd|skf|"
        "sl.|sm_aat_|sm_sat_|smb|snk_|snmp|sntrys_|sntryu_|sq0atp-|sq0csp-|sq0idp-|sqa_|sqlcmd|sqlldr|sqlplus|sqp_|"
        "squ_|sshfs|storepw|sudo -s|t1.|tfp_|tgp_v1_|token|tsql|tvly-|twine|uk-|user/|user: |useradd|usermod|username|"
        "v1.0-|vault|vca_|vci_|vck_|vcp_|vcr_|verification|vncviewer|wachtwoord|webhook|wget|whk_|whpk_|whsec_|winexe|"
        "winrm|winrs|wmic|wpa_|x-amz-|xai-|xapp-|xh -|xoxa-|xoxb-|xoxc-|xoxd-|xoxe-|xoxo-|xoxp-|xoxr-|xoxs-|xprv|"
        "xsmtpsib-|xtrabackup|ya29.|yprv|zip -|zprv|ключ|логин|парол|пин-код|секрет|токен|パスワード|密|비밀번호"
    ).split("|")
)


_USUAL_HINTS = ("-us", "key", "token", "://", "auth", "login")  # most texts that hold one hold one of these
# Short texts are asked of again and again where many events come in at once: names of tools, members and paths.
_SHORT_CHARACTERS, _MOST_SHORT = 200, 4_096
_short: dict[str, str] = {}
_plain_members: set[str] = set()
_PARTING = str.maketrans(dict.fromkeys("\"'`,;:()[]{}<>.|\\", " "))


def mask(text: str) -> str:
    """The text with what looks like a secret replaced by `[masked]`.

    Known by their shape are the keys of common providers, tokens, hashes and private keys (also without their end or
    their beginning), passwords in addresses and headers; by their name, the values of a password, a token, a secret or
    a key, in code, settings, command lines and sentences of some languages; and the base64 or hex of a text that holds
    one of these. Takes time linear in the length.

    >>> mask("export API_KEY=3x4mpl3 && git clone https://me:hunter2@example.org/a.git")
    'export API_KEY=[masked] && git clone https://me:[masked]@example.org/a.git'
    >>> mask("the token budget is 2000, the password policy is in the wiki")
    'the token budget is 2000, the password policy is in the wiki'
    """
    if len(text) > _SHORT_CHARACTERS:
        return _masked(text)
    known = _short.get(text)
    if known is None:
        if len(_short) >= _MOST_SHORT:
            _short.clear()
        known = _short[text] = _masked(text)
    return known


def _masked(text: str) -> str:
    text = _mask_plain(text)
    if any(len(word) >= _SHORTEST_ENCODED_CHARACTERS and _is_drawn(word) for word in text.translate(_PARTING).split()):
        from theorex_lab.text.secret_blocks import mask_encoded

        text = mask_encoded(text, _mask_plain)
    return text


def _is_drawn(word: str) -> bool:
    """Whether a long word may be base64 or hex; paths and names are in lower case and have other signs."""
    return word.isalnum() or not word.islower()


def _mask_plain(text: str) -> str:
    lowered = text.lower()
    return _mask_hinted(text, lowered) if _is_hinted(lowered) else text


def _is_hinted(lowered: str) -> bool:
    for hint in (*_USUAL_HINTS, *HINTS):  # noqa: SIM110, since a generator takes three times as long
        if hint in lowered:
            return True
    return False


def _mask_hinted(text: str, lowered: str) -> str:
    import re

    from theorex_lab.text.secret_blocks import mask_blocks, mask_near_ids
    from theorex_lab.text.secret_commands import mask_commands
    from theorex_lab.text.secret_formats import EDGE, LONG, MORE, PATTERNS, PREFIXED
    from theorex_lab.text.secret_headers import mask_headers
    from theorex_lab.text.secret_names import mask_names
    from theorex_lab.text.secret_prose import mask_logins, mask_prose

    text = mask_blocks(text)
    text = mask_near_ids(text)
    runs = " ".join(re.findall(LONG, text))  # a token is in one of them
    for rest, prefixes in PREFIXED if runs else ():
        # Few of the prefixes that are there begin a token: a pattern of these alone is the same one for most texts.
        there = [
            name for each in prefixes.split() if each in runs and re.search((name := re.escape(each)) + rest, runs)
        ]
        if there:
            text = re.sub(rf"{EDGE}(?:{'|'.join(there)}){rest}{MORE}", MASK, text)
    for hints, pattern in PATTERNS:
        if any(hint in lowered for hint in hints):
            text = re.sub(pattern, _keep_start, text)
    text = mask_headers(text, lowered)
    text = mask_commands(text, lowered)
    text = mask_logins(text, lowered)
    text = mask_names(text, lowered)
    return mask_prose(text, lowered)


def _keep_start(match: Match[str]) -> str:
    return match.groupdict().get("keep", "") + MASK


def is_secret_member(key: str, value: object) -> bool:
    """Whether a member of a JSON object is a secret by its name.

    >>> is_secret_member("dbPassword", "x"), is_secret_member("max_tokens", 4096)
    (True, False)
    """
    if key in _plain_members:
        return False
    lowered = key.lower()
    if lowered != "pass" and not _is_hinted(lowered):
        if len(key) <= _SHORT_CHARACTERS and len(_plain_members) < _MOST_SHORT:
            _plain_members.add(key)
        return False
    from theorex_lab.text.secret_names import is_secret_member as named

    return named(key, value)


def masked_value(value: Any, depth: int = 0) -> Any:
    """A JSON value with its texts masked, and whole members that are secrets by their names.

    >>> masked_value({"password": "x", "said": ["token=abc123def"]})
    {'password': '[masked]', 'said': ['token=[masked]']}
    """
    if isinstance(value, str):
        return mask(value)
    if depth > _DEEPEST:
        return value
    if isinstance(value, list | tuple):
        return [masked_value(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {
            (mask(key) if isinstance(key, str) else key): MASK
            if isinstance(key, str) and is_secret_member(key, each)
            else masked_value(each, depth + 1)
            for key, each in value.items()
        }
    return value
