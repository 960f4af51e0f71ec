"""Concept extraction: golden sentences, properties of any text, and sentiment."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab.core.ids import concept_id
from theorex_lab.text.extract import (
    MOST_MENTIONS,
    Mention,
    extract,
    extract_among,
    sentiment,
)
from theorex_lab.text.lexicon import ALIASES, STOP_NOUNS, singular

GOLDEN = {
    "TTL invalidation prevents cache stampedes": ["ttl invalidation", "cache stampede"],
    "Alice Smith deployed Postgres in Berlin": ["alice smith", "postgres", "berlin"],
    "The thing about time is the way": [],
    # Commit subjects.
    "Fix race in WAL checkpoint": ["race", "wal checkpoint"],
    "Add retry to upload worker": ["retry", "upload worker"],
    "Bump numpy from 1.26 to 2.0": ["numpy"],
    "feat(memory): add concept extraction and decay": [
        "memory",
        "concept extraction",
        "decay",
    ],
    "fix: handle empty responses in the OpenAI client": [
        "empty response",
        "openai client",
    ],
    "Refactor query planner, drop unused index": ["query planner", "index"],
    'Revert "Switch default cache to Redis"': ["default cache", "redis"],
    "Rename extract_names to find_names in src/names.py": [
        "extract_names",
        "find_names",
        "src/names.py",
    ],
    "Update README and document the release process": ["readme", "release process"],
    "Remove dead code from RetryPolicy.backoff": ["dead code", "retrypolicy.backoff"],
    "Test WAL recovery after power loss": ["wal recovery", "power loss"],
    "Move session state to journal table": ["session state", "journal table"],
    "Support Python 3.12 and drop Python 3.8": ["python"],
    "Prevent duplicate events when two processes write": ["duplicate event", "process"],
    "Document HNSW parameters and recall trade-offs": ["hnsw parameter", "trade-off"],
    "Improve error handling in CI/CD pipeline": ["error handling", "ci/cd pipeline"],
    "Write tests for the decay law": ["test", "decay law"],
    "Increase timeout for S3 uploads to 30s": ["timeout", "s3 upload"],
    "Speed up tokenizer by caching regex objects": ["tokenizer", "regex object"],
    "Merge pull request #42 from alice/fix-login": [
        "pull request",
        "alice",
        "fix-login",
    ],
    "Replace requests with httpx in HTTP client": ["request", "httpx", "http client"],
    # Bug notes and trace fixes.
    "Build fails on ARM because numpy has no wheel": ["build", "arm", "numpy", "wheel"],
    "Query planner ignores the partial index": ["query planner", "partial index"],
    "The worker logs errors to stdout": ["worker", "error", "stdout"],
    "Deadlock between journal writer and snapshot thread": [
        "deadlock",
        "journal writer",
        "snapshot thread",
    ],
    "Connection pool exhaustion caused the outage in production": [
        "connection pool exhaustion",
        "outage",
        "production",
    ],
    "trace_fix: retry with jitter when the embedding endpoint times out": [
        "trace_fix",
        "jitter",
        "embedding endpoint",
    ],
    "Memory leak in image decoder after 10k requests": [
        "memory leak",
        "image decoder",
        "request",
    ],
    "The API returns 500 errors when the JWT expires": ["api", "error", "jwt"],
    "The flaky test in tests/test_sync.py depends on wall-clock time": [
        "flaky test",
        "tests/test_sync.py",
        "wall-clock",
    ],
    # Decisions.
    "We decided to cache embeddings in SQLite instead of Redis": [
        "embedding",
        "sqlite",
        "redis",
    ],
    "Redis caches user sessions for thirty minutes": ["redis", "user session"],
    "Use exponential backoff for failed uploads": ["exponential backoff", "upload"],
    "We need to test the upload queue before the release": ["upload queue", "release"],
    "Users query Postgres through a read replica": ["user", "postgres", "read replica"],
    "User prefers dark mode and short answers": ["user", "dark mode", "answer"],
    "Don't use global state in tests": ["global state", "test"],
    "GitHub Actions runs unit tests on every push": [
        "github action",
        "unit test",
        "push",
    ],
    # People and places, and the world outside of software.
    "Bob met Carol at the Paris office on Monday": ["bob", "carol", "paris office"],
    "James Brown moved from London to New York": ["james brown", "london", "new york"],
    "Marie Curie won the Nobel Prize in Physics": [
        "marie curie",
        "nobel prize",
        "physics",
    ],
    "Dr. Chen prescribed antibiotics for the ear infection": [
        "chen",
        "antibiotic",
        "ear infection",
    ],
    "My daughter plays violin and loves hiking": ["daughter", "violin", "hiking"],
    "Alice's laptop runs Ubuntu 22.04": ["alice", "laptop", "ubuntu"],
    "The cache is stale": ["cache"],
}


def labels(text: str) -> list[str]:
    return [mention.label for mention in extract(text)]


@pytest.mark.parametrize(("text", "expected"), GOLDEN.items())
def test_a_sentence_gives_the_concepts_that_a_careful_reader_names(
    text: str, expected: list[str]
):
    assert labels(text) == expected


def test_mention_holds_id_label_first_spelling_and_count():
    assert extract(
        "Cache stampedes hurt; a cache stampede is the worst. cache\nstampede"
    ) == [Mention(concept_id("cache stampede"), "cache stampede", "Cache stampedes", 3)]


def test_names_keep_their_spelling_on_the_surface():
    assert [
        mention.surface
        for mention in extract("Alice Smith deployed Postgres in Berlin")
    ] == [
        "Alice Smith",
        "Postgres",
        "Berlin",
    ]


def test_count_includes_places_inside_longer_phrases_and_verbs():
    counts = {
        mention.label: mention.count
        for mention in extract("The cache is cold. We cache rows; cache keys expire")
    }
    assert counts["cache"] == 3


@pytest.mark.parametrize(("short", "phrase"), ALIASES.items())
def test_an_abbreviation_and_its_phrase_are_one_concept(short: str, phrase: str):
    [mention] = extract(f"We use {short.upper()} and {phrase}")
    assert (mention.label, mention.count) == (phrase, 2)
    assert labels(short) == labels(phrase) == [phrase]


def test_aliases_stand_alone_beside_other_nouns():
    assert labels("The LLMs need retrieval-augmented generation") == [
        "large language model",
        "retrieval augmented generation",
    ]
    assert labels("an ML pipeline") == ["machine learning", "pipeline"]


@pytest.mark.parametrize("noun", sorted(STOP_NOUNS))
def test_stop_nouns_yield_nothing_alone_or_within_a_phrase(noun: str):
    assert labels(f"The {noun} and the whole {noun}s") == []
    assert labels(f"the latency {noun}") == ["latency"]


def test_there_are_54_stop_nouns():
    assert len(STOP_NOUNS) == 54


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the query is slow", ["query"]),
        ("they query Postgres", ["postgres"]),
        ("ready to deploy Grafana", ["grafana"]),
        ("a new build", ["build"]),
        ("Redis caches sessions", ["redis", "session"]),
        ("Build pipeline fails", ["build pipeline"]),
        ("Build the pipeline", ["pipeline"]),
        ("Add script to upload files", ["script", "file"]),
        ("Cache new results", ["result"]),
    ],
)
def test_words_that_are_noun_or_verb_follow_their_neighbours(
    text: str, expected: list[str]
):
    assert labels(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://www.example.org/a/b?c=d#e for docs", ["example.org"]),
        ("mail bob.jones@example.com now", ["mail", "bob.jones@example.com"]),
        ("```python\nfor i in range(10):\n    cache_get(i)\n```", ["cache_get"]),
        ("commit a1b2c3d4e5f6 and 123e4567-e89b-12d3-a456-426614174000", ["commit"]),
        ("# Release notes\n\n- **Faster** `parse()`\n", ["release note", "parse"]),
        ('<div class="box">rendering</div>', ["rendering"]),
        ("const x = foo(bar); return x + 1;", []),
        (
            "call client.chat.create() in C:\\work\\run.py",
            ["client.chat.create", "c:\\work\\run.py"],
        ),
        (
            "GH-42 breaks utf-8 and TCP/IP but not input/output",
            ["gh-42", "utf-8", "tcp/ip", "input", "output"],
        ),
        (
            'File "/app/worker.py", line 42, in run_job\n    self.queue.get(timeout=5)',
            ["file", "/app/worker.py", "run_job", "queue.get", "timeout"],
        ),
    ],
)
def test_code_and_markup_do_not_become_garbage(text: str, expected: list[str]):
    assert labels(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("缓存失效，需要重启", ["缓存失效", "需要重启"]),
        ("Кэш устарел после развертывания", ["кэш", "устарел", "развертывания"]),
        ("الذاكرة قديمة بعد النشر", ["الذاكرة", "قديمة", "النشر"]),
        ("デプロイ後にキャッシュが古くなる", ["デプロイ", "キャッシュ"]),
        ("배포 후 캐시를 비우다", ["배포", "캐시", "비우다"]),
        ("แคชเก่า", ["แคชเก่า"]),
        ("कैश पुराना है", ["कैश", "पुराना"]),
        ("猫", ["猫"]),
        (
            "分布式系统设计方案",
            ["分布", "布式", "式系", "系统", "统设", "设计", "计方", "方案"],
        ),
        ("Café Zürich opens", ["café zürich open"]),
    ],
)
def test_other_scripts_are_not_lost(text: str, expected: list[str]):
    assert labels(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "🎉🔥👍🏽", "!!! ... ---", "1.2 3,4 10ms v1.2.3", "```", "___"],
)
def test_nothing_to_name_gives_nothing(text: str):
    assert extract(text) == []


def test_compatibility_forms_share_one_concept():
    assert labels("ＴＴＬ cafe\u0301s") == labels("TTL cafés")


def test_beyond_the_limit_the_most_frequent_then_the_earliest_stay():
    text = "zebra, giraffe, walrus, zebra, otter, walrus"
    assert [mention.label for mention in extract(text, limit=3)] == [
        "zebra",
        "giraffe",
        "walrus",
    ]
    assert len(extract(" , ".join(f"name{i}x" for i in range(100)))) == 64


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("caches", "cache"),
        ("queries", "query"),
        ("indices", "index"),
        ("classes", "class"),
        ("boxes", "box"),
        ("batches", "batch"),
        ("databases", "database"),
        ("analyses", "analysis"),
        ("archives", "archive"),
        ("keys", "key"),
        ("buses", "bus"),
        ("aliases", "alias"),
        ("shoes", "shoe"),
        ("ties", "tie"),
        ("apis", "api"),
        *(
            (word, word)
            for word in (
                "redis",
                "kubernetes",
                "postgres",
                "status",
                "bus",
                "analysis",
                "class",
                "dns",
            )
        ),
    ],
)
def test_singular(plural: str, expected: str):
    assert singular(plural) == expected


WORDS = st.sampled_from(
    "the a to and in cache caches test new stale Alice Smith deployed fix queries ML"
    " machine learning time thing src/cache.py get_user HTTP . , ; : - ( ) \n `x` 42 's"
    " don't кэш 缓存 を キャッシュ e.g. Vec::new() ``` https://x.org/a".split(" ")
)
TEXTS = st.one_of(
    st.text("aA. /_-'@:#0\n`é\u0301缓ー’<>"),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")),
    st.lists(WORDS, max_size=40).map(" ".join),
)


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_any_text_gives_well_formed_mentions(text: str):
    mentions = extract(text)
    for mention in mentions:
        assert mention.concept_id == concept_id(mention.label)
        assert mention.count >= 1
        assert 1 <= len(mention.label.split(" ")) <= 3
        assert mention.label == mention.label.strip()
        assert mention.surface
    assert len({mention.concept_id for mention in mentions}) == len(mentions) <= 64


@given(TEXTS, st.text(" \n\t", max_size=4), st.text(" \n\t", max_size=4))
@settings(max_examples=200, deadline=None)
def test_white_space_around_a_text_changes_nothing(text: str, before: str, after: str):
    assert extract(before + text.strip() + after) == extract(text.strip())


def test_labels_of_several_words_are_found_again_in_themselves():
    phrases = [
        label for expected in GOLDEN.values() for label in expected if " " in label
    ]
    again = [phrase for phrase in phrases if labels(phrase) == [phrase]]
    assert len(again) >= 0.9 * len(phrases)


def _wanted(mentions: list[Mention]) -> tuple[set[int], set[str]]:
    """Return the ids of every second mention, and the spellings of every third."""
    ids = {mention.concept_id for mention in mentions[::2]}
    surfaces = {mention.surface for mention in mentions[::3]}
    return ids, surfaces


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_extracting_among_concepts_gives_what_extracting_all_gives(text: str):
    mentions = extract(text)
    ids, surfaces = _wanted(mentions)
    expected = [
        mention
        for mention in mentions
        if mention.concept_id in ids or mention.surface in surfaces
    ]
    assert extract_among(text, ids, surfaces) == expected
    assert extract_among(text, (), ()) == []


def test_a_wanted_concept_falls_away_where_the_text_has_many_that_are_as_frequent():
    text = "; ".join(f"reader_{number}" for number in range(2 * MOST_MENTIONS))
    last = f"reader_{2 * MOST_MENTIONS - 1}"
    assert extract_among(text, {concept_id(last)}, {last}) == []
    first = extract_among(text, {concept_id("reader_0")}, ())
    assert [mention.label for mention in first] == ["reader_0"]
    more = extract_among(f"{text}; {last}", (), {last})
    assert [(mention.label, mention.count) for mention in more] == [(last, 2)]


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_sentiment_lies_between_its_bounds(text: str):
    assert -1 <= sentiment(text) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "The cache is stale",
        "flaky test",
        "a timeout in CI",
        "memory leak",
        "a regression",
        "Deadlock!",
        "total outage",
    ],
)
def test_technical_failure_sounds_bad(text: str):
    assert sentiment(text) < -0.2


def test_sentiment_of_neutral_good_and_long_texts():
    assert sentiment("") == sentiment("the table has rows") == 0
    assert (
        sentiment("all tests are green, the crash is fixed and the service recovered")
        > 0
    )
    assert sentiment("row " * 2000 + "crash") == 0


def test_importing_the_extractor_loads_no_heavy_library():
    code = (
        "import sys, theorex_lab.text.extract; sys.exit(any(name in sys.modules for"
        " name in ('numpy', 'vaderSentiment', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
