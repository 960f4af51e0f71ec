"""Hints of secrets: one of them, in lower case, is in every text that holds one.

A text without them is not looked at further. A test holds that every hint of every
table contains one.
"""

_OF_ONE_WORD = r"""
    $1$ $2 $5$ $6$ $apr1 $argon $y$ -us .atlasv1. /hooks/ 00d 1//0 1000. 2fa 4/0a 7z :*:
    :// :5432: :5433: :aa <<< a3- a3t aaaaaaaaaaaaaaaaaaaaa abia absk acca
    access-development- access-production- access-sandbox- age-plugin- aiza ak- ak_live_
    akcp akia akid amzn.mws. anmeldung ansible api- api_org_ apify_api_ aqvn asia
    atatt3x atbb atctt3x atoa atp_ atstt auth bearer bkpt_ bkua_ bot_ brv_ buildah
    cal_live_ cciprj_ cfat- chave cio clave clef clickhouse clojars_ clé cmvmdgtu code=
    connectionstring contrase cookie cqlsh crackmapexec crane cred ctp_ curl dapi
    dbaccess dckr_ ddp_ ddw_ discord dkea docker doo_v1_ dop_v1_ dor_v1_ dp.audit.
    dp.ct. dp.pt. dp.sa. dp.scim. dp.st. dsn dt0c01. dt0s16. duffel_live_ duffel_test_
    e2b_ eaa expdp extraheader eyj ezak eztk fc- fffnral figd_ figo_ figor_ fio-u-
    flwpubk- flwseck- flwseck_test- flyv1 fm1a_ fm1r_ fm2_ fo1_ freerdp fw_ geheim gho_
    ghp_ ghr_ ghs_ ghu_ glagent- glc_ glcbt- gldt- glft- glimt- gloas- glptt- glrt-
    glsa_ glsoat- gocspx- gr1348941 gr_ hash= hasl hasł helm heroku heslo hf_ hfp_
    hooks. hrku- hvb. hvr. hvs. ibmcloud ico- identified impdp influx insteadof ipmitool
    isql jeton jina_ kennwort key kinit kubectl ldap lftp lin_api_ log-in login lsv2_pt_
    ltai lösenord maker.ifttt maria mfa mnemonic mob- mongo mosquitto mot-de mot_de
    motde mt_live_ mycli mysql napi_ ncftp nerdctl netexec nfb_ nfc_ nfo_ nfp_ nfu_
    ngrok_ nmcli nntp_ npm_ nraa- nrii- nriq- nrjs- nrra- nsec1 ntn_ nvs_ nxc one-time
    openssl ops- ops_ elak- otp oy2 parola passw passphrase passcode pass= _pass .pass
    -pass keypass sshpass storepass dbpass requirepass smbpass "pass 'pass pat- pat_
    patat phc_ phrase phx_ pincode pin: pin= pin- pin_ pin" pk- pk_live_ pk_test_ pmat-
    pnu_ podman pplx- private- pscale_pw_ pscale_tkn_ psk pul- pwd pypi- q~ r8_
    rabbitmqctl rclone rdme_ re_ redis response=" response=\" rk- rk_live_ rk_test_ rnd_
    rpa_ rpcclient rubygems_ rzp_live_ rzp_test_ s-s4t2af- s-s4t2ud- salasana sbp_ schl
    sdk- secret securestring seed senha sess sg. sgp_ sha256~ shippo_live_ shippo_test_
    shpca_ shppa_ shpss_ shptka_ sig= signature= sk- sk_ sk0 sk1 sk2 sk3 sk4 sk5 sk6 sk7
    sk8 sk9 ska skb skc skd skf sl. sm_aat_ sm_sat_ smb snk_ snmp sntrys_ sntryu_
    sq0atp- sq0csp- sq0idp- sqa_ sqlcmd sqlldr sqlplus sqp_ squ_ sshfs storepw t1. tfp_
    tgp_v1_ token tsql tvly- twine uk- user/ useradd usermod username v1.0- vault vca_
    vci_ vck_ vcp_ vcr_ verification vncviewer wachtwoord webhook wget whk_ whpk_ whsec_
    winexe winrm winrs wmic wpa_ x-amz- xai- xapp- xoxa- xoxb- xoxc- xoxd- xoxe- xoxo-
    xoxp- xoxr- xoxs- xprv xsmtpsib- xtrabackup ya29. yprv zprv ключ логин парол пин-код
    секрет токен パスワード 密 비밀번호
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
