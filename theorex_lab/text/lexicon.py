"""The words that concept extraction knows: English function words, verbs, adjectives, plurals and aliases.

A word that stands in no list and has no telling ending counts as a noun, so these lists name what is *not* a
noun, and what may be either. Verbs are listed by their base form; `word_kinds` inflects them when first asked.

>>> word_kinds()["prevents"] == VERB and word_kinds()["cache"] == WEAK
True
"""

from __future__ import annotations

import re
from functools import cache

# Kinds of tokens. From NOUN on, a token may stand inside a noun phrase.
SENTENCE, COMMA, MARK, ADVERB, CONJUNCTION, COORDINATOR, DETERMINER, PREPOSITION, TO, PRONOUN = range(10)
MODAL, AUXILIARY, RELATIVE, VERB, PARTICIPLE, GERUND, GENERIC, NUMBER, STOP_NOUN = range(10, 19)
NOUN, GERUND_NOUN, ADJECTIVE, ATOM, STRONG, MIDDLE, WEAK, STRONG_S, MIDDLE_S, WEAK_S = range(20, 30)

_DETERMINERS = """
the a an this these those my your his her its our their every each all both some any no another either neither such
much many several few most what whose one two three four five six seven eight nine ten dozen hundred thousand million
half thirty forty fifty sixty twenty enough other others same own various certain
"""
_PREPOSITIONS = """
in on at by for from with without within into onto of off out over under above below between among amongst across
through throughout during before after behind beside besides beyond near around about against along toward towards
upon via per despite except like unlike since until till inside outside underneath up down back amid versus vs minus
plus including excluding concerning regarding due according ago apart aside w w/o
"""
_PRONOUNS = """
i you he she it we they who me him them us myself yourself himself herself itself ourselves themselves someone
somebody anyone anybody everyone everybody nobody nothing something anything everything none mine yours hers ours
theirs whoever whatever i'm i've i'll i'd you're you've you'll you'd he'll he'd she'll she'd it'll it'd we're we've
we'll we'd they're they've they'll they'd
"""
_MODALS = """
can could may might must shall should will would do does did don't doesn't didn't can't cannot couldn't won't wouldn't
shouldn't mustn't needn't let lets let's please gonna ought
"""
_AUXILIARIES = """
is are was were be been being am has have had having isn't aren't wasn't weren't hasn't haven't hadn't ain't here's
there's that's what's becomes became become seems seemed seem
"""
_RELATIVES = "that which"
_CONJUNCTIONS = """
but because so if unless although though while whereas whether than as when whenever where wherever how why lest once
etc e.g i.e eg ie cf n/a
"""
_COORDINATORS = "and or nor then and/or"
_ADVERBS = """
not never always often soon still yet just only now here there again already also almost even ever too very quite
rather maybe perhaps however therefore thus hence instead together away forward forwards backward backwards ahead well
more less least later earlier sooner afterwards meanwhile otherwise anyway indeed else everywhere somewhere anywhere
nowhere sometimes seldom today yesterday tomorrow tonight twice far nearly hardly overnight upfront nowadays
furthermore moreover nevertheless nonetheless likewise somehow somewhat altogether alongside anymore ok okay yes yeah
hello hi hey thanks thank oh ah wow hmm btw fyi asap imo todo fixme wip nb ps am pm utc monday tuesday wednesday
thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays dr mr mrs ms prof january february april june july august september october november december
true false null none nil def elif self const var func fn int str bool args kwargs foo bar baz lol
"""
# Fillers that say nothing about a text; a phrase is cut where one stands. 54 of them.
STOP_NOUNS = frozenset(
    """
    thing time way lot bit kind sort part piece case point fact example instance reason matter stuff people person man
    woman guy day week month year hour minute second moment place area end side number amount couple bunch rest whole
    problem issue question idea sense term aspect detail manner extent purpose today future past
    """.split()
)
_STOP_NOUN_PLURALS = "men women guys lots bits".split()

_GENERIC_ADJECTIVES = """
able acceptable actual additional alive alone available aware awesome awful bad beautiful best better big bigger biggest
busy careful cheap cheaper clean clear cold common complete correct crazy critical crucial current different difficult
dirty double dry early easier easy entire essential exact excellent expensive extra fast faster fastest favorite
favourite final fine first following fourth free fresh full funny further general glad good great greater greatest happy
hard harder heavy high higher highest horrible hot huge important impossible incomplete incorrect initial insufficient
interesting key large larger largest last late latest likely little long longer longest low lower lowest main major
maximum mere minimum minor multiple nasty necessary new newer newest next nice normal obvious odd old older oldest only
overall particular perfect plain poor possible previous proper proud quick quicker ready real reasonable recent rich
right rough sad safe serious severe short shorter shortest significant similar simple simpler single slow slower slowest
small smaller smallest sole sorry special specific strange strong stronger subtle sufficient sure terrible third tiny
tired total tricky ugly unable unavailable unlikely unsafe useful useless usual warm weak weaker weird wet whole worse
worst wrong young
"""
# Adjectives that carry meaning: they may open a phrase, but are no concept by themselves.
_ADJECTIVES = """
abstract academic active ad-hoc adaptive adjacent ancient annual append-only artificial async asynchronous atomic
automated automatic back-end bayesian bidirectional biological bitter black blind blue bright brittle built-in cached
canonical central chemical chief closed commercial compressed concrete concurrent configurable content-addressed
contextual corrupt cross-platform cross-site cultural daily dark dead deep dense deprecated deterministic digital
distributed domestic downstream dumb dynamic eager eastern economic elastic electric electrical empirical empty
encrypted end-to-end exclusive experimental explicit exponential external financial flaky flat foreign fragile front-end
generative generic global gray greedy green grey healthy heavyweight hidden high-level historical horizontal hourly
idempotent idle immutable implicit in-memory inactive inbound inclusive incoming incremental industrial inline insecure
interactive internal international invalid iterative junior lazy legal lexical lightweight linear local logical
long-term loose low-level mandatory manual medical mental missing modern monthly multi-tenant mutable naive narrow
national native natural nested neutral nightly noisy nonlinear northern numeric obsolete offline on-premise online open
open-source optional organic orthogonal out-of-date outbound outgoing parallel partial periodic permanent persistent
personal physical pink political portable private probabilistic professional public pure quadratic quarterly quiet
random raw read-only readable real-time recursive red redundant regional relational remote responsive reusable reverse
robust rolling rural same-site scalable secure semantic senior sequential shallow shared short-term signed silent smart
social soft sour southern sparse spatial spicy stable stale stateful stateless static statistical stochastic strict
supervised sweet sync synchronous syntactic technical temporal temporary textual theoretical thick thin thread-safe
tight transient type-safe unhealthy unidirectional unique unsigned unstable unsupervised up-to-date upper upstream urban
valid vanilla vegan vegetarian verbal verbose vertical virtual visible visual weekly western white wide write-only
yearly yellow
"""

_VERBS = """
accept achieve acquire activate adapt add adjust admit adopt adore advise affect aggregate agree allocate allow alter
amend analyse analyze annotate announce anticipate apologize appear append apply appreciate approve argue arise arrange
arrive ask assemble assert assess assign assist associate assume assure attach attain attend authenticate authorize
automate avoid await backport bail ban become begin behave believe belong bind blame bootstrap borrow bother bring
broaden buy calculate calibrate care carry categorize cease celebrate centralize chase cherry-pick choose cite clarify
classify clean clear climb cling close coalesce collapse collect collide combine come commence communicate compare
compensate compete compile complain complete compose compress comprise compute conceal conclude configure confirm
confuse connect consider consist consolidate construct consult consume contain continue contribute convert convince cook
cooperate cope correct correlate corrupt crawl create cry cultivate customize deactivate decide declare decode decompose
decompress decouple decrypt dedupe deduplicate deem defend defer define degrade delegate delete deliver demonstrate deny
depend deprecate derive describe deselect deserialise deserialize deserve destroy detach detect deteriorate determine
develop deviate diagnose die differ dig digest diminish disable disagree disallow disappear discard disconnect discover
discuss dislike dispose disrupt distinguish distribute dockerize donate drain draw earn eat edit elaborate elect elevate
eliminate emerge emit emphasize employ empower enable encapsulate encode encounter encourage encrypt enforce engage
enhance enjoy enlarge enqueue enrich ensure enter enumerate erase escalate establish evade evaluate evict evolve examine
exceed exclude execute exhaust exist expand expect expire explain explode explore expose express extend extract
facilitate fail fall feed feel fetch fill finalize find finish flatten fly follow forbid forget forgive formulate
forward fulfil fulfill gain gather generate get give go govern grab graduate grow happen hate hear hesitate hide hit
hold hurt identify ignore illustrate imagine impair implement imply impose improve include incorporate indicate infer
inflate inform inherit inhibit initialise initialize inject insist inspect inspire instantiate instruct integrate intend
interact intercept interfere interpolate interpret interrupt introduce invalidate invent investigate invite invoke
involve isolate iterate join justify keep kill know lack last laugh lay lead lean learn leave lend liberate lie lift
listen live locate lose love lower maintain make manage manipulate marry materialize mean measure meet memoize migrate
minimize mislead mitigate modify motivate multiply mutate need negotiate normalise normalize notify observe obtain occur
omit operate optimise optimize organize outperform outweigh overcome overrule oversee overtake overwrite owe own
paraphrase parse participate pay perceive perform permit persist persuade populate possess postpone praise precede
predict prefer prepare prepend preserve pretend prevent prioritize proceed produce prohibit promote propagate propose
prosper protect prove provide provision prune publish punish purchase pursue put qualify quantify quit raise react
realize reassign rebase rebuild recall receive recheck recognize recommend recompute reconcile reconnect reconsider
reconstruct recover recreate recur recycle redeploy redesign redo reduce refactor refer refine reflect refuse regard
regenerate register reimplement reinforce reinstall reject relate relax reload relocate rely remain remember remind
remove rename reopen reorder reorganize rephrase replace replicate reply represent reproduce require rerun reschedule
resemble resend reshape reside resign resist resize resolve respond restore restrict restructure resume retain retire
retrieve reuse reveal reverse revert revise revisit revoke rise rotate sacrifice salvage sanitize satisfy save say
scrape scrub secure see seek seem select sell send serialize serve settle shorten shout shrink shut silence simplify
simulate sing sit skip sleep slip slow smile snooze solve speak specify spell spend spill stabilize stand standardize
stay steal strengthen strip subclass submit subscribe subtract succeed suffer suggest summarize supersede suppose
suppress survive swallow swim synchronize synthesize take teach tell tend terminate think throttle tidy tighten tokenize
tolerate touch transcribe transform translate transmit transpose travel traverse trim truncate try tune turn unblock
uncover understand undo unify uninstall unite unload unlock unpack unpin unregister unset unwrap upgrade uphold urge
utilize vacate validate vanish vary verify vet violate visit visualize wake want warm warn waste wear weigh whip widen
win wipe wish withdraw withstand wonder wrap
"""
# Verb at the opening of a clause, noun elsewhere: "Fix race", "the fix".
_STRONG = """
attempt break bump call change cover cut decrease delay demand drop fix force grant guard hand handle help hook increase
limit list look mark merge move pass pin play point reset retry return revamp rework run set ship show speed split start
stop switch track tweak update use wire work
"""
# Either: decided by what follows in the clause.
_MIDDLE = """
answer archive batch benchmark build check commit debug deploy design document download export filter format hang hash
import lint load log map mock model monitor name patch plan poll print profile prompt query rank rate read release
report research review route sample scan schedule score search share stage store stub study support surface sync test
trace train upload vote write
"""
# Noun unless the next word shows otherwise: "Cache invalidation fails", "Cache the result".
_WEAK = """
access account address advance aim alert alias anchor approach arm array audit balance band bank bar base battle beat
bench bend bet bid bill bite blacklist block board bond book boost boot bottleneck bound branch bridge brief broadcast
brush budget buffer bundle burn burst button buzz bypass cache cap capture cascade cast catch cause chain challenge
channel charge chart chat checkpoint circle claim clip clock clone cluster coach coat code comment commute compromise
concern condition conduct conflict contact contract contrast control copy cost count crash credit cross curve cycle
damage dance date deal debate decay decline default defect delta demo desire diff discount dispatch display dispute
distance divide dock dose doubt draft dream dress drift drill drink drive dump duplicate echo edge effect engineer equal
escape escrow estimate exchange exercise exhibit experience experiment exploit face factor fallback fault favor fear
feature fence field fight figure file film finance finger fire fit flag flash flood flow flush focus fold forecast fork
form frame freeze fuel function fund fuse gap garden gate gauge glance glue grade graph grip ground group guarantee
guess guide halt hammer handoff handshake harm harvest head heap heartbeat heat hedge hint hire hope host house hug hunt
impact increment index influence insert inset install interest interface intern interview issue judge jump kick kiss
knock ladder land lap latch launch layer layout leak lease lecture lever license light line link loan lock loop machine
mail malfunction manifest market master match matter mention mind mine mirror miss mistake mix mode mount nest net
network notch note notice object offer offset order outage outline output overflow overhaul overlap override pack
package page paint pair panic park parody partition partner paste pattern pause peak phrase pick pilot pipe pipeline
pitch pivot place plant plate plot plug pool port pose position post power practice preset press price privilege probe
process profit program programme progress project promise proof prospect protest proxy pull pump punch purge push queue
quote race rally range reach reason rebound record recruit redirect reference refresh regress regret reign relay remark
render rent repair repeat request rescue reserve respect rest restart result retreat retrofit revolt reward rewrite
rhythm ride ring risk rival roast rock roll rollback rollout root rope round rule rush safeguard sail scale scare scope
scratch screen screenshot script seal seat section seed sense sentence separate service shadow shape shard shield shift
shock shoot shop shortcut sigh sign signal size sketch slice slide slot slump smell smoke snap snapshot sneak snow
socket sort sound source space spam span spark spike spin splash sponsor spot spread sprint stack stamp standard star
stare stash state station stem step stick stitch storm strain strand stream stress stretch stride strike string stroke
structure struggle style subject suffix suit supply surge surprise survey suspect swap sweep swing table tag talk tap
target task taste tax tear teardown template tempt text thread threshold throw tick ticket tie timeout tip title toast
toggle toll tone tool tour tow toy trade trail transfer transit transition transport trap treat trend trial trick
trigger trip trouble truck trust tunnel tweet twist type value vendor venture veto video view voice volume wager wait
walk wall wander ward warehouse wash watch water wave weight whitelist window witness word workaround worry wound wreck
yield zip zone zoom
"""
_GERUND_NOUNS = """
accounting alerting autoscaling backing balancing banking batching beginning benchmarking billing binding boarding
bookkeeping branching buffering building caching camping chunking clearing climbing clustering coding computing
consulting cooking counting cycling dancing debugging decoding drawing embedding encoding ending engineering
error-handling filtering finding fine-tuning fishing formatting funding gaming gardening handling hashing hiking hiring
hosting housing indexing knitting learning lighting linting listing load-balancing locking logging manufacturing mapping
marketing meeting mentoring mining modeling modelling monitoring networking offering onboarding opening ordering
packaging padding painting parking parsing partitioning planning polling pooling pricing processing profiling
programming prompting prototyping publishing quantizing queueing queuing ranking rating reading reasoning rendering
rounding routing sampling scaling scheduling scoring screening scripting sequencing setting sharding shipping singing
spacing spelling staffing staging staking stemming streaming swimming testing thinking thresholding throttling timing
tracing trading training tuning typing understanding versioning warning wedding wiring writing
"""
# Plain nouns that an ending or a prefix would make something else.
_NOUNS = """
ally anomaly assembly bed belly bible bread breed bully business butterfly cable ceiling clothing compromise constable
creed darling directive disease duckling earring enterprise evening executable exercise expertise family feed fortress
franchise greed hatred herring homily hundred infrared italy july lily merchandise mistake monopoly morning netlify
noise overview paradise plumbing poly precision predicate prediction preference prefix premise premium presence prize
process pudding reagent recipe reed regard remedy reply republic research reservoir residence resident resistance
resource response restaurant retina seed shed shopify sibling sling speed spotify spring steed supply syllable table
thread timetable union university variable vegetable weed wilderness wing wireless
"""
_SHORT_NOUNS = """
act ad add age aid air app arg arm art bag bar bay bed bet bit box bug bus car cat cow cup cut day dev dog ear egg end
env era eye fan fee fit fox fun gap gas god gun guy hat hit hub hut ice ink jam jar job joy key kid lab lap law leg lid
lip log man map mix mud nap net nut oil op pan pay pen pet pie pig pin pit pot ray red rib rod row sea sex sky son sun
tag tax tea tie tin tip toe ton top toy van var war way web win zoo
"""

_IRREGULAR_PAST = """
ate became began begun bent bought broke broken brought built burnt came caught chose chosen dealt did done drank drawn
drew driven drove drunk dug eaten fallen fell felt fled flew flown forbade forbidden forgot forgotten fought found froze
frozen gave given gone got gotten grew grown heard held hid hidden hung kept knew known laid learnt led lent lit lost
made meant met misled overcame overridden overrode paid quit ran rebuilt reran reread resent rewritten rewrote ridden
risen rode rose said sang sank sat seen sent shaken shook showed shown shrank shrunk shut slept slid sold sought sped
spelt spent spilt spoke spoken sprang sprung spun stank stole stolen stood struck stuck stung sunk swam swept swore
sworn swung taken taught thought threw thrown told took tore torn understood undid undone went wept withdrawn withdrew
withheld woke woken won wore worn written wrote
"""

# Verbs after which "to" leads to a place: "Add retry to upload worker", "Move state to journal table".
_TO_TAKERS = """
add bump move rename switch migrate connect attach link port upgrade downgrade change convert point apply map assign
append revert bind wire promote send push export write forward route
"""

ALIASES = {
    "ml": "machine learning",
    "llm": "large language model",
    "nlp": "natural language processing",
    "ai": "artificial intelligence",
    "rag": "retrieval augmented generation",
}
# Lower-case words of two or three letters that name a technology or a technical object.
SHORT_TECHNICAL = frozenset(
    """
    ai ml db ui ux ci cd cs id ip js ts os qa pr vm go k8s 2fa mfa api cli sdk ide git npm pip sql css cpu gpu tpu ram
    ssd ssh ssl tls dns tcp udp ttl wal jwt url uri csv tsv xml pdf png jpg gif svg mcp llm rag nlp aws gcp s3 ec2 rds
    sqs sns vpc cdn orm ast jit lru lfu mvc pii gdb gcc vim zsh awk sed tmp utf rpc crm erp etl hnsw bm25 faq sla slo
    kpi roi gdpr oom gc rss uv nix pod
    """.split()
)
SPECIAL_NAMES = frozenset({"c++", "c#", "f#", "g++", ".net"})
COMMIT_TYPES = frozenset("feat fix chore docs doc refactor perf ci build style test tests revert wip deps".split())

_SAME_IN_PLURAL = frozenset(
    """
    redis kubernetes postgres jenkins keras pandas aws ios macos https news series species chaos cosmos ethos kudos
    sales goods headquarters means corps jeans pants clothes glasses devops mlops gitops secops finops ops windows
    analytics physics mathematics maths statistics logistics economics politics ethics graphics semantics mechanics
    dynamics robotics diagnostics athletics electronics genetics linguistics ergonomics acoustics optics genomics
    alias canvas bias atlas gas pancreas christmas lens texas kansas arkansas vegas honduras athens brussels naples
    netherlands philippines wales cyprus paris james thomas lucas nicholas douglas jonas elias tobias andreas matthias
    niklas silas hans carlos charles mercedes moses hermes jacques socrates hercules always perhaps cors nats rabies
    diabetes herpes rails vuejs nodejs nextjs sys angeles hughes jones williams
    adams edwards phillips siemens rogers sanders reuters mumps measles thanks whereas
    """.split()
)
_IRREGULAR_PLURALS = {
    "indices": "index", "vertices": "vertex", "matrices": "matrix", "appendices": "appendix", "vortices": "vortex",
    "analyses": "analysis", "hypotheses": "hypothesis", "theses": "thesis", "crises": "crisis", "axes": "axis",
    "diagnoses": "diagnosis", "synopses": "synopsis", "syntheses": "synthesis", "parentheses": "parenthesis",
    "children": "child", "men": "man", "women": "woman", "mice": "mouse", "geese": "goose", "feet": "foot",
    "teeth": "tooth", "criteria": "criterion", "phenomena": "phenomenon", "schemata": "schema", "lives": "life",
    "half-lives": "half-life", "wives": "wife", "knives": "knife", "leaves": "leaf", "shelves": "shelf",
    "halves": "half", "wolves": "wolf", "thieves": "thief", "loaves": "loaf", "calves": "calf", "cookies": "cookie",
    "movies": "movie", "zombies": "zombie", "selfies": "selfie", "rookies": "rookie", "genies": "genie",
    "calories": "calorie", "caches": "cache", "niches": "niche", "avalanches": "avalanche", "headaches": "headache",
    "buses": "bus", "statuses": "status", "viruses": "virus", "campuses": "campus", "bonuses": "bonus",
    "nexuses": "nexus", "corpuses": "corpus", "corpora": "corpus", "censuses": "census", "focuses": "focus",
    "radii": "radius", "nuclei": "nucleus", "aliases": "alias", "biases": "bias", "gases": "gas",
    "canvases": "canvas", "atlases": "atlas", "lenses": "lens", "quizzes": "quiz", "shoes": "shoe", "toes": "toe",
    "canoes": "canoe", "foes": "foe", "apis": "api", "uris": "uri", "guis": "gui", "clis": "cli", "emojis": "emoji",
    "menus": "menu", "gpus": "gpu", "cpus": "cpu", "tpus": "tpu", "ids": "id", "dbs": "db", "prs": "pr", "vms": "vm",
    "taxis": "taxi", "skis": "ski", "gurus": "guru", "emus": "emu",
}  # fmt: skip

# Function words of other scripts, so that they do not crowd out the content.
FOREIGN_STOP_WORDS = frozenset(
    """
    это что как для или она они его все был была было были быть есть нет при уже если после перед через чтобы когда где
    также только очень может мы вы наш ваш этот эта эти тот под над без про так
    في من على إلى عن مع هذا هذه ذلك التي الذي كان كانت لكن بعد قبل كل لقد أن إن ثم قد
    και για από στο στη στην στον την της του των που είναι δεν
    של את על עם זה היא הוא אני לא גם כי אבל
    और का की के में है हैं को से पर यह वह नहीं था थी थे
    """.split()
)

SENTIMENT_WORDS = {
    word: score
    for score, words in (
        (-2.8, "outage outages corruption corrupted corrupt segfault segfaults deadlock deadlocks deadlocked breach"),
        (-2.4, "crash crashes crashed crashing crashloop broken breaks broke regression regressions regressed"),
        (-2.2, "leak leaks leaked leaking timeout timeouts overflow overflows underflow livelock starvation panic"),
        (-2.0, "bug bugs buggy flaky flakiness stale staleness hang hangs hung exception exceptions traceback"),
        (
            -1.8,
            "stampede throttled bottleneck bottlenecks deprecated unresponsive unreachable oom downtime vulnerability",
        ),
        (
            -1.6,
            "rollback reverted slow slower latency misconfigured mismatch duplicate duplicates retry retries orphaned",
        ),
        (1.6, "fixed fixes resolved passing passes deployed shipped merged idempotent optimized faster speedup"),
        (1.8, "green stable recovered mitigated restored verified reproducible hardened"),
    )
    for word in words.split()
}


def inflections(base: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The third person, the regular pasts and the gerunds of a verb; both spellings where a letter may double.

    >>> inflections("evict")
    ('evicts', ('evicted',), ('evicting',))
    """
    vowels = "aeiou"
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        third = base + "es"
    elif base.endswith("y") and base[-2:-1] not in vowels:
        third = base[:-1] + "ies"
    else:
        third = base + "s"
    if base.endswith("e"):
        stem = base if base.endswith(("ee", "oe", "ye")) else base[:-1]
        return third, (base + "d",), (stem + "ing",)
    if base.endswith("y") and base[-2:-1] not in vowels:
        return third, (base[:-1] + "ied",), (base + "ing",)
    stems = [base]
    if len(base) > 2 and base[-1] not in "aeiouwxy" and base[-2] in vowels and base[-3] not in vowels:
        stems.append(base + base[-1])
    return third, tuple(stem + "ed" for stem in stems), tuple(stem + "ing" for stem in stems)


def _add_verbs(kinds: dict[str, int], words: list[str], base_kind: int, third_kind: int) -> None:
    for base in words:
        third, pasts, gerunds = inflections(base)
        kinds[base] = base_kind
        kinds[third] = third_kind
        kinds.update(dict.fromkeys(pasts, PARTICIPLE))
        kinds.update(dict.fromkeys(gerunds, GERUND))


@cache
def word_kinds() -> dict[str, int]:
    """Every listed word and inflected verb with its kind; built at the first call, about 6,000 words."""
    kinds = dict.fromkeys((_SHORT_NOUNS + _NOUNS).split(), NOUN)
    _add_verbs(kinds, _VERBS.split(), VERB, VERB)
    _add_verbs(kinds, _WEAK.split(), WEAK, WEAK_S)
    _add_verbs(kinds, _MIDDLE.split(), MIDDLE, MIDDLE_S)
    _add_verbs(kinds, _STRONG.split(), STRONG, STRONG_S)
    kinds.update(dict.fromkeys(_IRREGULAR_PAST.split(), PARTICIPLE))
    for words, kind in (
        (_GERUND_NOUNS, GERUND_NOUN),
        (_ADJECTIVES, ADJECTIVE),
        (_GENERIC_ADJECTIVES, GENERIC),
        (_ADVERBS, ADVERB),
        (_CONJUNCTIONS, CONJUNCTION),
        (_COORDINATORS, COORDINATOR),
        (_PREPOSITIONS, PREPOSITION),
        (_PRONOUNS, PRONOUN),
        (_DETERMINERS, DETERMINER),
        (_MODALS, MODAL),
        (_AUXILIARIES, AUXILIARY),
        (_RELATIVES, RELATIVE),
    ):
        kinds.update(dict.fromkeys(words.split(), kind))
    for noun in STOP_NOUNS:
        kinds[noun] = kinds[noun + "s"] = STOP_NOUN
    kinds.update((noun, STOP_NOUN) for noun in _STOP_NOUN_PLURALS)
    kinds["to"] = TO
    return kinds


@cache
def alias_starts() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """For the first word of each alias: the words of the alias, and the canonical form of the concept."""
    starts: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for short, phrase in ALIASES.items():
        for form in (short, phrase, phrase.replace(" ", "-", 1)):
            words = tuple(form.split())
            starts.setdefault(words[0], []).append((words, phrase))
    return starts


@cache
def to_takers() -> frozenset[str]:
    """The verbs, in all their forms, after whose object "to" leads to a place and not to a verb."""
    forms: set[str] = set()
    for base in _TO_TAKERS.split():
        third, pasts, gerunds = inflections(base)
        forms.update((base, third, *pasts, *gerunds))
    return frozenset(forms)


_SUFFIX_KINDS = (
    (("n't", "'re", "'ve", "'ll", "'d", "'m"), MODAL),
    (("ly",), ADVERB),
    (("ing",), GERUND_NOUN),
    (("ed",), PARTICIPLE),
    (("able", "ible", "ful", "less", "ous"), ADJECTIVE),
    (("ize", "izes", "ify", "ifies"), VERB),
)
_ALL_SUFFIXES = tuple(suffix for suffixes, _ in _SUFFIX_KINDS for suffix in suffixes)
_SHORTEST_DERIVED = 5
_PREFIXED = re.compile(r"(?:re|un|pre|mis|over|de|auto)(.{4,})")


def kind_by_form(word: str) -> int:
    """The kind of a lower-case word that is in no list, by its ending or by the verb after its prefix.

    >>> kind_by_form("frobnicated") == PARTICIPLE and kind_by_form("reindex") == WEAK and kind_by_form("zebra") == NOUN
    True
    """
    if word.endswith(_ALL_SUFFIXES) and (len(word) >= _SHORTEST_DERIVED or "'" in word):
        return next(kind for suffixes, kind in _SUFFIX_KINDS if word.endswith(suffixes))
    prefixed = _PREFIXED.fullmatch(word)
    if prefixed:
        kind = word_kinds().get(prefixed[1], NOUN)
        return kind if kind >= VERB else NOUN
    return NOUN


def singular(word: str) -> str:
    """The singular of a lower-case English noun; a word that is no plural comes back as it is.

    >>> [singular(word) for word in ("caches", "queries", "indices", "redis", "classes", "status")]
    ['cache', 'query', 'index', 'redis', 'class', 'status']
    """
    irregular = _IRREGULAR_PLURALS.get(word)
    if irregular is not None:
        return irregular
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is", "'s")) or word in _SAME_IN_PLURAL:
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "oes")):
        return word[:-2]
    return word[:-1]


# Other scripts

# Letters with the combining marks that \w leaves out (Arabic, Hebrew, Indic and South-East Asian vowel signs).
WORD_CHARACTER = r"[\w\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff\u0e00-\u0edf\u0f71-\u0fbc\u1000-\u109f\u1780-\u17d3]"
_HAN_PARTICLES = re.compile("[的了是在和与與我你他她它们們这這那也都就很把被吗嗎呢吧]")
_HANGUL_PARTICLE = re.compile("(?:에서|에게|으로|을|를|은|는)$")
_VOWEL_POINTS = re.compile("[\u0640\u064b-\u0652]")
_LONGEST_SPACED_WORD = 64
_WHOLE_AND_GRAM_LETTERS = {"han": (6, 2), "hiragana": (6, 2), "unspaced": (24, 4), "katakana": (24, 4)}


@cache
def _script_run() -> re.Pattern[str]:
    """One run of letters of one script; compiled when a text first needs it."""
    unspaced = r"\u0e00-\u0edf\u1000-\u109f\u1780-\u17d3"
    return re.compile(
        r"(?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005\U00020000-\U0003ffff]++)"
        r"|(?P<katakana>[\u30a1-\u30ff\u31f0-\u31ff]++)"
        r"|(?P<hiragana>[\u3041-\u309f]++)"
        rf"|(?P<unspaced>[{unspaced}]++)"
        r"|(?P<hangul>[\uac00-\ud7a3\u1100-\u11ff]++)"
        r"|(?P<latin>[A-Za-z0-9_\u00c0-\u024f]++)"
        rf"|(?P<spaced>(?:(?![\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3{unspaced}]){WORD_CHARACTER})++)"
    )


def cut_other_script(piece: str) -> list[tuple[str, bool]]:
    """The concepts of a piece with letters outside the Latin script, and whether a part is Latin after all.

    >>> cut_other_script("デプロイ後にキャッシュ")
    [('デプロイ', False), ('キャッシュ', False)]
    """
    parts: list[tuple[str, bool]] = []
    for match in _script_run().finditer(piece):
        run, script = match[0], str(match.lastgroup)
        if script == "latin":
            parts.append((run, True))
        elif script in ("spaced", "hangul"):
            parts += [(word, False) for word in _spaced_word(run, script)]
        elif script != "hiragana" or run == piece:
            pieces = _HAN_PARTICLES.split(run) if script == "han" and len(run) > 2 else [run]
            parts += [(gram, False) for part in pieces for gram in _whole_or_grams(part, script, run == piece)]
    return parts


def without_marks(word: str) -> str:
    """The word without Arabic vowel points and lengthening strokes, which writers set or leave out at will."""
    return _VOWEL_POINTS.sub("", word)


def _whole_or_grams(run: str, script: str, alone: bool) -> list[str]:
    """The run as one concept while it is short, else its overlapping grams; one letter counts only when alone."""
    whole_letters, gram_letters = _WHOLE_AND_GRAM_LETTERS[script]
    if len(run) <= whole_letters:
        return [run] if len(run) > 1 or (run and alone) else []
    return [run[start : start + gram_letters] for start in range(len(run) - gram_letters + 1)]


def _spaced_word(run: str, script: str) -> list[str]:
    stem = _HANGUL_PARTICLE.sub("", run) if script == "hangul" else run
    word = stem if len(stem) >= 2 else run
    letters = without_marks(word)
    shortest = 3 if script == "spaced" else 2
    too_short = len(letters) < shortest or len(run) > _LONGEST_SPACED_WORD
    return [] if too_short or letters.lower() in FOREIGN_STOP_WORDS else [word]
