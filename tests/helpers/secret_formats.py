"""Formats of vendors' secrets that the tables of the mask were not written from.

Each is written as in `secret_lines`, after what its vendor documents. Half of them was
open while the mask was written; the other half, which a hash of the vendor's name
draws, was looked at only to measure it.
"""

from __future__ import annotations

import hashlib

_FORMATS = """
cloudflare global key        cfk·_‹a48›
cloudflare user token        cfut·_‹a48›
cloudflare account token     cfat·_‹a48›
packagist organization       packagist·_ort_‹h68›
packagist update             packagist·_out_‹h68›
packagist user               packagist·_uut_‹h68›
ory access                   ory·_at_‹a43›.‹a43›
ory refresh                  ory·_rt_‹a43›.‹a43›
ory session                  ory·_st_‹a32›
ory key                      ory·_pat_‹a32›
adobe secret                 p8e·-‹a32›
defined networking           dnkey·-‹a26›-‹a52›
harness                      pat·.‹a22›.‹h24›.‹a20›
octopus                      API·-‹u26›
beamer                       b·_‹a44›
clickhouse cloud             4b1d·‹a38›
maxmind                      ‹a6›_‹a29›_mmk
polar                        polar·_oat_‹a43›
endor                        endr·+‹a16›
gitlab feed                  glffct·-‹a20›
gocardless                   live·_‹a40›
lob live                     live·_‹h35›
mapbox secret                sk·.eyJ1‹a60›.‹a22›
mapbox public                pk·.‹l60›.‹l22›
mailgun public               pubkey·-‹h32›
sendinblue smtp              xsmtpsib·-‹h64›-‹a16›
hubspot                      pat·-na1-‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
hubspot eu                   pat·-eu1-‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
vault old                    s·.‹a24›
vault batch                  b·.AAAAAQ‹a120›
grafana legacy               eyJr·Ijoi‹a80›
sendgrid                     SG·.‹a22›.‹a43›
meta                         EAAM·‹a100›
new relic ingest             NRII·-‹a32›
new relic browser            NRJS·-‹h19›
okta                         okta_token=00‹a40›
posthog personal             phx·_‹a43›
stytch                       secret·-live-‹a36›
stytch test                  secret·-test-‹a36›
workos                       sk·_live_‹a60›
clerk                        sk·_test_‹a42›
onesignal                    os·_v2_app_‹l96›
knock                        sk·_‹a43›
svix                         testsk·_‹a32›.eu
svix prod                    sk·_‹a32›.us
inngest                      signkey·-prod-‹h64›
axiom personal               xapt·-‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
axiom                        xaat·-‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
honeycomb                    hcaik·_‹l58›
honeycomb management         hcamk·_‹l26›‹l32›
langfuse                     pk·-lf-‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
helicone                     sk·-helicone-‹l7›-‹l7›-‹l7›-‹l7›
together                     tgp·_v1_‹a43›
fireworks                    fw·_‹a24›
groq                         gsk·_‹a52›
cerebras                     csk·-‹l48›
eleven labs                  sk·_‹h48›
replicate                    r8·_‹a37›
modal id                     ak·-‹a22›
modal secret                 as·-‹a22›
lambda labs                  secret·_lambda_‹h32›.‹a32›
runpod                       rpa·_‹u46›
ngrok                        2‹a26›_‹a21›
tailscale                    tskey·-api-‹a12›-‹a32›
infisical                    st·.‹h8›-‹h4›-‹h4›-‹h4›-‹h12›.‹h32›.‹h32›
buildkite                    bkua·_‹h40›
buildkite agent              bkat·_‹a40›
circle project               CCIPRJ·_‹a22›_‹h40›
codecov                      codecov_token: ‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
terraform                    ‹a14›·.atlasv1.‹a67›
scalr                        at·-‹a15›.‹a43›
crates                       cio·‹a32›
nuget                        oy2·‹l43›
artifactory identity         cmVm·dGtuOjAx‹a64›
artifactory reference        eyJ2·ZXIi‹a80›
sourcegraph user             sgp·_‹h16›_‹h40›
shortcut                     sct·_rw_workspace_‹a12›_‹a43›
clickup                      pk·_‹d8›_‹u32›
asana                        2/‹d16›/‹d16›:‹h32›
webflow                      ws·-‹h64›
contentful                   CFPAT·-‹a43›
sanity                       sk‹a80›Zq9
pinecone                     pcsk·_‹a6›_‹a60›
qdrant                       ‹a40›.‹a20›|Ab3xK9_qZ2_w
upstash                      AX‹a60›==
neon                         napi·_‹l64›
convex                       prod:happy-otter-123|‹a80›
planetscale                  pscale·_pw_‹a43›
aiven                        AVNS·_‹a19›
timescale                    tmtk·_‹a40›
launchdarkly                 api·-‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
paddle                       pdl·_live_apikey_‹l26›_‹a22›_‹a3›
lemon squeezy                lsq·_‹a60›
adyen                        AQE‹a60›-‹b40›=-‹a16›
braintree                    access_token$sandbox$‹l16›$‹h32›
paypal                       A21AA‹a90›
square                       EAAA·l‹a60›
razorpay                     rzp·_test_‹a14›
mollie                       live·_‹a30›
checkout                     sk·_sbox_‹l26›
plaid secret                 access·-production-‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
alchemy                      alcht·_‹a32›
etherscan                    etherscan_api_key: ‹u34›
telegram                     ‹d10›:AAH‹a32›
discord bot                  MTE‹a21›.G‹a5›.‹a38›
discord mfa                  mfa·.‹a84›
slack config                 xoxe·.xoxp-1-‹a160›
slack cookie                 xoxd·-‹a80›%2B‹a40›%3D
teams                        https://acme.webhook.office.com/webhookb2/‹h8›-‹h4›-‹h4›-‹h4›-‹h12›@‹h8›-‹h4›-‹h4›-‹h4›-‹h12›/IncomingWebhook/‹h32›/‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
google chat                  https://chat.googleapis.com/v1/spaces/AAAA/messages?key=AIza·‹a35›&token=‹a43›%3D
feishu                       https://open.feishu.cn/open-apis/bot/v2/hook/‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
dingtalk                     https://oapi.dingtalk.com/robot/send?access_token=‹h64›
wecom                        https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
mattermost                   https://chat.example.org/hooks/‹l26›
rocket chat                  https://rc.example.org/hooks/‹a17›/‹a48›
make                         https://hook.eu1.make.com/‹l32›
pipedream                    https://eo‹l13›.m.pipedream.net/‹a32›
n8n                          n8n·_api_‹a40›
twitch                       oauth·:‹l30›
linkedin                     WPL·_AP1.‹a16›.‹a8›==
dropbox                      sl·.u.‹a130›
figma                        figd·_‹a40›_‹a10›
zoom                         zoom_client_secret = "‹a32›"
intercom                     dG9r·OmFi‹a60›
zendesk                      bob@example.org/token:‹a40›
freshdesk                    freshdesk_api_key: ‹a20›
atlassian admin              ATCTT·3xFfGN0‹a80›
bitbucket                    ATBB·‹a28›
jfrog                        AKCp·‹a69›
sonar                        sqa·_‹h40›
snyk                         snyk_token=‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
fastly                       fastly_api_token=‹a32›
bunny                        bunny_key: ‹h8›-‹h4›-‹h4›-‹h4›-‹h20›-‹h4›-‹h4›
linode                       linode_token = ‹h64›
vultr                        VULTR_API_KEY=‹u36›
hetzner                      HCLOUD_TOKEN=‹a64›
scaleway                     SCW_SECRET_KEY=‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
ovh                          ovh_consumer_key=‹a32›
azure storage                AccountKey=‹b86›==
azure devops                 ‹a76›AZDO‹a4›
azure client                 ‹a3›8·Q~‹a34›
gcp oauth                    1//0‹a90›
gcp hmac                     GOOG·1E‹u57›
alibaba                      LTAI·5t‹a18›
tencent                      AKID·‹a32›
yandex key                   AQVN·‹a38›
yandex static                YCAJE‹a20›
ibm                          ibmcloud_api_key=‹a44›
oracle wallet                oci_passphrase: ‹a20›
age plugin                   AGE-PLUGIN·-YUBIKEY-1‹u40›
nostr                        nsec1·‹l58›
bitcoin wif                  wif: 5K‹a49›
ssh                          ssh_private_key_passphrase: ‹a18›
wireguard                    PrivateKey = ‹b43›=
htpasswd                     bob:$apr1$‹a8›$‹a22›
mysql hash                   $mysql$A$005*‹u40›*‹u64›
""".strip()


def _halves() -> tuple[dict[str, str], dict[str, str]]:
    """Return the open half and the held-out half: a format under its vendor's name."""
    opened: dict[str, str] = {}
    held_out: dict[str, str] = {}
    for line in _FORMATS.replace("·", "").split("\n"):
        name, line_format = line[:29].strip(), line[29:]
        is_open = hashlib.sha256(name.encode()).digest()[0] % 2 == 0
        half = opened if is_open else held_out
        half[name] = line_format
    return opened, held_out


OPEN_FORMATS, HELD_OUT_FORMATS = _halves()
