"""Lines with secrets and lines without: tables for the tests of the mask.

In a line with a secret «…» is the secret, and ‹a36› stands for 36 drawn characters (a:
letters and digits, h: lower-case hex, u: capitals and digits, b: base64, d: digits, l:
lower-case letters and digits), so that no secret stands in this file.
"""

from __future__ import annotations

import base64
import hashlib
import re
import string

_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "u": string.ascii_uppercase + string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "d": string.digits,
    "l": string.ascii_lowercase + string.digits,
}


def drawn(kind: str, length: int, seed: str) -> str:
    """Characters that depend on the seed alone; a letter and a digit of each sort come
    first where there is room.
    """
    alphabet = _ALPHABETS[kind]
    found = ""
    block = 0
    while len(found) < length:
        found += "".join(
            alphabet[byte % len(alphabet)]
            for byte in hashlib.sha256(f"{seed}{block}".encode()).digest()
        )
        block += 1
    start = (
        {"a": "aB3", "b": "aB3", "u": "B3", "l": "a3"}.get(kind, "")
        if length > 5
        else ""
    )
    return (start + found)[:length]


def filled(line: str) -> str:
    """The line with drawn characters in the place of ‹…›."""
    return re.sub(
        "‹([ahubdl])([0-9]+)›",
        lambda match: drawn(match[1], int(match[2]), f"{line[:40]}{match.start()}"),
        line,
    )


def parted(line: str) -> tuple[str, list[str], list[str]]:
    """The whole line, its secrets, and the pieces around them."""
    pieces = re.split("«|»", filled(line))
    return "".join(pieces), pieces[1::2], pieces[::2]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


VENDORS = """
gh·p_‹a36› gh·o_‹a36› gh·u_‹a36› gh·s_‹a36› gh·r_‹a36› github·_pat_‹a22›_‹a59› glpat·-‹a20› gldt·-‹a20› glrt·-‹a20› glptt·-‹h40›
npm·_‹a36› pypi·-AgEIcHlwaS5vcmc‹a70› AIza·‹a35› ya29·.‹a60› GOCSPX·-‹a28› xoxb·-‹d12›-‹d12›-‹a24› xoxp·-‹d12›-‹d12›-‹d12›-‹h32›
xoxa·-2-‹a24› xoxr·-‹a24› xoxs·-‹a24› xapp·-1-‹u11›-‹d13›-‹h64› sk·-‹a48› sk·-ant-api03-‹a93›-‹a6›AA sk·-proj-‹a64› sk·-or-v1-‹h64›
sk·-lf-‹h8›-‹h4›-‹h4›-‹h4›-‹h12› sk·_live_‹a24› rk·_live_‹a24› pk·_live_‹a24› sk·_test_‹a24› whsec·_‹a32› sq0·atp-‹a22› sq0·csp-‹a43›
EAAC·‹a80› EAAA·‹a60› hf·_‹a34› r8·_‹a37› gsk·_‹a52› xai·-‹a80› pplx·-‹a48› nvapi·-‹a64› tskey·-auth-‹a17›-‹a32› dckr·_pat_‹a27›
CFPAT·-‹a43› lin_api·_‹a40› ntn·_‹a46› secret·_‹a43› figd·_‹a40› PMAK·-‹h24›-‹h34› sntrys·_‹a60› sntryu·_‹h64› glsa·_‹a32›_‹h8›
glc·_‹a60› dapi·‹h32› dop·_v1_‹h64› doo·_v1_‹h64› dor·_v1_‹h64› ATATT3x·FfGF0‹a80› ATBB·‹a32› shpat·_‹h32› shpss·_‹h32› shpca·_‹h32›
shppa·_‹h32› sbp·_‹h40› nfp·_‹a40› fm2·_‹a60› HRKU·-‹a60› key·-‹h32› ‹h32›·-us12 xkeysib·-‹h64›-‹a16› NRAK·-‹u27› SG·.‹a22›.‹a43›
SK·‹h32› hvs·.‹a90› hvb·.‹a100› ‹d10›·:AA‹a33› AGE-SECRET·-KEY-1‹u58› AKIA·‹u16› ASIA·‹u16› AKCp·‹a69› rubygems·_‹h48› pul·-‹h40›
pscale·_tkn_‹a43› rdme·_‹l70› shippo·_live_‹h40› duffel·_live_‹a43› rzp·_live_‹a14›B2 lsv2·_pt_‹h32›_‹h10› tgp·_v1_‹a43› pcsk·_‹a60›
napi·_‹a60› squ·_‹h40› sqp·_‹h40› bkua·_‹h40› sgp·_‹h40› CCIPAT·_‹a60› FLWSECK·_TEST-‹h32›-X dp.pt·.‹a43› dt0c01·.‹u24›.‹u64›
amzn.mws·.‹h8›-‹h4›-‹h4›-‹h4›-‹h12› LTAI·‹a20› ‹a14›·.atlasv1.‹a64› sha256·~‹a43› oy2·‹l43› vcp·_‹a56› rnd·_‹a32› re·_‹a8›_‹a24›
ops·_eyJ‹a80› xprv·9s21‹a100› nsec1·‹l58› EZAK·‹a54› tfp·_‹a44› sdk·-‹h8›-‹h4›-‹h4›-‹h4›-‹h12› access·-sandbox-‹h8›-‹h4›-‹h4›-‹h4›-‹h12›
A3·-‹u6›-‹u11›-‹u5›-‹u5›-‹u5› pat·‹a14›.‹h64› 1000·.‹h32›.‹h32› ‹h36›·FFFFNRAL eyJ·hbGciOiJIUzI1NiJ9.eyJ‹a40›.‹a43›
""".replace("·", "").split()

LINES = r"""
git clone https://«‹a40›»@github.com/me/repo.git
git clone https://oauth2:«‹a20›»@gitlab.com/me/repo.git
git remote set-url origin https://x-access-token:«gho_‹a36›»@github.com/me/a
DATABASE_URL=postgres://admin:«‹a12›»@db:5432/x
redis://:«‹l9›»@cache:6379/0
mongodb+srv://me:«p%40ss‹l5›»@cluster0.example.net/db
amqp://guest:«‹a8›»@mq:5672
jdbc:mysql://db:3306/x?user=root&password=«‹l9›»
jdbc:postgresql://db/x?user=me&password=«‹a12›»&ssl=true
https://«‹h32›»@o12.ingest.sentry.io/34
smtp://mailer:«‹a14›»@mail.example.org:587
https://x.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=«‹a43›%3D»
https://s3.amazonaws.com/b/k?X-Amz-Expires=60&X-Amz-Signature=«‹h64›»
https://storage.googleapis.com/b/k?X-Goog-Signature=«‹h128›»
https://x.org/a?access_token=«‹a24›»&page=2
https://x.org/a?page=2&api_key=«‹a24›»
https://maps.example.org/api?key=«‹a32›»
https://x.org/cb?code=«‹a40›»&state=x
https://hooks.slack.com/services/«T‹u8›/B‹u8›/‹a24›»
https://discord.com/api/webhooks/«‹d18›/‹a68›»
https://discordapp.com/api/webhooks/«‹d18›/‹a68›» posts
https://outlook.webhook.office.com/webhookb2/«‹h8›-‹h4›@‹h8›/IncomingWebhook/‹h32›»
https://hooks.zapier.com/hooks/catch/«‹d7›/‹l7›»
https://maker.ifttt.com/trigger/x/with/key/«‹a22›»
https://api.telegram.org/bot«‹d10›:AA‹a33›»/getMe
Cookie: session=«‹a32›»
Cookie: a=«‹a16›»; b=«‹h32›»
Set-Cookie: sid=«‹a32›»; Path=/; HttpOnly
curl -H 'Cookie: auth=«‹a32›»' https://x.org
Authorization: Bearer «‹a24›»
Authorization: Basic «‹b24›»
Authorization: token «‹h40›»
Authorization: ApiKey «‹a32›»
Authorization: SSWS «00‹a40›»
Authorization: «‹a32›»
'Authorization': 'Bearer «‹a40›»'
headers["Authorization"] = "Bearer «‹a40›»"
requests.get(u, headers={"Authorization": f"Token «‹h40›»"})
Proxy-Authorization: Basic «‹b20›»
X-Api-Key: «‹a32›»
x-api-key: «‹a20›»
X-Auth-Token: «‹h32›»
X-Vault-Token: «‹a24›»
PRIVATE-TOKEN: «‹a20›»
X-Shopify-Access-Token: «‹h32›»
Ocp-Apim-Subscription-Key: «‹h32›»
X-Goog-Api-Key: «‹a39›»
apikey: «‹a32›»
machine api.example.org login bob password «‹a12›»
machine git.example.org\n  login bob\n  password «‹a12›»
default login me password «‹l10›»
curl -u bob:«‹a10›» https://x.org
curl --user 'bob:«‹l6›!x»' https://x.org
curl -sS -X POST -u bob:«‹a10›» -d '{}' https://x.org
curl --proxy-user me:«‹l8›» https://x.org
http -a bob:«‹l8›» GET x.org
wget --user=me --password=«‹a10›» https://x.org
wget --http-password «‹a10›» https://x.org
mysql -uroot -p«‹l9›» shop
mysqldump -u root -p'«‹l9›»' shop
mysql --password=«‹l9›» shop
sshpass -p «‹l9›» ssh root@host
sshpass -p '«‹l9›»' scp a b:
sshpass -p«‹l9›» ssh root@host
PGPASSWORD=«‹l9›» psql -h db
psql "host=db user=me password=«‹l9›»"
redis-cli -h cache -a «‹l9›» ping
mongo -u admin -p «‹l9›» shop
mongosh --username admin --password «‹l9›»
mongodump -u admin -p «‹l9›»
ldapsearch -x -D cn=admin -w «‹l9›» -b dc=x
smbclient //host/share -U bob%«‹l9›»
openssl enc -aes-256-cbc -pass pass:«‹l9›» -in a
openssl rsa -passin pass:«‹l9›» -in a
htpasswd -b users bob «‹l9›»
htpasswd -bc users bob «‹l9›»
docker login -u me -p «‹a16›» registry.example.org
docker login --username me --password «‹a16›»
echo «‹a16›» | docker login -u me --password-stdin
echo "«‹a12›»" | sudo -S apt update
echo 'root:«‹l9›»' | chpasswd
aws configure set aws_secret_access_key «‹b40›»
export AWS_SECRET_ACCESS_KEY=«‹b40›»
«AKIA‹u16›» «‹b40›»
npm config set //registry.npmjs.org/:_authToken «‹h36›»
//registry.npmjs.org/:_authToken=«‹h36›»
{"auths": {"x.org": {"auth": "«bWU6c2VjcmV0cGFzcw==»"}}}
<password>«‹l9›»</password>
<apiKey>«‹a32›»</apiKey>
<ns:Password type="x">«‹l9›»</ns:Password>
<add key="Password" value="«‹l9›»"/>
<property name="db.password" value="«‹l9›»"/>
<string name="api_key">«‹a32›»</string>
<key>Password</key><string>«‹l9›»</string>
7z a -p«‹l9›» a.7z b
zip -P «‹l9›» a.zip b
sqlcmd -S db -U sa -P «‹l9›»
sqlplus scott/«‹l9›»@orcl
lftp -u bob,«‹l9›» ftp.example.org
rabbitmqctl add_user bob «‹l9›»
net use Z: \\host\share /user:bob «‹l9›»
cmdkey /add:host /user:bob /pass:«‹l9›»
xfreerdp /u:bob /p:«‹l9›» /v:host
vault login «‹a24›»
kubectl create secret generic db --from-literal=password=«‹l9›»
keytool -storepass «‹l9›» -list
gpg --batch --passphrase «‹l9›» -d a
ipmitool -H x -U a -P «‹l9›» power on
mosquitto_pub -u a -P «‹l9›» -t x
DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«‹b86›==»;EndpointSuffix=core.windows.net
Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=«‹b43›=»
Server=db;User Id=sa;Password=«‹l9›»;Encrypt=true
Server=db;Uid=sa;Pwd=«‹l9›»;
Data Source=db;User ID=sa;Password=«‹l9›»
export API_KEY=«‹a24›»
PASSWORD="«‹l9› with spaces»"
password: «‹l9›»
  password: "«‹l9›»"
db_password = '«‹l9›»'
dbPassword: "«‹l9›»",
db-password=«‹l9›»
"clientSecret": "«‹a32›»"
client_secret=«‹a32›»
const apiKey = "«‹a32›»";
String password = "«‹l9›»";
password: str = "«‹l9›»"
var token string = "«‹a24›»"
$env:API_KEY = "«‹a24›»"
setx API_KEY «‹a24›»
ENV DB_PASSWORD «‹l9›»
ENV DB_PASSWORD=«‹l9›»
ARG NPM_TOKEN=«‹a36›»
DB_PASSWORD := «‹l9›»
spring.datasource.password=«‹l9›»
password = "«‹l9›»" # terraform
variable "db_password" { default = "x" } password="«‹l9›»"
  DB_PASSWORD: «‹b16›»
  - name: DB_PASSWORD\n    value: «‹l9›»
{"name": "API_KEY", "value": "«‹a24›»"}
settings["SECRET_KEY"] = "«‹a50›»"
os.environ["API_TOKEN"] = "«‹a32›»"
config.setPassword("«‹l9›»")
builder.withToken("«‹a24›»")
props.put("password", "«‹l9›»")
Passwort: «‹l9›»
Kennwort=«‹l9›»
пароль: «‹l9›»
пароль = «‹l9›»
mot de passe : «‹l9›»
contraseña: «‹l9›»
senha: «‹l9›»
deploy --token «‹a24›» --env prod
deploy --token=«‹a24›»
deploy --api-key «‹a24›»
Connect-X -Password «‹l9›» -User me
java -Djavax.net.ssl.keyStorePassword=«‹l9›» -jar a.jar
CREATE USER bob IDENTIFIED BY '«‹l9›»';
ALTER USER bob WITH PASSWORD '«‹l9›»';
ALTER ROLE bob PASSWORD '«‹l9›»';
SET PASSWORD FOR 'bob' = PASSWORD('«‹l9›»');
requirepass «‹l9›»
PrivateKey = «‹b43›=»
PresharedKey = «‹b43›=»
psk="«‹l9›»"
wpa_passphrase home «‹l9›»
nmcli dev wifi connect home password «‹l9›»
DD_API_KEY=«‹h32›»
HEROKU_API_KEY=«‹h8›-‹h4›-‹h4›-‹h4›-‹h12›»
db:5432:shop:bob:«‹l9›»
bob:«$6$‹a8›$‹a86›»:19000:0:99999:7:::
hash «$2b$12$‹a53›» is stored
ConvertTo-SecureString "«‹l9›»" -AsPlainText
the password is «‹l9›»
The password is "«‹l9›»", please keep it.
The password for bob is «‹l9›».
my password is «‹l6›!» now
the root password was changed to «‹l9›»
set the password to «‹l9›» please
log in with user bob and password «‹l9›»
my API key: «‹a24›»
my API key is «‹a24›»
the token is «‹a24›» until tomorrow
use the token «‹a24›» for it
das Passwort lautet «‹l9›»
das Passwort ist «‹l9›» geworden
Das Passwort für bob lautet «‹l9›».
Passwort: «‹l9›» bitte
пароль: «‹l9›» для входа
пароль — «‹l9›»
мой пароль «‹l9›»
le mot de passe est «‹l9›»
la contraseña es «‹l9›»
a senha é «‹l9›»
The PIN is «‹d4›».
your verification code is «‹d6›»
credentials: bob / «‹l9›»
login: admin:«‹l9›»
user/pass: bob / «‹l9›»
password = «correct-horse-battery-staple»
seed phrase: «abandon ability able about above absent absorb abstract absurd abuse access accident»
mnemonic = "«abandon ability able about above absent absorb abstract absurd abuse access accident»"
pw? The password's «‹l9›», right
password%3D«‹a12›»
"password":"«‹l9›»","user":"x"
{\"password\": \"«‹l9›»\"}
?token=«‹a24›»
oauth_token_secret="«‹a32›»"
TWILIO_AUTH_TOKEN=«‹h32›»
secret_key_base: «‹h64›»
"private_key": "«-----BEGIN PRIVATE KEY-----\n‹b64›\n‹b40›\n-----END PRIVATE KEY-----»\n"
begin «-----BEGIN OPENSSH PRIVATE KEY-----\n‹b64›\n‹b64›»
Authorization: FlyV1 «fm2_‹a60›»
Authorization: Digest username="bob", response="«‹h32›»"
bot «MT‹a22›.‹a6›.‹a38›» for discord
aws_session_token = «‹b80›»
_auth=«bWU6c2VjcmV0cGFzcw==»
gh auth login --with-token <<< «ghp_‹a36›»
svn co --username me --password «‹l9›» https://x.org
AccountKey=«‹b86›==»
AWS4-HMAC-SHA256 Credential=x, Signature=«‹h64›»
"""
HARMLESS = r"""
password = getpass()
password = getpass.getpass("Password: ")
token = tokens[i]
token = next(tokens)
token = self.tokens[0]
def mask(secret: str) -> str:
def login(user: str, password: str) -> bool:
def login(password: str | None = None):
password: Optional[str] = None
password: SecretStr
os.environ["API_KEY"]
api_key = os.environ["API_KEY"]
api_key = os.getenv("OPENAI_API_KEY")
token = os.environ.get("TOKEN", "")
const token = process.env.GITHUB_TOKEN;
apiKey: process.env.API_KEY
PASSWORD=${PASSWORD}
PASSWORD=$PASSWORD
export TOKEN=$(cat token.txt)
password: {{ secret }}
password: "{{ vault_password }}"
password: ${{ secrets.DB_PASSWORD }}
token: <your token>
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer ${TOKEN}
-H "Authorization: Bearer {token}"
password: str
the password is wrong
the password is required
The password is invalid.
the password is too short
the password is stored as a hash
the password is not optional
the password is 12 characters long
the password is base64-encoded
the password is hashed with argon2id
passwords are hashed with SHA256
the token is expired
the token is a JWT
The token is valid for 30 days
the token is 32 bytes
the token is one of three
the token is refreshed every 15 minutes
the secret is out
the secret is in the vault
the secret of caching: invalidate
the key is pressed
the API key is missing
my API key is not working
the access token is revoked
use the password from the vault
use a token with read scope
with password authentication
reset your password to continue
set the password to something else
change the password for bob
forgot password? click here
das Passwort ist falsch
das Passwort lautet anders
Das Passwort wurde geändert.
пароль неверный
пароль: неверный ввод
le mot de passe est incorrect
la contraseña es incorrecta
commit 2842e6c0f5b1d9a7e3c4b8d6f0a1e2c3b4d5e6f7
git checkout 2842e6c0f5b1
0191b7c2-5e7f-7abc-8def-0123456789ab
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
md5 d41d8cd98f00b204e9800998ecf8427e
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==
https://example.org/a?page=2
https://example.org:8080/a@b
https://github.com/me/repo/blob/main/token.py#L12
https://example.org/reset?lang=de
https://x.org/?code=200
https://x.org/?key=value
https://x.org/?sort=key&token_type=bearer
git@github.com:me/repo.git
ssh://git@github.com/me/repo.git
https://bob@example.org/
user@host
me@example.org
mailto:me@example.org
ssh -i ~/.ssh/id_ed25519 user@host
scp a user@host:/tmp
key: value
key=value
keyboard: qwertz
monkey=1
max_tokens=4096
tokens: 12
token: 500
token_count = 12
num_tokens: 2048
token budget is 2000
--token-budget 2000
--max-tokens 4096
the --token option
use --password to be asked
--password-file /run/secrets/db
PASSWORD_FILE=/run/secrets/db
TOKEN_PATH=~/.token
password policy: at least 12 characters
password_min_length = 12
password_hash = hash_password(password)
password=password
password = user_password
connect(password=password, user=user)
token=access_token
client.login(user, password)
set_password(password)
user.setPassword(newPassword)
secretName: db
secret_name = "db-credentials"
kind: Secret
secrets.token_hex(16)
import secrets
from secrets import token_urlsafe
keys = ["password", "token", "secret"]
("password", "email")
fields: password, token, secret
"password": {"type": "string"}
{"type": "password", "name": "pass"}
<input type="password" name="password">
<label>Password</label>
<password></password>
password: required
Password: ********
password: '***'
token: [redacted]
password: null
"password": null,
password: true
token: None
secret = None
if token == 'abc':
if password != confirm:
assert token is not None
Token::Plus
match token { Token::Plus => 1 }
token => tokens.push(token)
for token in tokens:
class Token:
return token
print(token)
log.info("token %s", token)
printf("password: %s", password)
echo "password: $PASSWORD"
echo $TOKEN | docker login --password-stdin
curl -u "$USER:$PASS" https://x.org
curl -u bob https://x.org
curl https://example.org/a.json
mysql -u root -p shop
mysql -uroot -p$PASS shop
docker run -p 8080:80 nginx
docker run -u 1000:1000 nginx
mkdir -p a/b
cp -p a b
psql -p 5432 shop
ssh -p 2222 host
redis-cli -p 6379 ping
mongo -p
sshpass -p "$PASS" ssh host
unzip -p a.zip b
zip -r a.zip b
openssl req -x509 -newkey rsa:2048
openssl enc -pass env:PASS
htpasswd -c users bob
net use
vault login -method=oidc
kubectl get secret db
Cookie: theme=dark
cookie = request.cookies.get("sid")
cookie consent banner
Bearer authentication
the bearer of news
Basic authentication
basic usage of it
Authorization: required
authorization: the server decides
--- PASS: TestFoo (0.00s)
bypass=true
pass: 5, fail: 0
passed=12 failed=0
PWD=/home/me
OLDPWD=/tmp
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ me@host
sk-learn-compatible
task-oriented-planning-2024-notes
disk-0123456789abcdef0123
hf_hub_download
npm_config_registry
pypi-simple
secret_santa
"sessionId": "468a327a-3a67-4489-aa5d-93c1c4b1cd8e"
primary_key=True
foreign_key: user_id
cache_key = f"{user}:{page}"
sort_key: name
public_key = load()
api_key: str = Field(...)
apiKey: string;
private readonly token: string;
password?: string
VITE_API_KEY=your-api-key-here
API_KEY=changeme
GITHUB_TOKEN=xxxx
the seed phrase is shown once
seed: 42
seed = 12345
mnemonic: LDA
credentials: include
credentials: same-origin
credentials are read from the environment
login: required
user: bob
machine learning default password rules
/etc/passwd
signature: (a, b) -> c
code: 404
exit code is 1
error code: E1234
the pin is on the map
pinned: true
OTP is sent by mail
"""
