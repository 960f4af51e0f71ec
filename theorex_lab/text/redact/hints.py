"""Define what the mask puts in place of a secret, and look quickly for hints of one.

Standard library only.
"""

from __future__ import annotations

# what type checkers take for true; importing `typing` for it would cost every start 5
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MASK = "[masked]"

# One of these hints, in lower case, is in every text that holds a secret. A text without
# them is not looked at further.
_OF_ONE_WORD = r"""
    "pass $1$ $2 $5$ $6$ $apr1 $argon $mysql$ $y$ 'pass -pass -us .atlasv1. .pass
    /hooks/ 00d 1//0 1000. 2fa 4/0a 4b1d 7z :*: :// :5432: :5433: :aa <<< _mmk _pass
    _pat" _pat: _pat= a3- a3t aaaaaaaaaaaaaaaaaaaaa abia absk acca
    access-development- access-production- access-sandbox- access_token$ age-plugin-
    aiza ak- ak_live_ akcp akia akid amzn.mws. anmeldung ansible api- api_org_
    apify_api_ aqe aqvn asia atatt3x atbb atctt3x atoa atp_ atstt auth avns_ bearer
    bkpt_ bkua_ bot_ brv_ buildah cal_live_ cciprj_ cfat- cfat_ cfk_ cfut_ chave cio
    clave clef clickhouse clojars_ clé cmvmdgtu code= connectionstring contrase
    cookie cqlsh crackmapexec crane cred ctp_ curl dapi dbaccess dbpass dckr_ ddp_
    ddw_ dg9ro discord dkea docker doo_v1_ dop_v1_ dor_v1_ dp.audit. dp.ct. dp.pt.
    dp.sa. dp.scim. dp.st. dsn dt0c01. dt0s16. duffel_live_ duffel_test_ e2b_ eaa
    elak- endr+ expdp extraheader eyj ezak eztk fc- fffnral figd_ figo_ figor_
    fio-u- flwpubk- flwseck- flwseck_test- flyv1 fm1a_ fm1r_ fm2_ fo1_ freerdp fw_
    geheim gho_ ghp_ ghr_ ghs_ ghu_ glagent- glc_ glcbt- gldt- glffct- glft- glimt-
    gloas- glptt- glrt- glsa_ glsoat- gocspx- goog1e gr1348941 gr_ hash= hasl hasł
    helm heroku heslo hf_ hfp_ hook. hook/ hooks. hrku- hvb. hvr. hvs. ibmcloud ico-
    identified impdp influx insteadof ipmitool isql jeton jina_ jwt kennwort key
    keypass kinit kubectl ldap lftp lin_api_ log-in login lsv2_pt_ ltai lösenord
    maker.ifttt maria mfa mnemonic mob- mongo mosquitto mot-de mot_de motde mt_live_
    mycli mysql napi_ ncftp nerdctl netexec nfb_ nfc_ nfo_ nfp_ nfu_ ngrok_ nmcli
    nntp_ npm_ nraa- nrii- nriq- nrjs- nrra- nsec1 ntn_ nvs_ nxc one-time openssl
    ops- ops_ ory_ac_ ory_at_ ory_rt_ otp oy2 packagist_ parola pass= passcode
    passphrase passw pat- pat_ patat phc_ phrase phx_ pin" pin- pin: pin= pin_
    pincode pipedream.net/ pk- pk_live_ pk_test_ pmat- pnu_ podman pplx- private-
    pscale_pw_ pscale_tkn_ psk pul- pwd pypi- q~ r8_ rabbitmqctl rclone rdme_ re_
    redis requirepass response=" response=\" rk- rk_live_ rk_test_ rnd_ rpa_
    rpcclient rubygems_ rzp_live_ rzp_test_ s-s4t2af- s-s4t2ud- salasana salt sbp_
    schl sdk- secret securestring seed senha sess- sessid sessionid sg. sgp_ sha256~
    shippo_live_ shippo_test_ shpca_ shppa_ shpss_ shptka_ sig= signature= sk- sk0
    sk1 sk2 sk3 sk4 sk5 sk6 sk7 sk8 sk9 sk_ ska skb skc skd skf sl. sm_aat_ sm_sat_
    smb smbpass snk_ snmp sntrys_ sntryu_ sq0atp- sq0csp- sq0idp- sqa_ sqlcmd sqlldr
    sqlplus sqp_ squ_ sshfs sshpass storepass storepw t1. tfp_ tgp_v1_ token tsql
    tvly- twine uk- user/ useradd usermod username v1.0- vault vca_ vci_ vck_ vcp_
    vcr_ verification vncviewer wachtwoord webhook wget whk_ whpk_ whsec_ winexe
    winrm winrs wmic wpa_ wpl_ap1. x-amz- xaat- xai- xapp- xapt- xoxa- xoxb- xoxc-
    xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xprv xsmtpsib- xtrabackup ya29. ycaj yprv
    zprv ключ логин парол пин-код секрет токен パスワード 密 비밀번호
"""

# With a blank in it, or at its end.
_OF_MORE = (
    "access code",
    "az -",
    "backup code",
    "basic ",
    "bcp ",
    "bot ",
    "cf -",
    "confirmation code",
    "exp ",
    "http -",
    "https -",
    "imp ",
    "log in",
    "mosh -",
    "mot de",
    "net use",
    "oc -",
    "oras ",
    "pin ",
    "rar ",
    "recovery code",
    "security code",
    "sudo -s",
    "user: ",
    "xh -",
    "zip -",
)

HINTS = (*_OF_ONE_WORD.split(), *_OF_MORE)


_START_CHARACTERS = 3


class HintSet:
    """Finds which of some hints a text holds.

    A word is looked at once in a process, since most words come again.
    """

    _MOST_WORDS = 1 << 17  # that are remembered of each kind
    _LONGEST_CHARACTERS = 100

    def __init__(
        self,
        hints: Iterable[str],
        marks: Callable[[str, Iterable[str]], tuple[str, ...]],
    ) -> None:
        """Begin without any word.

        Args:
            hints: The hints, in lower case.
            marks: Returns what else is noted of a word that has these hints.
        """
        self._hints = tuple(hints)
        self._marks = marks
        # The hints as far as one word has them: one with a blank in it goes on in the
        # next.
        # They stand under their first characters: a look for those of the text tells
        # which hints are worth a search.
        self._by_start: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        self._short: list[tuple[str, str]] = []
        for hint in self._hints:
            head = hint[: hint.find(" ") + 1] or hint
            same_start = self._short
            if len(head) >= _START_CHARACTERS:
                start = tuple(head[:_START_CHARACTERS])
                same_start = self._by_start.setdefault(start, [])
            same_start.append((hint, head))
        self._starts = frozenset(self._by_start)
        # Most words have neither hints nor marks: one subtraction leaves them out.
        self._plain_words: set[str] = set()
        self._hints_by_word: dict[str, tuple[str, ...]] = {}

    def found_in(self, text: str) -> set[str]:
        """Return the hints that are in the text, in any case, and its words' marks."""
        all_words = text.split()
        if self._plain_words.issuperset(all_words):
            return set()
        words = set(all_words).difference(self._plain_words)
        new = words.difference(self._hints_by_word)
        new_hints = self._hints_of(new) if new else {}
        hints: set[str] = set()
        # Another thread may have dropped what is remembered meanwhile.
        for word in words:
            word_hints = new_hints.get(word)
            if word_hints is None:
                word_hints = self._remembered(word)
            hints.update(word_hints)
        if new_hints:
            self._remember(new_hints)
        return {hint for hint in hints if " " not in hint or hint in text.lower()}

    def _remembered(self, word: str) -> tuple[str, ...]:
        """Return the hints and marks of a word that was looked at before."""
        word_hints = self._hints_by_word.get(word)
        if word_hints is None:
            word_hints = self._hints_of({word})[word]
        return word_hints

    def _remember(self, hints_by_word: dict[str, tuple[str, ...]]) -> None:
        """Keep what was seen in words; begin anew where there are too many.

        What is dropped is replaced, since another thread may still read it.
        """
        if len(self._plain_words) > self._MOST_WORDS:
            self._plain_words = set()
        if len(self._hints_by_word) > self._MOST_WORDS:
            self._hints_by_word = {}
        for word, word_hints in hints_by_word.items():
            if len(word) > self._LONGEST_CHARACTERS:
                continue
            if word_hints:
                self._hints_by_word[word] = word_hints
            else:
                self._plain_words.add(word)

    def _present_in(self, text: str) -> list[tuple[str, str]]:
        """Return the hints, with their heads, whose heads are in the text."""
        heads = list(self._short)
        following = text[1:]
        triples = zip(text, following, following[1:], strict=False)
        for start in self._starts.intersection(triples):
            heads += self._by_start[start]
        return [entry for entry in heads if entry[1] in text]

    def _hints_of(self, words: set[str]) -> dict[str, tuple[str, ...]]:
        """Return the hints and marks of each of these words."""
        if not words:
            return {}
        all_words = f"{' '.join(words)} ".lower()
        present = self._present_in(all_words)
        hints_by_word: dict[str, tuple[str, ...]] = {}
        hints: list[str] = []
        for word in words:
            if present:
                low = f"{word.lower()} "
                hints = [hint for hint, head in present if head in low]
            hints_by_word[word] = (*hints, *self._marks(word, hints))
        return hints_by_word
