"""Every setting with its default, range and unit, and the file that changes them.

`Settings` below is the reference: one setting a paragraph. A home's file config.json
names those that are to differ, in camelCase or snake_case; a design's own settings
stand in it under `designs` and are declared with that design, by the same means.

Records are frozen dataclasses. `check` turns values from outside into a record and
names every value that is wrong.
"""

from __future__ import annotations

import json
import stat
import sys
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import MISSING, field, fields
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, cast, get_args
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from theorex_lab.core.errors import ConfigError, InvalidInput
from theorex_lab.core.ids import check_agent
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.strict_json import unambiguous

PresetName = Literal["none", "paper"]
ModelTier = Literal["small", "medium", "large"]
QueryType = Literal[
    "code", "math", "retrieval", "synthesis", "creative", "safety", "general"
]
Role = Literal["orchestrator", "operative"]
Fusion = Literal["standardised", "reciprocal_rank"]
QueryVectors = Literal["auto", "always", "never"]
RoutePreference = Literal["cheapest", "success"]
PRESET_NAMES: tuple[PresetName, ...] = get_args(PresetName)

# The signals of a search, which `searchWeights` may weigh; see `search.blend`.
SIGNALS = (
    "words",
    "passage",
    "around",
    "vector",
    "passage_vector",
    "speaker",
    "asked",
    "length",
)

# When `route` takes a cheaper model: by how much its success may be lower, and how sure
# that must be. Both were chosen on halves of the training of llmrouter, routellm and
# simulated_calls, and on simulations of models that lie near one another.
ROUTE_MARGIN = 0.03
ROUTE_CONFIDENCE = 0.8

# Names of settings and presets that had others before: the older -> the newer.
RENAMED = {
    "context_designs": "active_designs",
    "flush_idle_hours": "session_idle_hours",
    "gate_margin": "acceptance_margin",
    "gate_min_samples": "acceptance_min_samples",
}
# Settings of a published design that have no effect here, and why: its config.json is
# read as it is printed.
WITHOUT_EFFECT = {
    "cold_store_path": "archived concepts stay in the journal, and in axon.json",
    "route_worse_at": "routeMargin and routeConfidence say when a model is not worse",
}
RENAMED_PRESETS: dict[str, PresetName] = {"document": "paper"}
# Beside config.json: which settings without effect were told.
_TOLD_FILE = ".config.json.told"
_OUTSIDE = 1_000  # calls up: a warning in one line, without a line of source code

REQUIRED: Any = object()
_MOST_DAYS = 36_500
_LARGEST = sys.float_info.max  # neither NaN nor an infinity lies within its bounds
_DEFAULT_SOURCE_WEIGHT = 0.7
_MOST_SEARCH_WEIGHT = 5


# --- How a setting is declared ---


@dataclass(frozen=True)
class SettingRule:
    """What a setting may be.

    Attributes:
        kind: float, int, bool, str, list, tuple, dict, or a record of settings.
        what: What the setting is for; `theorex config` shows it.
        unit: Unit of a number, such as "days".
        ge: Lowest number allowed.
        gt: Number that it must be above.
        le: Highest number allowed.
        choices: The texts allowed; any where there are none.
        nullable: Whether null is allowed.
        each: The rule of each item of a list, tuple or dict; anything where None.
    """

    kind: type[Any]
    what: str = ""
    unit: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    choices: tuple[str, ...] = ()
    nullable: bool = False
    each: SettingRule | None = None

    def allows(self, value: object) -> bool:
        """Say whether a value is of the kind, in the range and among the choices."""
        if self.kind is str:
            return _is_text(value) and (not self.choices or value in self.choices)
        if self.kind in (int, float):
            return self._allows_number(value)
        if self.kind in (list, tuple):
            return isinstance(value, list | tuple)
        return isinstance(value, self.kind)

    def _allows_number(self, value: object) -> bool:
        allowed = int if self.kind is int else (int, float)
        if isinstance(value, bool) or not isinstance(value, allowed):
            return False
        if self.gt is not None and not value > self.gt:
            return False
        lowest = -_LARGEST if self.ge is None else self.ge
        highest = _LARGEST if self.le is None else self.le
        return lowest <= value <= highest

    @property
    def bounds(self) -> str:
        """The range of a number in words; '' where it has none."""
        if self.le is None:
            return ""
        if self.gt is not None:
            return f"above {self.gt} to {self.le}"
        return f"{self.ge} to {self.le}"

    @property
    def range(self) -> str:
        """What is allowed, as `theorex config` shows it."""
        if self.choices:
            return " | ".join(self.choices)
        if self.nullable:
            return f"{_JSON_KINDS[self.kind]} or null"
        return self.bounds or _JSON_KINDS.get(self.kind, "object")

    @property
    def allowed(self) -> str:
        """What is allowed, as an error says it."""
        if self.choices:
            return self.range
        kind = _KINDS_IN_WORDS.get(self.kind, "an object")
        if self.nullable and self.bounds:
            return f"{self.range} ({kind}, {self.bounds})"
        return f"{self.range} ({kind})"


_JSON_KINDS: dict[type, str] = {
    float: "number",
    int: "integer",
    bool: "boolean",
    str: "string",
    list: "array",
    tuple: "array",
    dict: "object",
}
_KINDS_IN_WORDS: dict[type, str] = {
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    str: "a text",
    list: "a list",
    tuple: "a list",
    dict: "an object",
}


def setting(
    default: Any = REQUIRED,
    what: str = "",
    unit: str = "",
    *,
    kind: type[Any] | None = None,
    each: SettingRule | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    choices: Sequence[str] = (),
    nullable: bool = False,
) -> Any:
    """Declare a field of a record of settings.

    Args:
        default: Its value where none is given; REQUIRED where one must be.
        what: What it is for, as a reader of `theorex config` understands it.
        unit: Its unit.
        kind: Its type where the default does not show it.
        each: What each item of a list, tuple or dict may be.
        ge: Lowest number allowed.
        gt: Number that it must be above.
        le: Highest number allowed.
        choices: The texts allowed.
        nullable: Whether null is allowed; it is where the default is None.
    """
    rule = SettingRule(
        kind=kind or type(default),
        what=what,
        unit=unit,
        ge=ge,
        gt=gt,
        le=le,
        choices=tuple(choices),
        nullable=nullable or default is None,
        each=each,
    )
    metadata = {"rule": rule}
    if default is REQUIRED:
        return field(metadata=metadata)
    if isinstance(default, list | dict):  # no record may change another's
        return field(default_factory=partial(copy, default), metadata=metadata)
    return field(default=default, metadata=metadata)


share = partial(setting, ge=0, le=1)
days = partial(setting, unit="days", le=_MOST_DAYS)
counted = partial(setting, ge=1, le=1_000_000)
percent = partial(setting, unit="percent", ge=0, le=100)


class SettingsRecord:
    """Base of the dataclasses of settings: it knows which values were given.

    Subclasses are decorated with `@dataclass(frozen=True, kw_only=True, repr=False)`
    and declare each field by `setting`. A record checks its values when it is made.
    """

    def __new__(cls, **values: Any) -> Self:
        """Make a record that knows which values were given."""
        record = super().__new__(cls)
        vars(record)["_given"] = frozenset(values)
        return record

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in self.given}
        problems: list[str] = []
        checked = _read_values(type(self), values, "", problems)
        _refuse(problems, "settings")
        vars(self).update(checked)

    @property
    def given(self) -> frozenset[str]:
        """Names of the values that were given, rather than left at their defaults."""
        names: frozenset[str] = vars(self)["_given"]
        return names

    def is_set(self, name: str) -> bool:
        """Say whether a value was given, rather than left at its default.

        Args:
            name: The name of the setting, as the class has it.
        """
        return name in self.given

    def source(self, name: str) -> str:
        """Name where a value comes from: `config.json` or `default`.

        Args:
            name: The name of the setting, as the class has it.
        """
        return "config.json" if self.is_set(name) else "default"

    def replaced(self, **values: Any) -> Self:
        """Copy the record with other values, which are not checked and count as given.

        >>> Settings().replaced(half_life_days=7.0).half_life_days
        7.0
        """
        record = copy(self)
        vars(record).update(values, _given=self.given | set(values))
        return record

    def to_dict(
        self, *, only_given: bool = False, names: Collection[str] | None = None
    ) -> dict[str, Any]:
        """Return the values as config.json holds them, under camelCase names.

        Args:
            only_given: Leave out what was left at its default.
            names: Leave out all but these (snake_case).
        """
        values = {}
        for name in rules_of(type(self)):
            if only_given and name not in self.given:
                continue
            if names is not None and name not in names:
                continue
            values[to_camel(name)] = _as_json(getattr(self, name), only_given)
        return values

    def __repr__(self) -> str:
        names = [name for name in rules_of(type(self)) if name in self.given]
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({values})"


R = TypeVar("R", bound=SettingsRecord)


def rules_of(kind: type[SettingsRecord]) -> dict[str, SettingRule]:
    """Return what each setting of a record may be, by its snake_case name."""
    declared = cast(Any, kind)  # a dataclass, which the base cannot say
    return {item.name: item.metadata["rule"] for item in fields(declared)}


# --- How values from outside are read ---


def _refuse(problems: Sequence[str], where: str) -> None:
    if problems:
        raise ConfigError(f"{where}: {'; '.join(problems)}")


def _read_values(
    kind: type[SettingsRecord],
    values: Mapping[str, Any],
    path: str,
    problems: list[str],
) -> dict[str, Any]:
    """Return the values that are right, by snake_case name; note what is wrong.

    `path` is the key of the record itself, with a dot behind it; '' at the top.
    """
    rules = rules_of(kind)
    keys: dict[str, str] = {}
    checked = {}
    for key, value in values.items():
        name = to_snake(key)
        if name not in rules:
            problems.append(
                f"{path}{key} is {value!r}, but there is no such setting; the nearest"
                f" is {nearest_key(key, kind)}"
            )
        elif name in keys:
            inside = f"{path[:-1]}: " if path else ""
            problems.append(
                f"{inside}{keys[name]} stands there twice, also as {key}; keep one of"
                " them"
            )
        else:
            keys[name] = key
            before = len(problems)
            read = _read_value(rules[name], value, path + key, problems)
            if len(problems) == before:
                checked[name] = read
    for name in sorted(_required(kind) - keys.keys()):
        missing = f"{path}{to_camel(name)}"
        problems.append(f"{missing}: field required; got {dict(values)!r}")
    return checked


def _required(kind: type[SettingsRecord]) -> set[str]:
    names = set()
    for record_field in fields(cast(Any, kind)):
        if record_field.default is MISSING and record_field.default_factory is MISSING:
            names.add(record_field.name)
    return names


def _read_value(rule: SettingRule, value: Any, key: str, problems: list[str]) -> Any:
    """Return a value as its rule wants it, or note in `problems` what is wrong."""
    if issubclass(rule.kind, SettingsRecord):
        return _read_record(rule.kind, value, key, problems)
    if value is None and rule.nullable:
        return None
    if not rule.allows(value):
        problems.append(f"{key} is {value!r}; allowed is {rule.allowed}")
        return None
    if rule.each is None:
        return rule.kind(value)
    if rule.kind is dict:
        return _read_parts(rule.each, value, key, problems)
    items = []
    for position, item in enumerate(value):
        items.append(_read_value(rule.each, item, f"{key}.{position}", problems))
    return rule.kind(items)


def _read_parts(
    rule: SettingRule, value: dict[str, Any], key: str, problems: list[str]
) -> dict[str, Any]:
    parts = {}
    for name, part in value.items():
        if not _is_text(name):
            problems.append(f"{key} has the name {name!r}; allowed is a text")
        parts[name] = _read_value(rule, part, f"{key}.{name}", problems)
    return parts


def _read_record(
    kind: type[SettingsRecord], value: Any, key: str, problems: list[str]
) -> SettingsRecord | None:
    if isinstance(value, kind):
        return value
    if not isinstance(value, dict):
        problems.append(f"{key} is {value!r}; allowed is an object")
        return None
    before = len(problems)
    checked = _read_values(kind, value, f"{key}.", problems)
    if len(problems) > before:
        return None
    return kind(**checked)


def _is_text(value: object) -> bool:
    """Say whether a value is a text that UTF-8 can hold: without lone surrogates."""
    if not isinstance(value, str):
        return False
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _as_json(value: Any, only_given: bool) -> Any:
    if isinstance(value, SettingsRecord):
        return value.to_dict(only_given=only_given)
    if isinstance(value, dict):
        return {name: _as_json(part, only_given) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item, only_given) for item in value]
    return value


# --- Names ---


def to_camel(name: str) -> str:
    """Spell a snake_case name as config.json does.

    >>> to_camel("half_life_days")
    'halfLifeDays'
    """
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def to_snake(key: str) -> str:
    """Spell a camelCase or snake_case name as attributes are.

    >>> to_snake("halfLifeDays")
    'half_life_days'
    """
    letters = []
    for letter in key:
        letters.append(f"_{letter.lower()}" if letter.isupper() else letter)
    return "".join(letters)


def nearest_key(key: str, kind: type[SettingsRecord]) -> str:
    """Return the setting of a record whose name is most like `key`, in camelCase."""
    import difflib  # only an error needs it

    names = [to_camel(name) for name in rules_of(kind)]
    spelling = to_camel(to_snake(key))
    return difflib.get_close_matches(spelling, names, n=1, cutoff=0)[0]


# --- The settings ---


@dataclass(frozen=True, kw_only=True, repr=False)
class ModelSettings(SettingsRecord):
    """A language model: where it is asked, and how large it is."""

    tier: ModelTier = setting(kind=str, choices=get_args(ModelTier))

    # Base of an OpenAI-compatible endpoint; a host named here may be another machine.
    # local:PATH is a GGUF file, which is asked in this process.
    # None: the model can be advised, not called.
    url: str | None = setting(None, kind=str)

    # The environment variable that holds its key.
    api_key_env: str | None = setting(None, kind=str)

    # In any currency that is the same for all; where it is not set, what a call costs
    # is not known.
    cost_per_million_tokens: float = setting(0.0, ge=0, le=1_000_000)


@dataclass(frozen=True, kw_only=True, repr=False)
class RoleSettings(SettingsRecord):
    """An agent's role: which query types it takes and which model it prefers."""

    agent_id: str = setting(kind=str)
    role: Role = setting(kind=str, choices=get_args(Role))
    capabilities: list[QueryType] = setting(
        kind=list, each=SettingRule(str, choices=get_args(QueryType))
    )
    model_preference: str | None = setting(None, kind=str)
    priority: int = setting(0)
    active: bool = setting(True)


# The models, roles and reviewers that the published description of Theorex names: a
# large and a medium model of this machine, and a hosted one. The preset `paper` has
# them. None has an endpoint until config.json names one: whatever listens at a usual
# port is not thereby one that may read the memory.
PUBLISHED_MODELS = {
    "qwen3-32b": ModelSettings(tier="large"),
    "ministral-3b": ModelSettings(tier="medium"),
    "claude-sonnet": ModelSettings(tier="large"),
}
PUBLISHED_ROLES = [
    RoleSettings(
        agent_id="main",
        role="orchestrator",
        capabilities=["synthesis", "general"],
        model_preference="claude-sonnet",
    ),
    RoleSettings(
        agent_id="qwen-sage",
        role="operative",
        capabilities=["retrieval", "code", "math"],
        model_preference="qwen3-32b",
    ),
    RoleSettings(
        agent_id="secretarius",
        role="operative",
        capabilities=["retrieval", "general"],
        model_preference="ministral-3b",
    ),
]
PUBLISHED_REVIEWERS = ["qwen3-32b", "ministral-3b"]


# What a person does about it where the settings name no model, or no role.
NO_MODEL = (
    "no model is configured; add one with `theorex config models"
    ' \'{"NAME": {"tier": "large", "url": "http://127.0.0.1:8080"}}\'`'
)
NO_ROLE = (
    "no role is configured; add some under roles in config.json, or take the published"
    " ones with `--preset paper`"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings(SettingsRecord):
    """The settings of a home. Keys in config.json may be camelCase or snake_case.

    >>> Settings(half_life_days=7).half_life_days
    7.0
    """

    preset: PresetName = setting(
        "none",
        "named set of settings in the place of the defaults; what is set here wins",
        choices=PRESET_NAMES,
    )

    journal_url: str = setting(
        "",
        "PostgreSQL database that keeps the events, as postgresql://USER@HOST/DATABASE;"
        " none: a file of the home. Passwords stand in ~/.pgpass or PGPASSWORD",
    )

    # How a memory fades.
    decay_law: str = setting(
        "product", "decay law that scores an item; `theorex tune` fits one"
    )

    decay_params: dict[str, float] = setting(
        {}, "parameters of the decay law beyond the half-life", each=SettingRule(float)
    )

    half_life_days: float = days(14.0, "time in which recency halves", gt=0)

    fix_half_life_days: float = days(
        7.0, "upper bound on the half-life of what was only ever a trace_fix", gt=0
    )

    active_threshold: float = share(0.6, "importance from which an item is ACTIVE")

    mild_threshold: float = share(
        0.3, "importance from which an item is MILD, else LESS"
    )

    sleep_after_days: float = days(
        30.0, "a LESS item unseen this long is archived when tiers are updated", ge=0
    )

    prune_threshold_days: float = days(
        30.0, "LESS items unseen longer than this are removed from the index", ge=0
    )

    # What is taken in and given back.
    max_text_bytes: int = setting(
        65_536, "longest text that is accepted", "bytes of UTF-8", ge=1, le=16_777_216
    )

    ingest_max_bytes: int = setting(
        32 << 20, "largest file that `ingest` reads", "bytes", ge=1 << 10, le=1 << 30
    )

    read_seconds: float = setting(
        60.0,
        "how long a file's reader is waited for, a film's thirty times as long",
        "seconds",
        gt=0,
        le=86_400,
    )

    read_memory_bytes: int = setting(
        2 << 30,
        "memory of the process that reads a file",
        "bytes",
        ge=256 << 20,
        le=1 << 40,
    )

    read_unpacked_bytes: int = setting(
        1 << 30, "largest content of a packed file", "bytes", ge=1 << 10, le=1 << 40
    )

    read_output_bytes: int = setting(
        256 << 20,
        "most that a file's reader gives, at a time where it gives it one by one",
        "bytes",
        ge=1 << 10,
        le=1 << 32,
    )

    vision_model: str | None = setting(
        None,
        "the model of `models` that describes pictures; none: they are not shown",
        kind=str,
    )

    vision_tokens: int = setting(
        0,
        "what it may cost each time something is taken in",
        "tokens",
        ge=0,
        le=10_000_000,
    )

    card_model: str | None = setting(
        None,
        "the model of `models` that rewords the cards of sessions during maintenance;"
        " none: the extracted lines stay",
        kind=str,
    )

    card_tokens: int = setting(
        0,
        "what it may spend in one maintenance; 0: it is not asked",
        "tokens",
        ge=0,
        le=10_000_000,
    )

    source_weights: dict[str, float] = setting(
        {},
        "credibility of an agent, 0 to 1; 0.7 where none is given",
        each=SettingRule(float),
    )

    context_tokens: int = setting(
        500, "budget of the briefing of a session", "tokens", ge=50, le=1_000_000
    )

    active_designs: list[str] = setting(
        [],
        "designs whose maintenance runs, and whose learnt lines a briefing may have; none"
        " named: those whose lines cover more needs than a briefing without them",
        each=SettingRule(str),
    )

    recall_on_prompt: bool = setting(
        True, "give what fits a prompt to the agent that is about to answer it"
    )

    recall_tokens: int = setting(
        500, "budget of what a prompt is given", "tokens", ge=0, le=100_000
    )

    promotion_threshold: float = share(
        0.5, "importance above which a concept is published to all agents"
    )

    flush_threshold: float = share(
        0.5, "score from which an event is kept when its session ends"
    )

    graduation_threshold: float = share(
        0.5, "best score of the day that a concept needs on days in a row"
    )

    graduation_days: int = setting(
        2,
        "different days after which a concept is promoted to long-term",
        "days",
        ge=1,
        le=14,
    )

    graduation_window_days: int = setting(
        14,
        "window for the days of graduationDays; if not longer, days in a row",
        "days",
        ge=1,
        le=14,
    )

    flash_echo_weight: float = share(
        0.25,
        "weight of concepts that the session's other events name, in an event's score",
    )

    session_idle_hours: float = setting(
        6.0, "silence after which maintenance ends a session", "hours", ge=0, le=8_760
    )

    keep_messages: bool = setting(
        True, "keep the last message of an agent's turns, from hooks and transcripts"
    )

    evolve_window_days: float = setting(
        7.0, "outcomes that a review looks back on", "days", ge=1, le=3_650
    )

    # Search.
    fusion: Fusion = setting(
        "standardised", "how words and vectors are combined", choices=get_args(Fusion)
    )

    search_floor: float = share(
        0.3,
        "score below which a text does not come back; 0: the nearest, whatever"
        " they are",
    )
    # auto: where a text holds .6 of the query's words by idf, the vectors of the three
    # best texts by words stand in for the query's, and no model is loaded: for 53 % of
    # LoCoMo's questions. .6 was chosen on five conversations (.010 of R@10 lost) and
    # loses .004 on the other five. Words alone reach .726. A process that lives on
    # always computes the query's vector, unless never.
    search_vectors: QueryVectors = setting(
        "auto",
        "whether the command `search` loads the model for a query's vector; "
        "auto: where no text holds most of its words "
        "(LoCoMo R@10: always .781, auto .774, never .741)",
        choices=get_args(QueryVectors),
    )

    search_weights: dict[str, float] | None = setting(
        None,
        "weights of search's signals, 0 to 5, in place of its own",
        kind=dict,
        each=SettingRule(float),
    )

    search_superseding: bool = setting(
        True,
        "whether a search leaves out what a newer statement replaces",
    )

    reciprocal_rank_k: float = setting(
        60.0, "k of reciprocal-rank fusion", ge=1, le=10_000
    )

    search_timeout_seconds: float = setting(
        2.0, "longest wait for a query's vector", "seconds", gt=0, le=60
    )

    lm_studio_url: str = setting(
        "http://localhost:1234",
        "OpenAI-compatible endpoint; used for vectors once it is set",
    )

    lm_studio_embed_model: str = setting(
        "nomic-embed-text-v1.5", "embedding model asked of the endpoint"
    )

    lm_studio_api_key_env: str | None = setting(
        None, "environment variable that holds the endpoint's key", kind=str
    )

    embed_threads: int = setting(
        1,
        "threads of the sentence model; two double the CPU time",
        "threads",
        ge=1,
        le=64,
    )

    # Which model is asked, and how.
    models: dict[str, ModelSettings] = setting(
        {},
        "none until you add some; the order decides within a tier",
        each=SettingRule(ModelSettings),
    )

    roles: list[RoleSettings] = setting(
        [],
        "agents' abilities, none until you add some; the order breaks ties",
        each=SettingRule(RoleSettings),
    )

    battery_threshold: float = share(
        0.2, "charge below which no large model runs on battery"
    )

    matrix_min_samples: int = counted(
        5, "runs that a cell of the matrix needs to be usable", unit="runs"
    )

    matrix_success_weight: float = share(
        1.0, "weight of success in a score, the rest is speed; 1: see routePrefers"
    )

    matrix_half_life_days: float | None = days(
        None, "time in which evidence for a model halves; none: never", kind=float, gt=0
    )

    route_prefers: RoutePreference = setting(
        "cheapest",
        "cheapest: of those shown to be not worse than the best",
        choices=get_args(RoutePreference),
    )

    route_margin: float = share(
        ROUTE_MARGIN, "by how much the success of a cheaper model may be lower"
    )

    route_confidence: float = setting(
        ROUTE_CONFIDENCE,
        "how sure it must be that a cheaper model is not worse by more",
        ge=0.5,
        le=0.999,
    )

    route_willingness: float | None = setting(
        None,
        "cost a run that a point of success is worth, in place of routeMargin",
        kind=float,
        gt=0,
        nullable=True,
    )

    recall_calls: int = setting(
        50, "calls like a query that advise a model; 0: none", "calls", ge=0, le=10_000
    )

    dispatch_context_pct: float = percent(
        50.0, "share of the context in use from which a task is handed to a model"
    )

    model_timeout_seconds: float = setting(
        30.0, "longest wait for one model", "seconds", gt=0, le=3_600
    )

    max_response_bytes: int = setting(
        4 << 20, "longest answer of a model to read", "bytes", ge=1 << 10, le=1 << 28
    )

    task_lease_seconds: float = setting(
        300.0, "time until a task is queued again", "seconds", gt=0, le=864_000
    )

    lease_seconds: float = setting(
        600.0,
        "time for which a maintenance killed on another machine keeps others out",
        "seconds",
        ge=10,
        le=86_400,
    )

    # How failures are learnt from.
    reviewers: list[str] = setting(
        [],
        "models that review failures, asked in this order; none until you add some",
        each=SettingRule(str),
    )

    review_timeout_seconds: float = setting(
        45.0, "longest wait for one reviewer", "seconds", gt=0, le=3_600
    )

    review_threshold: float = share(0.3, "score up to which a failure is reviewed")

    acceptance_margin: float = setting(
        0.02, "relative gain that a new policy must show", ge=0, le=10
    )

    acceptance_min_samples: int = counted(
        5,
        "held-out outcomes below which the acceptance test changes nothing",
        unit="outcomes",
    )

    context_alert_pct: float = percent(
        50.0, "use of the context from which it is summed up"
    )

    context_window_tokens: int = setting(
        200_000, "a model's whole context", "tokens", ge=1_000, le=10**8
    )

    context_cooldown_calls: int = counted(
        20, "calls until it may be summed up again", unit="calls"
    )

    drift_window_days: float = days(
        7.0, "time in which anchors that faded count as stale", gt=0
    )

    # Where import and export look by default.
    agent_axon_dir: str = setting(
        "~/.openclaw/agents", "folder of the agents' axon.json files"
    )

    shared_axon_path: str = setting(
        "~/.openclaw/workspace/theorex/shared-axon.json",
        "file of the concepts that all agents share",
    )

    outcomes_dir: str = setting("data/outcomes", "folder of outcome files")

    # The designs' own.
    designs: dict[str, dict[str, Any]] = setting(
        {},
        "settings of designs that bring some, by the design's name",
        each=SettingRule(dict),
    )

    # The servers.
    server_connections: int = setting(
        512,
        "connections that a server holds at once: half of them for one address, an"
        " eighth for requests under way with the agent's token, an eighth without it",
        "connections",
        ge=16,
        le=65_536,
    )

    server_head_seconds: float = setting(
        10.0,
        "time until the head of a request has come",
        "seconds",
        gt=0,
        le=3_600,
    )

    server_body_seconds: float = setting(
        30.0,
        "time until the body of a request has come, or the message of a web socket",
        "seconds",
        gt=0,
        le=3_600,
    )

    server_answer_seconds: float = setting(
        60.0, "time until a client has read an answer", "seconds", gt=0, le=3_600
    )

    # The house.
    snapshot_after_events: int = setting(
        2_000, "new events after which a view is saved", "events", ge=1, le=10_000_000
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        preset = PRESETS[self.preset]
        values = {name: preset[name] for name in preset if name not in self.given}
        problems: list[str] = []
        vars(self).update(_read_values(type(self), values, "", problems))
        _refuse(problems, f"preset {self.preset}")

    def source(self, name: str) -> str:
        """Name where a value comes from: `config.json`, a preset or `default`.

        Args:
            name: The name of the setting, as the class has it.
        """
        if self.is_set(name):
            return "config.json"
        if name in PRESETS[self.preset]:
            return f"preset {self.preset}"
        return "default"

    def price(self, model: str) -> float | None:
        """Return what a million tokens of a model cost; None where it is not known."""
        settings = self.models.get(model)
        if settings is None or not settings.is_set("cost_per_million_tokens"):
            return None
        return settings.cost_per_million_tokens

    def source_weight(self, agent: str) -> float:
        """Return the credibility of an agent, 0 to 1."""
        return self.source_weights.get(agent, _DEFAULT_SOURCE_WEIGHT)

    def path(self, name: str) -> Path:
        """Return a path setting with `~` expanded.

        Args:
            name: The name of the setting, as the class has it.
        """
        return Path(getattr(self, name)).expanduser()


# --- Presets ---

# Named sets of settings, which `preset` in config.json or `--preset` puts in the place
# of the defaults. `paper` ("as published") spells out every value that the published description of
# Theorex states, also those that are the defaults now. Of other designs it has the
# rules that their own descriptions state, where ours differ.
PRESETS: dict[str, dict[str, Any]] = {
    "none": {},
    "paper": {
        "decay_law": "product",
        "decay_params": {},
        "half_life_days": 14.0,
        "fix_half_life_days": 7.0,
        "active_threshold": 0.6,
        "mild_threshold": 0.3,
        "sleep_after_days": 30.0,
        "prune_threshold_days": 30.0,
        "promotion_threshold": 0.5,
        "flush_threshold": 0.5,
        "graduation_threshold": 0.5,
        "graduation_days": 7,
        "graduation_window_days": 7,
        "flash_echo_weight": 0.0,
        "evolve_window_days": 7.0,
        "context_tokens": 2000,
        "active_designs": ["theorex"],
        "fusion": "reciprocal_rank",
        "reciprocal_rank_k": 60.0,
        "lm_studio_url": "http://localhost:1234",
        "lm_studio_embed_model": "nomic-embed-text-v1.5",
        "models": PUBLISHED_MODELS,
        "roles": PUBLISHED_ROLES,
        "battery_threshold": 0.2,
        "matrix_min_samples": 5,
        "matrix_success_weight": 0.6,
        "matrix_half_life_days": None,
        "recall_calls": 0,
        "dispatch_context_pct": 50.0,
        "model_timeout_seconds": 30.0,
        "reviewers": PUBLISHED_REVIEWERS,
        "review_timeout_seconds": 45.0,
        "review_threshold": 0.3,
        "acceptance_margin": 0.02,
        "acceptance_min_samples": 5,
        "context_alert_pct": 50.0,
        "context_cooldown_calls": 20,
        "agent_axon_dir": "~/.openclaw/agents",
        "shared_axon_path": "~/.openclaw/workspace/theorex/shared-axon.json",
        "outcomes_dir": "data/outcomes",
        "designs": {
            "facts": {"nearDuplicateThreshold": 0.65},
            "dreams": {"recallThreshold": 0.4, "driftThreshold": 0.3},
            "research": {"rankBy": "cosine", "patternCalls": 2},
        },
    },
}


# --- The decay laws ---


@dataclass(frozen=True)
class Parameter:
    """A law's parameter: its default, the range allowed (inclusive), its unit."""

    default: float
    low: float
    high: float
    unit: str = ""

    @property
    def allowed(self) -> str:
        """The range in words."""
        return f"{self.low:g} to {self.high:g} {self.unit}".rstrip()


DEFAULT_HALF_LIFE_DAYS = 14.0
_HALF_LIFE = Parameter(DEFAULT_HALF_LIFE_DAYS, 0.01, _MOST_DAYS, "days")
_SATURATION = Parameter(100.0, 1.0, 1e9, "mentions")
LAW_PARAMETERS: dict[str, dict[str, Parameter]] = {
    "product": {"half_life_days": _HALF_LIFE},
    "weighted_sum": {
        "half_life_days": _HALF_LIFE,
        "recency_weight": Parameter(0.4, 0.0, 1.0),
        "count_weight": Parameter(0.35, 0.0, 1.0),
        "link_weight": Parameter(0.25, 0.0, 1.0),
        "saturation_count": _SATURATION,
    },
    "power": {
        "exponent": Parameter(0.5, 0.1, 1.0),
        "logistic_midpoint": Parameter(-1.293, -100.0, 100.0),
        "logistic_slope": Parameter(2.86, 0.0, 100.0),
    },
    "constant": {"level": Parameter(0.5, 0.0, 1.0)},
    "recency": {"half_life_days": _HALF_LIFE},
    "frequency": {"saturation_count": _SATURATION},
}


def check_params(
    law: str, allowed: Mapping[str, Parameter], values: Mapping[str, Any]
) -> None:
    """Check the parameters of a decay law.

    Raises:
        InvalidInput: It names every parameter that `law` does not have, and every
            value outside its range.
    """
    problems = []
    for name, value in values.items():
        parameter = allowed.get(name)
        if parameter is None:
            names = ", ".join(allowed) or "none"
            problems.append(f"{name} = {value!r} (allowed names: {names})")
        elif isinstance(value, bool) or not isinstance(value, Real):
            problems.append(
                f"{name} = {value!r} (allowed: a number, {parameter.allowed})"
            )
        elif not parameter.low <= float(value) <= parameter.high:
            problems.append(f"{name} = {value!r} (allowed: {parameter.allowed})")
    if problems:
        raise InvalidInput(f"law {law!r} got {'; '.join(problems)}")


# --- The check ---


def check(kind: type[R], values: Mapping[str, Any], *, where: str = "settings") -> R:
    """Make a record of values from outside.

    Args:
        kind: The record, such as `Settings` or a design's settings.
        values: Plain data under camelCase or snake_case names; may hold records.
        where: What the values are from, as errors name it.

    Raises:
        ConfigError: It names every value that is wrong, with what is allowed.
    """
    problems: list[str] = []
    checked = _read_values(kind, values, "", problems)
    if issubclass(kind, Settings):
        wrong = {to_snake(key) for key in values} - checked.keys()
        problems += _problems_between(Settings(**checked), wrong)
    _refuse(problems, where)
    return kind(**checked)


def check_settings(values: Mapping[str, Any], *, where: str = "settings") -> Settings:
    """Make the settings of a home; see `check`."""
    return check(Settings, values, where=where)


def _problems_between(settings: Settings, wrong: Collection[str]) -> list[str]:
    """Name what is wrong about values that depend on each other.

    `wrong` names the settings that are wrong by themselves, which stand at their
    defaults in `settings`: what depends on them is not judged.
    """
    problems = []
    if not {"mild_threshold", "active_threshold"} & set(wrong):
        problems += _problems_of_thresholds(settings)
    problems += _problems_of_weights(settings)
    if settings.journal_url:
        problem = journal_url_problem(settings.journal_url)
        problems += [f"journalUrl {problem}"] if problem else []
    if not {"decay_law", "decay_params", "half_life_days"} & set(wrong):
        problems += _problems_of_law(settings)
    if "models" not in wrong:
        problems += _problems_of_roles(settings)
        problems += _problems_of_reviewers(settings)
    for role in settings.roles:
        problems += _problem_of_agent(role.agent_id)
    return problems


_URL_SCHEMES = ("postgresql", "postgres")
_SECRET_WORDS = ("password", "secret", "token")


def journal_url_problem(url: str) -> str:
    """Return what is wrong with the URL of a journal, '' where nothing is.

    What is said of it never repeats the URL, which may hold a password.

    >>> journal_url_problem("postgresql://team@db.example/memory?sslmode=verify-full")
    ''
    >>> journal_url_problem("postgresql://team:secret@db.example/memory")
    'holds a password; allowed is a URL without one: put it into ~/.pgpass or PGPASSWORD'
    """
    allowed = "allowed is postgresql://USER@HOST/DATABASE"
    try:
        parts = urlsplit(url)
        is_secret = _holds_secret(parts)
    except ValueError:
        return f"is no URL; {allowed}"
    if parts.scheme not in _URL_SCHEMES:
        return f"does not begin with postgresql://; {allowed}"
    if is_secret:
        return (
            "holds a password; allowed is a URL without one: put it into ~/.pgpass or"
            " PGPASSWORD"
        )
    if not parts.path.strip("/"):
        return f"names no database; {allowed}"
    return ""


def _holds_secret(parts: SplitResult) -> bool:
    """Return whether a URL holds a password, or what may be the rest of one.

    A password that holds a slash or a number sign ends the host early, so that its rest
    stands where nothing has an @.
    """
    behind_host = f"{parts.path}?{parts.query}#{parts.fragment}"
    if parts.password is not None or "@" in unquote(behind_host):
        return True
    if ":" in unquote(parts.username or ""):
        return True
    if parts.fragment or ";" in parts.query:
        return True
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        lower = name.lower()
        if any(word in lower for word in _SECRET_WORDS):
            return True
    return False


def _problems_of_thresholds(settings: Settings) -> list[str]:
    if settings.mild_threshold <= settings.active_threshold:
        return []
    at_most = f"activeThreshold ({settings.active_threshold})"
    return [f"mildThreshold is {settings.mild_threshold}; allowed is up to {at_most}"]


def _problems_of_weights(settings: Settings) -> list[str]:
    problems = []
    for agent, weight in settings.source_weights.items():
        problems += _problem_of_agent(agent)
        if not 0 <= weight <= 1:
            problems.append(f"sourceWeights.{agent} is {weight}; allowed is 0 to 1")
    signals = ", ".join(SIGNALS)
    for signal, weight in (settings.search_weights or {}).items():
        if signal not in SIGNALS or not 0 <= weight <= _MOST_SEARCH_WEIGHT:
            problems.append(
                f"searchWeights.{signal} is {weight}; allowed is 0 to"
                f" {_MOST_SEARCH_WEIGHT} for each of {signals}"
            )
    return problems


def _problem_of_agent(agent: str) -> list[str]:
    try:
        check_agent(agent)
    except InvalidInput as error:
        return [str(error)]
    return []


def _problems_of_law(settings: Settings) -> list[str]:
    """Return what is wrong with the law and its parameters.

    The law must be known, and its parameters in their ranges. The half-life is among
    them where the law has one.
    """
    parameters = LAW_PARAMETERS.get(settings.decay_law)
    if parameters is None:
        laws = ", ".join(sorted(LAW_PARAMETERS))
        return [f"decayLaw is {settings.decay_law!r}; allowed are {laws}"]
    values = dict(settings.decay_params)
    if "half_life_days" in parameters:
        values.setdefault("half_life_days", settings.half_life_days)
    try:
        check_params(settings.decay_law, parameters, values)
    except InvalidInput as error:
        return [f"decayParams: {error}"]
    return []


def _problems_of_roles(settings: Settings) -> list[str]:
    """Return which roles prefer models that there are not."""
    problems = []
    for position, role in enumerate(settings.roles):
        model = role.model_preference
        if model is None or model in settings.models or not settings.is_set("roles"):
            continue
        problems.append(
            f"roles.{position}.modelPreference is {model!r}; allowed are the models"
            f" {', '.join(settings.models)}"
        )
    return problems


def _problems_of_reviewers(settings: Settings) -> list[str]:
    """Return what is wrong with the reviewers.

    They are models that there are, each once; a preset's may be missing.
    """
    problems: list[str] = []
    if not settings.is_set("reviewers"):
        return problems
    for position, model in enumerate(settings.reviewers):
        key = f"reviewers.{position} is {model!r}"
        if not settings.models:
            problems.append(f"{key}, but no model is configured; add it to models")
        elif model not in settings.models:
            models = ", ".join(settings.models)
            problems.append(f"{key}; allowed are the models {models}")
        if model in settings.reviewers[:position]:
            problems.append(f"{key}, which stands there twice; keep one")
    return problems


# --- The file ---


def load_settings(file: Path, *, preset: str | None = None) -> Settings:
    """Read the settings in `file`; the defaults where there is no file.

    Args:
        file: The config.json of a home.
        preset: The preset in the place of the one that the file names.

    Raises:
        ConfigError: The file cannot be read, or something in it is wrong; a broken
            file never means defaults.
    """
    values = read_object(file)
    if preset is not None:
        values["preset"] = preset
    values = with_new_names(values, where=str(file))
    values = _with_effect(values, file)
    if preset is not None:
        preset = values["preset"]
        if preset not in PRESET_NAMES:
            presets = ", ".join(PRESET_NAMES)
            raise ConfigError(f"got the preset {preset!r}; allowed are {presets}")
    return check_settings(values, where=str(file))


def part_of(settings: Settings, name: str, kind: type[R], file: Path) -> R:
    """Return a design's own settings, which stand in `designs` under its name.

    Args:
        settings: Those of the home.
        name: The design's.
        kind: The design's record of settings.
        file: The config.json that the settings are from, as errors name it.

    Raises:
        ConfigError: Something in them is wrong.
    """
    return _check_part(name, kind, settings.designs.get(name, {}), file)


def _check_part(name: str, kind: type[R], values: Mapping[str, Any], file: Path) -> R:
    return check(kind, values, where=f"{file}: designs.{name}")


def save_settings(
    file: Path, changes: Mapping[str, Any], *, unset: Sequence[str] = ()
) -> Settings:
    """Write `changes` into `file` and take `unset` out of it; keep what else is in it.

    The file is replaced as a whole, by one process at a time. Keys may be camelCase or
    snake_case.

    Returns:
        What is in force then.

    Raises:
        ConfigError: A key is neither a setting nor in the file, or the result would be
            wrong; nothing was written.
    """
    return save_part(file, "", Settings, changes, unset=unset)


def save_part(
    file: Path,
    name: str,
    kind: type[R],
    changes: Mapping[str, Any],
    *,
    unset: Sequence[str] = (),
) -> R:
    """Save a design's own settings; those of the home under the name ''.

    As `save_settings` does.
    """
    from theorex_lab.core.files import exclusive, write_atomically

    with exclusive(file.with_name(f".{file.name}.lock"), wait=True):
        values = with_new_names(read_object(file), where=str(file))
        if name:
            check_settings(_with_effect(values, file), where=str(file))
            part = values.setdefault("designs", {}).setdefault(name, {})
            _change(part, kind, changes, unset)
            saved = _check_part(name, kind, part, file)
        else:
            _change(values, kind, changes, unset)
            effective = _with_effect(values, file)
            saved = check(kind, effective, where=str(file))
        text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
        write_atomically(file, text.encode())
    return saved


def _change(
    values: dict[str, Any],
    kind: type[SettingsRecord],
    changes: Mapping[str, Any],
    unset: Sequence[str],
) -> None:
    rules = rules_of(kind)
    for key in (*unset, *changes):
        name = to_snake(key)
        spellings = {key, name, to_camel(name)}
        if name not in rules and not spellings & values.keys():
            nearest = nearest_key(key, kind)
            raise ConfigError(
                f"got the key {key!r}, but there is no such setting; the nearest is"
                f" {nearest}, and `theorex config` lists all"
            )
        for spelling in spellings:
            values.pop(spelling, None)
    for key, value in changes.items():
        values[to_camel(to_snake(key))] = value


def with_new_names(values: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """Return settings under their names of today.

    One warning lists all that had an older name. Where the newer name is there too, the
    older one stays, to be refused.

    Args:
        values: The settings, under camelCase or snake_case names.
        where: What they are from, as the warning names it.
    """
    renamed = {}
    changes = []
    for key, value in values.items():
        name = RENAMED.get(to_snake(key))
        new_key = to_camel(name) if name else key
        if name and not {name, new_key} & values.keys():
            changes.append(f"{key} -> {new_key}")
        else:
            new_key = key
        renamed[new_key] = value
    preset = renamed.get("preset")
    if isinstance(preset, str) and preset in RENAMED_PRESETS:
        new_preset = RENAMED_PRESETS[preset]
        changes.append(f"preset {preset} -> {new_preset}")
        renamed["preset"] = new_preset
    if changes:
        listed = ", ".join(changes)
        warnings.warn(
            f"{where} has older names of settings, use the newer ones: {listed}",
            FutureWarning,
            stacklevel=_OUTSIDE,
        )
    return renamed


def _with_effect(values: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return settings without those of a published design that have no effect.

    One warning lists them, once a home: what it told is kept beside the file.

    Args:
        values: The settings, under camelCase or snake_case names.
        file: The config.json that they are from.
    """
    effective = {}
    reasons = []
    for key, value in values.items():
        reason = WITHOUT_EFFECT.get(to_snake(key))
        if reason is None:
            effective[key] = value
        else:
            reasons.append(f"{key} ({reason})")
    listed = ", ".join(reasons)
    if listed and _is_news(listed, file.with_name(_TOLD_FILE)):
        warnings.warn(
            f"{file} has settings without effect: {listed}",
            FutureWarning,
            stacklevel=_OUTSIDE,
        )
    return effective


def _is_news(notice: str, told_file: Path) -> bool:
    """Return whether a notice was not told before; note that it is told now.

    Where nothing can be noted it is told each time.
    """
    with suppress(OSError, ValueError):
        if told_file.read_text(encoding="utf-8") == notice:
            return False
    with suppress(OSError, ValueError):
        told_file.write_text(notice, encoding="utf-8")
    return True


def read_object(file: Path) -> dict[str, Any]:
    """Read a JSON object; an empty one where there is no file.

    Raises:
        ConfigError: It is no regular file, cannot be read, is not UTF-8, holds a key
            twice, or anything but an object.
    """
    try:
        text = _read_regular_file(file).decode("utf-8-sig")
        values = json.loads(text, object_pairs_hook=partial(unambiguous, file))
    except FileNotFoundError:
        return {}
    except ConfigError:
        raise
    except NotADirectoryError as error:
        raise ConfigError(
            f"got the home {file.parent}, which is a file; allowed is a folder: name"
            " one with --home or THEOREX_HOME"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{file} cannot be read: {error}; mend it, or remove it to use the defaults"
        ) from error
    if not isinstance(values, dict):
        raise ConfigError(
            f"{file} holds a {type(values).__name__}; allowed is a JSON object of"
            " settings"
        )
    return values


_FILE_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}


def _read_regular_file(file: Path) -> bytes:
    """Read a regular file: a pipe would be waited for, and a device may never end."""
    kind = stat.S_IFMT(file.stat().st_mode)
    if kind != stat.S_IFREG:
        what = _FILE_KINDS.get(kind, "a device")
        raise ConfigError(
            f"{file} is {what}; allowed is a regular file: remove it to use the"
            " defaults"
        )
    return file.read_bytes()


# --- What the command `config` reads and shows ---


def read_value(key: str, text: str, kind: type[SettingsRecord] = Settings) -> Any:
    """Read the value of a setting as it is typed.

    A text stands as it is (or as JSON, in quotes); anything else is JSON.

    Raises:
        ConfigError: It is no JSON.

    >>> read_value("halfLifeDays", "7"), read_value("decayLaw", "power")
    (7, 'power')
    >>> read_value("reviewers", '["m"]')
    ['m']
    """
    rule = rules_of(kind).get(to_snake(key), SettingRule(str))
    is_null = text == "null" and rule.nullable
    if rule.kind is str and not text.startswith('"') and not is_null:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f'got {text!r} for {key}; allowed is JSON, such as 7, true, ["a"] or'
            ' {"a": 1}'
        ) from error


def describe_settings(
    settings: SettingsRecord, *, before: str = ""
) -> list[dict[str, Any]]:
    """Describe each setting: its value, default, range, unit, source and purpose.

    Args:
        settings: Those of a home, or of a design.
        before: What stands before the keys of a design's own settings.
    """
    kind = type(settings)
    values = settings.to_dict()
    defaults = kind().to_dict()
    rows = []
    for name, rule in rules_of(kind).items():
        key = to_camel(name)
        row = {
            "key": before + key,
            "value": values[key],
            "default": defaults[key],
            "range": rule.range,
            "unit": rule.unit,
            "source": settings.source(name),
            "description": rule.what,
        }
        rows.append(row)
    return rows
