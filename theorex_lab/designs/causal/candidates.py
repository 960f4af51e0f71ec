"""Keep what others offer, and choose the capsule that fits signals.

A candidate from outside is kept as data. It is no evidence, nothing chooses it, and it
is never done.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent
from theorex_lab.designs.causal import FAILED
from theorex_lab.designs.causal.capture import asset_id, document_form, in_ms
from theorex_lab.designs.causal.genes import Matcher, checked_asset, texts_in
from theorex_lab.designs.causal.graph import assets_of
from theorex_lab.designs.causal.keys import checked_signals
from theorex_lab.designs.causal.settings import causal_settings
from theorex_lab.memory.contract import DesignApi, Home


def record_external_candidate(
    home: Home, asset: Mapping[str, Any], *, agent: str = "main"
) -> dict[str, Any] | None:
    """Record a gene or a capsule that comes from outside.

    It gets the status external_candidate, and a capsule its confidence times the
    setting `external_confidence`.

    Args:
        home: Where it is kept.
        asset: The gene or the capsule.
        agent: Who received it.

    Returns:
        The event in the document's form; None without a type or an id.

    Raises:
        InvalidInput: As `checked_asset` raises it, and where its asset_id is not the
            hash of its content.
    """
    if not asset.get("type") or not asset.get("id"):
        return None
    content = checked_asset(asset)
    _check_hash(asset)
    candidate = None
    if content["type"] == "Capsule":
        factor = causal_settings(home).external_confidence
        content["confidence"] = round(content.get("confidence", 0.0) * factor, 6)
        candidate = {}
        for name in ("trigger", "gene", "confidence"):
            candidate[name] = content.get(name)
    content["a2a"] = {"status": "external_candidate"}
    body = {
        "external": {
            "source": "external",
            "received_at": in_ms(home.clock.now()),
        },
        "asset": {
            "type": content["type"],
            "id": content["id"],
        },
        "candidate": candidate,
        "content": content,
        "source": "import",
    }
    event = DesignApi(home).append(
        "external_candidate",
        body,
        agent=check_agent(agent),
    )
    return document_form(event)


def _check_hash(asset: Mapping[str, Any]) -> None:
    """Raise an error for an asset that was changed on its way."""
    stated = asset.get("asset_id")
    if stated is None:
        return
    computed = asset_id(asset)
    if stated != computed:
        raise InvalidInput(
            f"got the asset_id {stated!r:.80} for content of {computed}; allowed is"
            " what was not changed on its way"
        )


def external_candidates(home: Home) -> list[dict[str, Any]]:
    """Return the candidates of the home's project or of none, as lines have them."""
    projects = None if home.projects is None else ("", *home.projects)
    events = home.journal.tail(0, kinds=["external_candidate"], projects=projects)
    return [document_form(event) for event in events]


def select_capsule(
    home: Home,
    signals: Sequence[str],
    capsules: Iterable[Mapping[str, Any]] | None = None,
) -> Mapping[str, Any] | None:
    """Return the capsule whose triggers fit signals best; None where none fits.

    The one with the most triggers that fit is chosen, the first among equals. A capsule
    whose outcome is a failure is left out.

    Args:
        home: Where the capsules are.
        signals: The signals.
        capsules: The capsules to choose among; default: those that are trusted.

    Raises:
        InvalidInput: As `checked_signals` raises it.
    """
    matcher = Matcher(checked_signals(signals))
    if capsules is None:
        capsules = assets_of(home, genes=False, own=True)
    best = None
    most_hits = 0
    for capsule in capsules:
        triggers = dict.fromkeys(texts_in(capsule, "trigger"))
        n_hits = sum(map(matcher.hits, triggers))
        if n_hits > most_hits and not _has_failed(capsule):
            best = capsule
            most_hits = n_hits
    return best


def _has_failed(capsule: Mapping[str, Any]) -> bool:
    """Return whether the outcome of a capsule is a failure."""
    outcome = capsule.get("outcome")
    return isinstance(outcome, Mapping) and outcome.get("status") == FAILED
