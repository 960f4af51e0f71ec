"""`python -m benchmarks.decisive_weights`: learn the weights of failure review again.

It needs Who&When (`theorex data get whoandwhen`), and writes
`theorex_lab/evolution/decisive_weights.json`; with unchanged data and signs the file
stays the same, byte for byte.
"""

from __future__ import annotations

from pathlib import Path

from theorex_lab import evolution
from theorex_lab.eval.datasets.recorded_runs import fetch_whoandwhen
from theorex_lab.eval.metrics.decisive_fit import fit_decisive

WEIGHTS_FILE = Path(evolution.__file__).parent / "decisive_weights.json"


def weights_text() -> str:
    """Return what the file of weights holds when it is made now."""
    return fit_decisive(fetch_whoandwhen().runs).to_json()


if __name__ == "__main__":
    WEIGHTS_FILE.write_text(weights_text(), encoding="utf-8")
