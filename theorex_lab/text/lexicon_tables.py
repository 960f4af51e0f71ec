"""Tables of words.

They say what abbreviations stand for, which plurals have no rule, and how glad or angry
words sound.
"""

ALIASES = {
    "ml": "machine learning",
    "llm": "large language model",
    "nlp": "natural language processing",
    "ai": "artificial intelligence",
    "rag": "retrieval augmented generation",
}

IRREGULAR_PLURALS = {
    "indices": "index",
    "vertices": "vertex",
    "matrices": "matrix",
    "appendices": "appendix",
    "vortices": "vortex",
    "analyses": "analysis",
    "hypotheses": "hypothesis",
    "theses": "thesis",
    "crises": "crisis",
    "axes": "axis",
    "diagnoses": "diagnosis",
    "synopses": "synopsis",
    "syntheses": "synthesis",
    "parentheses": "parenthesis",
    "children": "child",
    "men": "man",
    "women": "woman",
    "mice": "mouse",
    "geese": "goose",
    "feet": "foot",
    "teeth": "tooth",
    "criteria": "criterion",
    "phenomena": "phenomenon",
    "schemata": "schema",
    "lives": "life",
    "half-lives": "half-life",
    "wives": "wife",
    "knives": "knife",
    "leaves": "leaf",
    "shelves": "shelf",
    "halves": "half",
    "wolves": "wolf",
    "thieves": "thief",
    "loaves": "loaf",
    "calves": "calf",
    "cookies": "cookie",
    "movies": "movie",
    "zombies": "zombie",
    "selfies": "selfie",
    "rookies": "rookie",
    "genies": "genie",
    "calories": "calorie",
    "caches": "cache",
    "niches": "niche",
    "avalanches": "avalanche",
    "headaches": "headache",
    "buses": "bus",
    "statuses": "status",
    "viruses": "virus",
    "campuses": "campus",
    "bonuses": "bonus",
    "nexuses": "nexus",
    "corpuses": "corpus",
    "corpora": "corpus",
    "censuses": "census",
    "focuses": "focus",
    "radii": "radius",
    "nuclei": "nucleus",
    "aliases": "alias",
    "biases": "bias",
    "gases": "gas",
    "canvases": "canvas",
    "atlases": "atlas",
    "lenses": "lens",
    "quizzes": "quiz",
    "shoes": "shoe",
    "toes": "toe",
    "canoes": "canoe",
    "foes": "foe",
    "apis": "api",
    "uris": "uri",
    "guis": "gui",
    "clis": "cli",
    "emojis": "emoji",
    "menus": "menu",
    "gpus": "gpu",
    "cpus": "cpu",
    "tpus": "tpu",
    "ids": "id",
    "dbs": "db",
    "prs": "pr",
    "vms": "vm",
    "taxis": "taxi",
    "skis": "ski",
    "gurus": "guru",
    "emus": "emu",
}

# How glad (positive) or angry (negative) each of the words sounds, on VADER's scale
# from -4 to 4.
SENTIMENTS = {
    -2.8: """
        outage outages corruption corrupted corrupt segfault segfaults deadlock
        deadlocks deadlocked breach
    """,
    -2.4: """
        crash crashes crashed crashing crashloop broken breaks broke regression
        regressions regressed
    """,
    -2.2: """
        leak leaks leaked leaking timeout timeouts overflow overflows underflow livelock
        starvation panic
    """,
    -2.0: """
        bug bugs buggy flaky flakiness stale staleness hang hangs hung exception
        exceptions traceback
    """,
    -1.8: """
        stampede throttled bottleneck bottlenecks deprecated unresponsive unreachable
        oom downtime vulnerability
    """,
    -1.6: """
        rollback reverted slow slower latency misconfigured mismatch duplicate
        duplicates retry retries orphaned
    """,
    1.6: """
        fixed fixes resolved passing passes deployed shipped merged idempotent optimized
        faster speedup
    """,
    1.8: """
        green stable recovered mitigated restored verified reproducible hardened
    """,
}
