"""Every tunable with its default, range and unit, and the config.json in the home that changes them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

from theorex_lab.config_file import read_object, remember, remembered
from theorex_lab.config_laws import LAW_PARAMETERS, check_params
from theorex_lab.config_record import SettingsRecord, to_camel, to_snake, tunable
from theorex_lab.errors import ConfigError, InvalidInput
from theorex_lab.ids import check_agent

# Presets are named sets of settings, which `preset` in config.json or `--preset` puts in the place of the defaults.
# `document` spells out every value that the published description of Theorex states, also those that are the defaults now;
# its models and roles are the defaults. Of other designs it has the rules that their own descriptions state, where ours differ.
PresetName = Literal["none", "document"]
PRESET_NAMES: tuple[PresetName, ...] = get_args(PresetName)
_DOCUMENT: dict[str, Any] = json.loads(Path(__file__).with_name("config_document.json").read_text(encoding="utf-8"))
PRESETS: dict[str, dict[str, Any]] = {"none": {}, "document": _DOCUMENT}


_CHECKS = 3  # raised whenever `check_settings` refuses something else than what fields say
Weight = float
SIGNALS = ("words", "passage", "around", "vector", "passage_vector", "speaker", "asked", "length")  # see search.blend
R = TypeVar("R", bound=SettingsRecord)
share = partial(tunable, ge=0, le=1)
_VECTORS = "whether the command `search` loads the model for a query's vector; auto: where no text holds most of its "
_VECTORS += "words (LoCoMo R@10: always .781, auto .774, never .741)"
days = partial(tunable, unit="days", le=36_500)
counted = partial(tunable, ge=1, le=1_000_000)
percent = partial(tunable, unit="percent", ge=0, le=100)
ModelTier = Literal["small", "medium", "large"]
# The chance of error at which an option counts as worse than the best. Of parts of llmrouter's training (300 to 3,000 queries, 3
# to 6 models, 159 draws), routing fell distinguishably behind the best single model on other training queries in 5 % at
# 0.3 (cost 0.72 of its), 12 % at 0.25 (0.68), 2 % at 0.4 (0.80).
WORSE_AT = 0.3
QueryType = Literal["code", "math", "retrieval", "synthesis", "creative", "safety", "general"]


class ModelSettings(SettingsRecord):
    """A language model: where it is asked, and how large it is.

    `url`: base of an OpenAI-compatible endpoint (a host named here may be another machine); None: it can be advised,
    not called. `api_key_env`: the environment variable that holds its key. `cost_per_million_tokens`: in any currency that is
    the same for all; where it is not set, what a call costs is not known.
    """

    tier: ModelTier
    url: str | None = tunable(None)
    api_key_env: str | None = tunable(None)
    cost_per_million_tokens: float = tunable(0.0, ge=0, le=1e6)


class RoleSettings(SettingsRecord):
    """An agent's role: which query types it takes and which model it prefers."""

    agent_id: str
    role: Literal["orchestrator", "operative"]
    capabilities: list[QueryType]
    model_preference: str | None = tunable(None)
    priority: int = tunable(0)
    active: bool = tunable(True)


# A large and a medium model of this machine, and a hosted one. None has an endpoint until config.json names one: whatever listens at
# a usual port is not thereby one that may read the memory.
DEFAULT_MODELS = {name: ModelSettings.of_checked(model) for name, model in PRESETS["document"]["models"].items()}
DEFAULT_ROLES = [RoleSettings.of_checked(role) for role in PRESETS["document"]["roles"]]


class Settings(SettingsRecord):
    """The settings of a home. Keys in config.json may be camelCase or snake_case.

    >>> Settings(half_life_days=7).half_life_days
    7.0
    """

    preset: PresetName = tunable("none", "named set of settings in the place of the defaults; what is set here wins")

    # How a memory fades.
    decay_law: str = tunable("product", "decay law that scores an item; `theorex tune` fits one")
    decay_params: dict[str, float] = tunable({}, "parameters of the decay law beyond the half-life")
    half_life_days: float = days(14.0, "time in which recency halves", gt=0)
    fix_half_life_days: float = days(7.0, "upper bound on the half-life of what was only ever a trace_fix", gt=0)
    active_threshold: float = share(0.6, "importance from which an item is ACTIVE")
    mild_threshold: float = share(0.3, "importance from which an item is MILD, else LESS")
    sleep_after_days: float = days(30.0, "a LESS item unseen this long is put to sleep by a scan", ge=0)
    prune_threshold_days: float = days(30.0, "prune takes LESS items unseen longer than this", ge=0)

    # What is taken in and given back.
    max_text_bytes: int = tunable(65_536, "longest text that is accepted", "bytes of UTF-8", ge=1, le=16_777_216)
    ingest_max_bytes: int = tunable(32 << 20, "largest file that `ingest` reads", "bytes", ge=1 << 10, le=1 << 30)
    vision_model: str | None = tunable(None, "the model of `models` that describes pictures; none: they are not shown")
    vision_tokens: int = tunable(0, "what it may cost each time something is taken in", "tokens", ge=0, le=10_000_000)
    source_weights: dict[str, Weight] = tunable({}, "credibility of an agent, 0 to 1; 0.7 where none is given")
    context_tokens: int = tunable(2_000, "budget of the boot context", "tokens", ge=50, le=1_000_000)
    context_designs: list[str] = tunable([], "designs whose sections the context has; none named: those that lead")
    recall_on_prompt: bool = tunable(True, "give what fits a prompt to the agent that is about to answer it")
    recall_tokens: int = tunable(300, "budget of what a prompt is given", "tokens", ge=0, le=100_000)
    promotion_threshold: float = share(0.5, "importance above which a concept is promoted")
    flush_threshold: float = share(0.5, "flash score from which a flush keeps an event")
    graduation_threshold: float = share(0.5, "best score of the day that a concept needs on days in a row")
    graduation_days: int = tunable(2, "different days after which a concept graduates", "days", ge=1, le=14)
    graduation_window_days: int = tunable(14, "window for graduationDays; if not longer, in a row", "days", ge=1, le=14)
    flash_echo_weight: float = share(0.25, "weight in the flash score of concepts that the session's other events name")
    flush_idle_hours: float = tunable(6.0, "silence after which a night flushes a session", "hours", ge=0, le=8_760)
    keep_messages: bool = tunable(True, "keep the last message of an agent's turns, from hooks and transcripts")
    evolve_window_days: float = tunable(7.0, "outcomes that a review looks back on", "days", ge=1, le=3_650)

    # Search.
    fusion: Literal["standardised", "reciprocal_rank"] = tunable("standardised", "how words and vectors are combined")
    search_floor: float = share(0.35, "score below which a text does not come back; 0: the nearest, whatever they are")
    # auto: where a text holds .6 of the query's words by idf, the vectors of the three best texts by words stand in for the
    # query's, and no model is loaded: for 53 % of LoCoMo's questions. .6 was chosen on five conversations (.010 of R@10 lost) and
    # loses .004 on the other five. Words alone reach .726. A process that lives on always computes the query's vector, unless never.
    search_vectors: Literal["auto", "always", "never"] = tunable("auto", _VECTORS)
    search_weights: dict[str, float] | None = tunable(None, "weights of search's signals, 0 to 5, in place of its own")
    reciprocal_rank_k: float = tunable(60.0, "k of reciprocal-rank fusion", ge=1, le=10_000)
    search_timeout_seconds: float = tunable(2.0, "longest wait for a query's vector", "seconds", gt=0, le=60)
    lm_studio_url: str = tunable("http://localhost:1234", "OpenAI-compatible endpoint; used for vectors once it is set")
    lm_studio_embed_model: str = tunable("nomic-embed-text-v1.5", "embedding model asked of the endpoint")
    lm_studio_api_key_env: str | None = tunable(None, "environment variable that holds the endpoint's key")
    embed_threads: int = tunable(1, "threads of the sentence model; two double the CPU time", "threads", ge=1, le=64)

    # Which model is asked, and how.
    models: dict[str, ModelSettings] = tunable(DEFAULT_MODELS, "the order decides within a tier", inner=ModelSettings)
    roles: list[RoleSettings] = tunable(DEFAULT_ROLES, "agents' abilities; the order breaks ties", inner=RoleSettings)
    battery_threshold: float = share(0.2, "charge below which no large model runs on battery")
    matrix_min_samples: int = counted(5, "runs that a cell of the matrix needs to be usable", unit="runs")
    matrix_success_weight: float = share(1.0, "weight of success in a score, the rest is speed; 1: see routePrefers")
    matrix_half_life_days: float | None = days(None, "time in which evidence for a model halves; none: never", gt=0)
    route_prefers: Literal["cheapest", "success"] = tunable("cheapest", "cheapest: of those not distinguishably worse")
    route_worse_at: float = tunable(WORSE_AT, "chance of error at which a model counts as worse", ge=0, le=0.5)
    recall_calls: int = tunable(150, "calls like a query that advise a model; 0: none", "calls", ge=0, le=10_000)
    dispatch_context_pct: float = percent(50.0, "share of the context in use from which a task is handed to a model")
    model_timeout_seconds: float = tunable(30.0, "longest wait for one model", "seconds", gt=0, le=3_600)
    max_response_bytes: int = tunable(4 << 20, "longest answer of a model to read", "bytes", ge=1 << 10, le=1 << 28)
    task_lease_seconds: float = tunable(300.0, "time until a task is queued again", "seconds", gt=0, le=864_000)

    lease_seconds: float = tunable(600.0, "time that a killed night keeps others out", "seconds", ge=10, le=86_400)

    # How failures are learnt from.
    reviewers: list[str] = tunable(["qwen3-32b", "ministral-3b"], "models that review failures, asked in this order")
    review_timeout_seconds: float = tunable(45.0, "longest wait for one reviewer", "seconds", gt=0, le=3_600)
    review_threshold: float = share(0.3, "score up to which a failure is reviewed")
    gate_margin: float = tunable(0.02, "relative gain that a new policy must show", ge=0, le=10)
    gate_min_samples: int = counted(5, "held-back outcomes below which the gate holds", unit="outcomes")
    context_alert_pct: float = percent(50.0, "use of the context from which it is summed up")
    context_window_tokens: int = tunable(200_000, "a model's whole context", "tokens", ge=1_000, le=10**8)
    context_cooldown_calls: int = counted(20, "calls until it may be summed up again", unit="calls")
    drift_window_days: float = days(7.0, "time in which anchors that faded count as drift", gt=0)

    # Where import and export look by default.
    agent_axon_dir: str = tunable("~/.openclaw/agents", "folder of the agents' axon.json files")
    shared_axon_path: str = tunable("~/.openclaw/workspace/theorex/shared-axon.json", "file of the shared axon")
    outcomes_dir: str = tunable("data/outcomes", "folder of outcome files")

    # The designs' own.
    designs: dict[str, dict[str, Any]] = tunable({}, "settings of designs that bring some, by the design's name")

    # The house.
    snapshot_after_events: int = tunable(2_000, "new events after which a view is saved", "events", ge=1, le=10_000_000)

    def _take(self, given: Mapping[str, Any]) -> None:
        super()._take({**PRESETS[given.get("preset", "none")], **given})
        vars(self)["model_fields_set"] = frozenset(given)

    def source(self, name: str) -> str:
        """Where a value comes from: `config.json`, a preset or `default`."""
        if self.is_set(name):
            return "config.json"
        return f"preset {self.preset}" if name in PRESETS[self.preset] else "default"

    @property
    def worse_at(self) -> float:
        """The chance of error at which a model counts as worse than the best: at 0.5 any lower rate does."""
        return self.route_worse_at if self.route_prefers == "cheapest" else 0.5

    def price(self, model: str) -> float | None:
        """What a million tokens of a model cost; None where the settings do not say."""
        found = self.models.get(model)
        return found.cost_per_million_tokens if found and found.is_set("cost_per_million_tokens") else None

    def source_weight(self, agent: str) -> float:
        """Credibility of an agent, 0 to 1."""
        return self.source_weights.get(agent, 0.7)

    def path(self, name: str) -> Path:
        """A path setting with `~` expanded."""
        return Path(getattr(self, name)).expanduser()


def load_settings(file: Path, *, preset: str | None = None) -> Settings:
    """The settings of `file`; the defaults where there is no file. `preset`: in the place of the one that it names.

    What was checked before, by this release, is not checked again: see `config_file.remembered`. Raises ConfigError for
    a file that cannot be read, and for every wrong key, type or range in it, each named with its value and what is
    allowed: a broken file never means defaults.
    """
    content, values = read_object(file)
    if preset is not None:
        if preset not in PRESET_NAMES:
            raise ConfigError(f"got the preset {preset!r}; allowed are {', '.join(PRESET_NAMES)}")
        return check_settings({**values, "preset": preset}, where=str(file))
    if not values:
        return Settings()
    if (known := remembered(file, content, _rules())) is not None:
        return Settings.of_checked(known)
    settings = check_settings(values, where=str(file))
    remember(file, content, _rules(), settings.model_dump(exclude_unset=True))
    return settings


def part_of(settings: Settings, name: str, record: type[R], file: Path) -> R:
    """A design's own settings, which stand in `designs` under its name; `file` is the config.json that they are from.

    What was checked before is not checked again, as in `load_settings`. Raises ConfigError for what is wrong in them.
    """
    if not (values := settings.designs.get(name, {})):
        return record()
    where = file.with_name(f"{file.name}.{name}")
    content, rules = json.dumps(values).encode(), _fields(record)
    if (known := remembered(where, content, rules)) is not None:
        return record.of_checked(known)
    checked = check_part(name, record, values, where=str(file))
    remember(where, content, rules, checked.model_dump(exclude_unset=True))
    return checked


def check_part(name: str, record: type[R], values: Mapping[str, Any], *, where: str = "settings") -> R:
    """A design's own settings from a dictionary. Raises ConfigError, naming all that is wrong."""
    from theorex_lab.config_schema import validated

    return record.of_checked(validated(record, values, where=f"{where}: designs.{name}"))


def check_settings(values: Mapping[str, Any], *, where: str = "settings") -> Settings:
    """Settings from a dictionary with camelCase or snake_case keys. Raises ConfigError, naming all that is wrong."""
    if not values:
        return Settings()
    from theorex_lab.config_schema import validated

    settings = Settings.of_checked(validated(Settings, values, where=where))
    if settings.mild_threshold > settings.active_threshold:
        at_most = f"activeThreshold ({settings.active_threshold})"
        raise ConfigError(f"{where}: mildThreshold is {settings.mild_threshold}; allowed is up to {at_most}")
    for agent, weight in settings.source_weights.items():
        check_agent(agent)
        if not 0 <= weight <= 1:
            raise ConfigError(f"{where}: sourceWeights.{agent} is {weight}; allowed is 0 to 1")
    for signal, weight in (settings.search_weights or {}).items():
        if signal not in SIGNALS or not 0 <= weight <= 5:
            allowed = f"0 to 5 for each of {', '.join(SIGNALS)}"
            raise ConfigError(f"{where}: searchWeights.{signal} is {weight}; allowed is {allowed}")
    _check_law(settings, where)
    for position, role in enumerate(settings.roles):
        check_agent(role.agent_id)
        if settings.is_set("roles") and role.model_preference is not None:
            _check_model(role.model_preference, settings.models, f"{where}: roles.{position}.modelPreference")
    # Those of the default are skipped where the models are others.
    if settings.reviewers != Settings.tunables["reviewers"].default:
        for position, name in enumerate(settings.reviewers):
            _check_model(name, settings.models, f"{where}: reviewers.{position}")
            if name in settings.reviewers[:position]:
                raise ConfigError(f"{where}: reviewers.{position} is {name!r}, which stands there twice; keep one")
    return settings


def _check_model(name: str, known: Collection[str], what: str) -> None:
    if name not in known:
        raise ConfigError(f"{what} is {name!r}; allowed are the models {', '.join(known)}")


def _check_law(settings: Settings, where: str) -> None:
    """The law must be known, and its parameters, with the half-life among them where it has one, in their ranges."""
    if (allowed := LAW_PARAMETERS.get(settings.decay_law)) is None:
        known = ", ".join(sorted(LAW_PARAMETERS))
        raise ConfigError(f"{where}: decayLaw is {settings.decay_law!r}; allowed are {known}")
    given: dict[str, float] = dict(settings.decay_params)
    if "half_life_days" in allowed:
        given.setdefault("half_life_days", settings.half_life_days)
    try:
        check_params(settings.decay_law, allowed, given)
    except InvalidInput as error:
        raise ConfigError(f"{where}: decayParams: {error}") from error


def save_settings(file: Path, changes: Mapping[str, Any], *, unset: Sequence[str] = ()) -> Settings:
    """Write `changes` into `file` and take `unset` out of it, keeping what else is in it; returns what is in force then.

    Keys may be camelCase or snake_case. The file is replaced as a whole, by one process at a time. Raises ConfigError,
    and nothing is written, for a key that is neither a setting nor in the file, and where the result would be wrong.
    """
    return save_part(file, "", Settings, changes, unset=unset)


def save_part(file: Path, name: str, record: type[R], changes: Mapping[str, Any], *, unset: Sequence[str] = ()) -> R:
    """As `save_settings`, for a design's own settings; for those of the home under the name ''."""
    from theorex_lab.journal.files import exclusive, write_atomically

    with exclusive(file.with_name(f".{file.name}.lock"), wait=True):
        part = values = read_object(file)[1]
        if name:
            check_settings(values, where=str(file))
            part = values.setdefault("designs", {}).setdefault(name, {})
        _change(part, record, changes, unset)
        saved: Any = check_part(name, record, part, where=str(file)) if name else check_settings(part, where=str(file))
        write_atomically(file, (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode())
    return cast(R, saved)


def _change(values: dict[str, Any], kind: type[SettingsRecord], changes: Mapping[str, Any],
            unset: Sequence[str]) -> None:  # fmt: skip
    for key in (*unset, *changes):
        spelt = {key, to_snake(key), to_camel(to_snake(key))}
        if not spelt & values.keys() and to_snake(key) not in kind.tunables:
            near = nearest_key(key, kind)
            raise ConfigError(f"got the key {key!r}, but there is no such setting; the nearest is {near}")
        for spelling in spelt:
            values.pop(spelling, None)
    values |= {to_camel(to_snake(key)): value for key, value in changes.items()}


def read_value(key: str, text: str, kind: type[SettingsRecord] = Settings) -> Any:
    """The value of a setting as it is typed: a text as it stands (or as JSON, in quotes), anything else as JSON.

    Raises ConfigError where it is no JSON.

    >>> read_value("halfLifeDays", "7"), read_value("decayLaw", "power"), read_value("reviewers", '["m"]')
    (7, 'power', ['m'])
    """
    field = kind.tunables.get(to_snake(key))
    annotation = str(field.annotation) if field is not None else "str"
    is_text = annotation.startswith(("str", "Literal"))
    if is_text and not text.startswith('"') and not (text == "null" and "None" in annotation):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f'got {text!r} for {key}; allowed is JSON, such as 7, true, ["a"] or {{"a": 1}}') from error


def nearest_key(key: str, kind: type[SettingsRecord]) -> str:
    import difflib

    known = [to_camel(name) for name in kind.tunables]
    return difflib.get_close_matches(to_camel(to_snake(key)), known, n=1, cutoff=0)[0]


def describe_settings(settings: SettingsRecord, *, before: str = "") -> list[dict[str, Any]]:
    """One row a tunable: key, value, default, range, unit, source (as `SettingsRecord.source` says) and description.

    `before`: what stands before the keys of a design's own settings.
    """
    from theorex_lab.config_schema import allowed

    kind = type(settings)
    values, defaults = (record.model_dump(by_alias=True) for record in (settings, kind()))
    rows = []
    for name, field in kind.tunables.items():
        key = to_camel(name)
        row = {"key": before + key, "value": values[key], "default": defaults[key], "range": allowed(kind, name)}
        rows.append({**row, "unit": field.unit, "source": settings.source(name), "description": field.what})
    return rows


def _rules() -> str:
    """What values are checked against; where it differs, what was checked before is checked again."""
    return f"{_CHECKS} {_fields(Settings, ModelSettings, RoleSettings)} {LAW_PARAMETERS}"


def _fields(*kinds: type[SettingsRecord]) -> str:
    return str([(name, field.annotation, field.bounds) for kind in kinds for name, field in kind.tunables.items()])
