"""The words of the simulation: its topics with their failures and decisions, its facts, its sentence templates."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple


class Failure(NamedTuple):
    stem: str  # of the aspect that it belongs to
    name: str
    symptom: str
    cause: str
    remedy: str


class Aspect(NamedTuple):
    """One part of a topic: what it is called, and the files that change together; a rename changes the files alone."""

    phrase: str
    stem: str
    files: tuple[str, ...]


class _Topic(NamedTuple):
    name: str
    rhythm: str
    folder: str
    extension: str
    aspects: tuple[Aspect, ...]
    failures: tuple[Failure, ...]
    question: str
    options: tuple[str, ...]

    def paths(self, stem: str) -> tuple[str, ...]:
        return _paths(self.folder, self.extension, stem)


@cache
def topics() -> tuple[_Topic, ...]:
    return tuple(_topic(block) for block in _TOPICS.split("\n\n"))


def _topic(block: str) -> _Topic:
    """Lines: name | rhythm | folder extension | stem = phrase; …   ! stem | name | symptom | cause | remedy   ? question = options."""
    head, *failures, decision = block.strip().split("\n")
    name, rhythm, place, aspects = head.split(" | ")
    folder, extension = place.split()
    pairs = (aspect.split(" = ") for aspect in aspects.split("; "))
    question, options = decision.removeprefix("? ").split(" = ")
    return _Topic(
        name,
        rhythm,
        folder,
        extension,
        tuple(Aspect(phrase, stem, _paths(folder, extension, stem)) for stem, phrase in pairs),
        tuple(Failure(*failure.removeprefix("! ").split(" | ")) for failure in failures),
        question,
        tuple(options.split("; ")),
    )


def _paths(folder: str, extension: str, stem: str) -> tuple[str, ...]:
    return tuple(path.format(folder=folder, stem=stem) for path in _LAYOUT[extension])


def own(choices: tuple[str, ...], topic: int) -> tuple[str, ...]:
    """The five that a topic keeps coming back to."""
    return tuple(choices[(5 * topic + step) % len(choices)] for step in range(5))


@cache
def facts() -> tuple[tuple[str, tuple[str, ...]], ...]:
    pairs = (line.split(" = ") for line in _FACTS.strip().split("\n"))
    return tuple((sentence, tuple(values.split("; "))) for sentence, values in pairs)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().split("\n"))


ENDINGS = ("core", "rules", "store", "service", "v2")
_LAYOUT = {
    "py": ("src/{folder}/{stem}.py", "tests/{folder}/test_{stem}.py"),
    "ts": ("web/{folder}/{stem}.ts", "web/{folder}/{stem}.test.ts", "web/{folder}/{stem}.css"),
    "sql": ("db/{folder}/{stem}.sql", "tests/{folder}/test_{stem}.py"),
    "yaml": ("ops/{folder}/{stem}.yaml",),
}
CASES = _lines("""
empty input
two writers at once
a half-written file
duplicate identifiers
very long names
a lost connection
numbers above two billion
names with accents
a slow disk
retries out of order
a leap day
a full queue
""")
TECHNIQUES = _lines("""
a bounded queue
a bloom filter
binary search
a lookup table
a read-write lock
prepared statements
batches of 500 rows
a compare-and-swap
exponential backoff with jitter
a ring buffer
a covering index
a single pass over the rows
""")
PURPOSES = _lines("""
so that a second call costs nothing
to halve the memory it holds
so that a restart loses no work
for customers with more than a thousand stops
before the next release depends on it
so that a reader finds it in one place
because the profile showed most of the time there
to make the order of results stable
so that one tenant cannot starve another
as agreed in the review
""")
PEOPLE = ("Mara Okafor", "Jonas Lindqvist", "Priya Raman", "Tomasz Zielinski", "Aiko Brandt", "Luc Moreau")
CARE = ("looks after", "reviews changes to", "knows most about", "asked for a summary of")
COMMITS = _lines("""
Rework {aspect} {purpose}
Use {technique} in {aspect} {purpose}
Add {technique} to {aspect}
Guard {aspect} against {case}
Cover {aspect} with tests for {case}
Split {aspect} from {other} {purpose}
Simplify {aspect} {purpose}
Make the limit in {aspect} configurable as {stem}_limit, {n} by default
Document {aspect} and what happens with {case}
Log how long {aspect} takes, with a warning above {m} ms
Replace the loop in {aspect} by {technique}
Speed up {aspect} by {n} % with {technique}
{topic}: refuse {case} in {aspect}
{topic}: let {aspect} report {case} {purpose}
Address the review by {person} on {aspect}
""")
SWEEPS = _lines("""
Apply the formatter to {topic} and its neighbours
Type annotations across {topic} {purpose}
Use one name for {aspect} in all of {topic}
""")
REMOVALS = ("nothing calls it any longer", "the last customer who used it has moved", "its work is done elsewhere")
REASONS = _lines("""
because it is simpler to explain
because measurements on a week of traffic favour it
since the old way cost us two incidents
because it needs no new service
since the team can maintain it
because it keeps the tail latency low
since the customer's auditor asked for it
because it fails in the open
""")
TOOLS = _lines("""
pytest tests/{folder} -k {stem}: {n} passed in {m} ms
Read {path} ({m} lines) to see how {aspect} handles {case}
rg {stem} finds {n} hits, most of them in {path}
git log {path}: {n} commits, the last by {person}
Profile of {aspect}: {n} % of the time goes into {other}
Trace of a request through {aspect}: {m} ms, {n} of them in {other}
Benchmark of {aspect}: median {n} ms over {m} runs
Edited {path} to try {technique}
Searched the notes on {topic} for {case}: {n} entries
Staging deployment of {topic} took {m} s
Type check of {folder}: no complaint in {n} files
""")
BROKEN_TOOLS = _lines("""
pytest tests/{folder} -k {stem}: {n} failed, {m} passed
Linter stops at {path}, line {m}: unused name {stem}
Build of {folder} ended with exit code 1 after {m} s
Connection to staging refused while looking at {aspect}
""")
CAUSES = _lines("""
a check was lost in the last refactoring | bring back the check for {case} and test it
the default changed with the last update | set the default for {aspect} in our own configuration
the error is caught and dropped | let the error through and count it
the limit is read once at start | read the limit at every call
a retry repeats what had already succeeded | make {aspect} idempotent
the test data never contained {case} | add {case} to the test data and handle it
two threads share one buffer | give each thread a buffer of its own
the value is compared before it is normalised | normalise once at the border
""")
FAILURES = _lines("""
{symptom} because {cause}
{symptom}; the cause: {cause}
Found why {symptom}: {cause}
Incident: {symptom}, since {cause}
""")
FAILURES_AGAIN = _lines("""
Again {symptom}: {cause}
Seen {seen} times by now: {symptom}, because {cause}
It came back: {symptom}; {cause}
""")
FIXES = _lines("""
Fixed that {symptom}: {remedy}
Why {symptom}: {cause}. The remedy is to {remedy}
When {symptom}, {remedy}
Since {cause}, we now {remedy}; before, {symptom}
""")
FALSE_FIXES = _lines("""
Restarted the workers because {symptom}; it helped for an hour only
Raised the timeout because {symptom}; that hides it and mends nothing
Tried a larger host because {symptom}; no change
""")
REMINDERS = ("Still true", "As noted before", "Asked again today", "For the hand-over")
_FACTS = """
Mara Okafor works from {} = Lisbon; Utrecht; Bergen
Jonas Lindqvist works from {} = Malmö; Gothenburg
Priya Raman works from {} = Leeds; Pune
Tomasz Zielinski works from {} = Kraków; Vienna
Aiko Brandt works from {} = Hamburg; Osaka
Luc Moreau works from {} = Lyon; Brussels
Support for the northern depots is done by {} = Jonas Lindqvist; Aiko Brandt; Luc Moreau
The staging database runs in {} = Frankfurt; Dublin; the office rack
Backups are kept in {} = Stockholm; Milan
The weekly planning meets in {} = the harbour room; the library; a video call
The pilot depot is in {} = Rotterdam; Antwerp; Gdańsk
The customer's acceptance tests are led by {} = Ms Adeyemi; Mr Castellan
The database version is {} = PostgreSQL 15; PostgreSQL 16; PostgreSQL 17
Builds run on {} = two shared runners; four shared runners; one large host
The linter in use is {} = ruff 0.6; ruff 0.8
Dashboards are drawn with {} = Grafana 10; Grafana 11
Secrets are read from {} = the vault on host kestrel; the cloud secret store
The design files are in {} = the shared drive; the wiki
"""
_TOPICS = """
http-api | core | api py | routing = the request router; pagination = cursor pagination; errors = the error responses; throttle = the rate limiter; schemas = the request schemas; versions = version negotiation
! pagination | cursor-skip | the orders list skips a row between two pages | the cursor orders by a timestamp that is not unique | order by timestamp and id together
! throttle | throttle-shared | a single customer is throttled for everybody behind the same proxy | the rate limiter counts by address | count by API key and fall back to the address
! errors | body-limit | uploads above 8 MB end in a bare 502 | the proxy cuts the body before the handler sees it | answer 413 with the limit in the error response
? the error format of the API = problem details in JSON; a plain code with a message; an error envelope with a trace id

data-model | core | model py | orders = the order aggregate; parcels = the parcel states; money = the money type; identifiers = identifier generation; events = the domain events; depots = depot opening hours
! money | rounding | totals differ by one cent from the invoice | amounts pass through floating point in the discount step | keep cents as integers until they are shown
! orders | lost-update | a parcel jumps back from delivered to loaded | two writers save the same row without a version check | compare the row version on save and retry once
! depots | dst-gap | a depot opens one hour late in spring | opening hours are stored as UTC offsets | store local hours with the time zone name
? primary keys of new tables = sequential integers; time-ordered UUIDs; random UUIDs

test-suite | core | testing py | fixtures = the database fixtures; factories = the object factories; golden = the golden files; parallel = parallel test runs; coverage = the coverage gate
! fixtures | flaky-clock | the expiry test fails about once in forty runs | it reads the wall clock on both sides of midnight | pass a fixed clock to the code under test
! parallel | shared-port | parallel test runs hang at the start | two workers bind the same port | ask the system for a free port in each worker
! golden | golden-newline | golden files differ on one laptop only | the checkout turns line ends into CRLF | pin line ends in .gitattributes
? the test database = SQLite in memory; a container for each run; one schema for each worker

logging | core | logs py | context = request context in log lines; redaction = the masking of secrets; sampling = log sampling; rotation = log rotation; levels = the log level switch
! rotation | disk-full | the worker host stops writing at night | rotated logs are never removed | keep seven files and remove older ones
! redaction | token-leak | a bearer token shows up in the debug log | masking looks at headers but not at query strings | mask query parameters by the same list as headers
! context | lost-context | background jobs log without a request id | the context variable is not copied into the thread pool | submit jobs through a copied context
? the log format = key=value lines; JSON lines; plain text with a trace id

release | every 14 | release py | changelog = the changelog; tagging = the release tag; notes = the release notes; smoke = the smoke test; rollback = the rollback script; freeze = the code freeze
! tagging | tag-missing | the release build starts from the wrong commit | the tag was pushed after the pipeline had read the branch | start the pipeline from the tag alone
! smoke | smoke-timeout | the smoke test times out after deployment | the first request compiles all templates | warm the templates before the health check turns green
! rollback | rollback-schema | the rollback leaves the old code on the new schema | the migration dropped a column in the same release | drop columns one release later
? the day of the release = every second Tuesday; every second Thursday; Wednesday morning

dependency-updates | every 28 | deps py | lockfile = the lock file; audit = the vulnerability audit; pins = the version pins; images = the base images; licences = the licence list
! lockfile | transitive-break | the worker fails on import after the monthly update | a transitive package dropped a module that we import | depend on the package directly and pin it
! audit | audit-noise | the audit fails every build for a package used only in tests | the audit reads all groups of the lock file | audit the groups that are shipped
! images | image-libc | wheels do not load in the new base image | the image moved to another C library | build the wheels inside the same image
? the rule for updates = monthly in one batch; weekly and automatic; security fixes only

invoicing | every 30 | billing py | runs = the monthly invoice run; taxes = tax rules by country; reminders = payment reminders; creditnotes = credit notes; export = the ledger export
! runs | double-invoice | eleven customers received two invoices | the invoice run was restarted without an idempotency key | derive the key from customer and month
! taxes | tax-border | island addresses get the mainland tax rate | the rule looks at the country and not at the postcode | match postcode ranges before the country
! reminders | late-reminder | reminders go out on the day after payment | the bank file is read after the reminders | read the bank file first and wait for it
? the time of the invoice run = the first working day; the last day of the month; the third of the month

connection-pool | incident | db py | pool = the connection pool; timeouts = statement timeouts; retries = the retry of transactions; replicas = reads from replicas; health = the connection health check
! pool | pool-exhausted | checkout requests time out after 30 seconds | idle transactions hold every connection of the pool | close transactions before calling other services
! replicas | replica-lag | a new order is missing from the list right after checkout | the list reads from a lagging replica | read your own writes from the primary for ten seconds
! health | dead-peer | requests hang after the database failed over | the pool hands out sockets to a dead host | check a connection that was idle for a minute before use
? the size of the connection pool = 20 for each process; 8 for each process; a shared pool through a proxy

message-queue | incident | queue py | consumers = the queue consumers; deadletters = the dead letter queue; ordering = message ordering; backpressure = backpressure on producers; visibility = the visibility timeout
! deadletters | poison-message | one consumer restarts in a loop | a malformed message is put back at the head of the queue | move a message aside after three attempts
! visibility | duplicate-delivery | labels are printed twice | the visibility timeout is shorter than the slowest job | extend the timeout while the job runs
! consumers | queue-backlog | pick-up messages arrive forty minutes late | one slow tenant fills the only queue | give each tenant its share of the consumers
? delivery in the message queue = at least once; at most once; at least once with deduplication

certificates | incident | infra yaml | renewal = certificate renewal; gateway = the gateway listeners; secrets = the secret store; dns = the DNS records; clocks = host clock synchronisation
! renewal | cert-expired | partners cannot connect since the morning | the renewed certificate was never loaded by the gateway | reload the gateway when the file changes
! gateway | chain-missing | old scanners refuse the certificate | the intermediate certificate is not sent | serve the full chain
! clocks | clock-drift | signed requests are refused as expired | one host runs four minutes ahead | alert on drift above one second and resynchronise
? the issuer of certificates = the public authority; our internal authority; the cloud provider

response-cache | recurring | cache py | eviction = the eviction policy; expiry = the time to live of entries; warmup = the cache warm-up; keys = the cache key builder; stampede = the stampede guard; stats = the hit rate counters
! keys | stale-price | price pages stay stale for an hour | invalidation misses variants that share a cache key | put the variant id into the cache key
! stampede | cache-stampede | the database peaks whenever the home page expires | every worker rebuilds the same entry at once | let one worker rebuild while the others serve the old entry
! eviction | cache-memory | the cache grows until the host swaps | entries are counted but not weighed | evict by bytes instead of entries
? the eviction policy of the response cache = least recently used; least frequently used; segmented LRU

authentication | recurring | auth py | tokens = the refresh tokens; sessions = session storage; passwords = password hashing; roles = the role check; lockout = the account lockout; sso = single sign-on
! tokens | refresh-race | users are logged out when two tabs are open | both tabs rotate the same refresh token | accept the previous token for thirty seconds
! sso | clock-skew | single sign-on fails for one customer | their clock is ahead of ours and the assertion is not yet valid | allow two minutes of skew
! roles | role-cache | a removed administrator keeps access until evening | roles are cached for eight hours | drop cached roles when a role changes
? password hashing = bcrypt with cost 12; argon2id; scrypt

search-index | recurring | search py | tokenizer = the tokenizer; ranking = the ranking function; synonyms = the synonym list; reindex = the reindex job; highlights = result highlights; typos = typo tolerance
! tokenizer | umlaut-miss | searching for Müller finds nothing | documents are normalised and queries are not | normalise queries with the same function
! reindex | reindex-gap | new products are missing after a reindex | writes during the rebuild go to the old index only | write to both indexes until the alias moves
! typos | slow-prefix | one-letter searches take six seconds | the prefix expands to the whole vocabulary | ask for two letters before expanding
? the ranking of search results = BM25; BM25 with a freshness boost; BM25 fused with vectors

route-planner | recurring | planner py | distances = the distance matrix; windows = delivery time windows; solver = the local search solver; capacity = vehicle capacity; breaks = driver breaks; traffic = traffic profiles
! distances | ferry-route | a tour crosses the bay by a ferry that does not run | the distance matrix ignores timetables | exclude ferries unless the tour asks for them
! solver | solver-stuck | planning for the north depot never ends | two moves undo each other at equal cost | accept only moves that lower the cost
! windows | window-overlap | a driver is expected at two doors at nine | windows are checked before service time is added | check windows after the service time
? the solver of the route planner = savings heuristic; simulated annealing; large neighbourhood search

schema-migrations | recurring | migrations sql | backfill = the backfill of old rows; locks = lock timeouts in migrations; indexes = concurrent index builds; partitions = table partitions; constraints = foreign key constraints
! constraints | long-lock | all writes stop during a migration | adding the constraint scans the table under an exclusive lock | add it as not valid and validate later
! backfill | backfill-replay | the backfill starts again from the first row after a restart | progress is kept in memory | store the last id after each batch
! indexes | index-invalid | a query is slow although its index exists | the concurrent build failed and left an invalid index | drop the invalid index and build it again
? the way migrations run = before the deployment; as a separate job; by hand with two people

csv-import | recurring | imports py | parser = the CSV parser; encodings = encoding detection; mapping = the column mapping; preview = the import preview; duplicates = duplicate detection; batches = batch size
! parser | quote-split | addresses with a comma end up in two columns | the parser splits before it looks at quotes | parse quotes in one state machine
! encodings | bom-header | the first column is never recognised | the file starts with a byte order mark | decode with utf-8-sig
! mapping | date-order | deliveries move from April to January | day and month are guessed for each row | decide the order once for the whole file
? what the import does with a bad row = refuse the whole file; skip the row and report it; stop at the row

web-forms | recurring | forms ts | validation = form validation; autosave = autosave of drafts; addressbox = the address box; keyboard = keyboard navigation; uploads = the upload widget
! autosave | autosave-loop | the order form saves every second without a change | the saved draft comes back with another field order | compare drafts after sorting their fields
! keyboard | focus-lost | keyboard users lose the focus after an error | the form is rendered again from the root | keep the node and update its message only
! validation | double-submit | two orders are created by a double click | the button stays enabled during the request | disable the button and send an idempotency key
? form validation = in the browser and on the server; on the server only; from one shared schema

monitoring | recurring | metrics yaml | alerts = the alert rules; dashboards = the dashboards; latency = latency histograms; oncall = the on-call rota; traces = trace sampling
! latency | alert-flap | the latency alert fires and clears all night | the threshold is compared with a one-minute average | alert on the burn rate over an hour
! traces | label-explosion | the metrics server runs out of memory | the customer id is used as a label | drop the label and keep it in traces
! alerts | silent-job | a nightly job was dead for nine days | nothing alerts on a missing metric | alert when the last success is older than a day
? the alert threshold = p95 above 400 ms; p99 above one second; error budget burn

pdf-export | once | pdf py | fonts = font embedding; tables = table layout; pages = page breaks; barcodes = barcode rendering; templates = the label templates
! fonts | font-missing | Polish names show boxes on the label | the embedded font lacks Latin Extended | embed the full font subset
! pages | page-break | the total is printed alone on a second page | the break is decided before the footer is measured | measure the footer first
! barcodes | barcode-blur | scanners reject the printed barcode | the barcode is scaled as a bitmap | draw the bars as vectors
? the PDF engine = a headless browser; a layout library; LaTeX in a container

address-parser | once | addresses py | grammar = the address grammar; postcodes = postcode patterns; abbreviations = street abbreviations; geocoding = the geocoding fallback; scoring = the confidence score
! grammar | house-letter | house number 12b becomes apartment b | the grammar takes letters after a number for a unit | allow one letter next to the digits
! postcodes | postcode-zero | postcodes in Saxony lose their first zero | the column is read as an integer | read postcodes as text
! geocoding | geocode-quota | geocoding stops at noon | every keystroke asks the paid service | ask once after the field is left
? the address parser = hand-written grammar; a statistical tagger; the paid service

feature-flags | once | flags py | rollout = gradual rollout; targeting = flag targeting; cleanup = the cleanup of old flags; defaults = flag defaults; auditlog = the flag audit log
! targeting | flag-bucket | the same user sees both variants | the bucket is drawn for each request | hash user and flag name into the bucket
! defaults | flag-outage | the site is down while the flag service restarts | flags are read without a default | keep the last known flags on disk
! rollout | flag-typo | the new checkout never reaches anyone | the code asks for a flag that does not exist | refuse unknown flag names at start
? where flags are kept = in a table; in a configuration file; in a hosted service

legacy-sync | once | legacy py | poller = the mainframe poller; fixedwidth = the fixed-width reader; mapping_codes = the code mapping; reconcile = the nightly reconciliation; cutover = the cut-over plan
! mapping_codes | ebcdic-euro | the euro sign turns into a currency sign | the code page is older than the euro | decode with code page 1141
! poller | poll-overlap | records are copied twice on Mondays | the weekend run overlaps the first poll | take a lease before polling
! fixedwidth | width-shift | weights are ten times too large | a new field shifted the record by one | read offsets from the copybook version
? the source of truth during the sync = the mainframe; our database; the newer of the two

push-notifications | once | push py | devices = the device registry; quiet = quiet hours; payloads = the push payloads; badges = badge counts; optout = the opt-out page
! quiet | night-push | drivers are woken at three | quiet hours use the server's time zone | use the zone of the device
! devices | token-stale | half of all pushes are dropped | device tokens are never refreshed | replace a token when the gateway reports it gone
! badges | badge-stuck | the badge shows 4 with an empty inbox | reading on the web does not update devices | send a silent push after reading
? the push provider = direct to the vendors; a hosted gateway; e-mail only

demo-day | once | demo py | script = the demo script; dataset = the demo data set; reset = the demo reset; slides = the slides; booth = the booth screen
! reset | demo-reset | the second demo shows yesterday's tour | the reset forgets the cache | clear the cache in the reset
! booth | demo-offline | the booth screen stays white | the map needs a network that the hall lacks | ship the tiles with the demo
! dataset | demo-names | real customer names appear in the demo | the data set was copied from staging | generate names from a list
? the story of the demo = a day at the depot; a parcel's journey; the planner's morning

licence-audit | once | licences py | inventory = the package inventory; headers = the licence headers; notices = the notices file; exceptions = the exception list; review = the legal review
! inventory | notice-missing | the shipped image lacks three notices | the inventory skips vendored folders | scan vendored folders as well
! review | dual-licence | the audit refuses a package under two licences | the expression is compared as plain text | parse licence expressions
! headers | header-year | the header check fails on the first of the month | the year is compared with the build date | drop the year from the header
? the file that lists licences = one notices file; a page in the product; a bill of materials

map-tiles | once | tiles py | renderer = the tile renderer; zoom = zoom levels; borders = tile borders; styles = the map styles; storage = tile storage
! borders | tile-seam | white seams appear between tiles | coordinates are rounded before clipping | clip with a margin of eight pixels
! storage | tile-budget | tile storage grew to 400 GB | the ocean is stored at every zoom level | store one tile for all that are equal
! styles | label-cut | city names are cut at tile borders | labels are placed for each tile alone | place labels on blocks of four tiles
? the format of map tiles = raster; vector; vector with raster overview
"""
