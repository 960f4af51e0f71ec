"""The laboratory: logs and data sets, replays, measures, pictures.

It is optional: the memory runs without it.
"""

# Type checkers take it for true; `typing` would cost every start of the hook 4 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from theorex_lab.eval.adapters.protocol import (
        EvalLog,
        EvalQuery,
        MemoryDesign,
        SessionLine,
    )
    from theorex_lab.eval.datasets.data_sets import available, get_data, list_data
    from theorex_lab.eval.datasets.joined import joined_log
    from theorex_lab.eval.datasets.logs import load_logs
    from theorex_lab.eval.datasets.needs_rows import ProjectNeeds
    from theorex_lab.eval.datasets.recorded_runs import load_local_runs
    from theorex_lab.eval.datasets.routing_sets import RoutingSet, load_routing_set
    from theorex_lab.eval.datasets.routing_tables import load_routing_table
    from theorex_lab.eval.datasets.session_needs import load_session_needs
    from theorex_lab.eval.datasets.simulated_failures import load_simulated_failures
    from theorex_lab.eval.datasets.sources import data_folder, packaged
    from theorex_lab.eval.metrics.access import tune
    from theorex_lab.eval.metrics.access_log import AccessLog, shares_in_context
    from theorex_lab.eval.metrics.causal import score_advice
    from theorex_lab.eval.metrics.compare import Comparison, compare
    from theorex_lab.eval.metrics.costs import ModelRuns, local_routing_set, score_costs
    from theorex_lab.eval.metrics.failures import score_failures
    from theorex_lab.eval.metrics.retrieval import score_retrieval
    from theorex_lab.eval.metrics.routing import score_routing
    from theorex_lab.eval.metrics.routing_curve import score_curve
    from theorex_lab.eval.plots.comparison import (
        plot_comparison,
        plot_failure,
        plot_recall,
        plot_sessions,
    )
    from theorex_lab.eval.plots.decay import plot_forgetting_curves
    from theorex_lab.eval.plots.needs import plot_design_gain
    from theorex_lab.eval.plots.routing import plot_costs, plot_curve, plot_matrix
    from theorex_lab.eval.replay.decay_replay import replay_all, replay_log
    from theorex_lab.eval.replay.design_gain import (
        DesignGain,
        design_gain,
        learnt_lines,
    )
    from theorex_lab.eval.replay.event_log import EventLog
    from theorex_lab.eval.replay.needs import NeedsScore, score_needs
    from theorex_lab.eval.replay.sessions import SessionReplay, replay_sessions
    from theorex_lab.eval.testing.memory_after import memory_under_test
    from theorex_lab.eval.testing.story_checks import story_problems
    from theorex_lab.eval.widgets.decay import decay_explorer
    from theorex_lab.eval.widgets.failures import failure_explorer

# Where each name lives. It is imported when it is first asked for, so that importing
# the package is cheap.
_MODULES = {
    "AccessLog": "metrics.access_log",
    "Comparison": "metrics.compare",
    "DesignGain": "replay.design_gain",
    "EventLog": "replay.event_log",
    "EvalLog": "adapters.protocol",
    "MemoryDesign": "adapters.protocol",
    "EvalQuery": "adapters.protocol",
    "RoutingSet": "datasets.routing_sets",
    "ModelRuns": "metrics.costs",
    "NeedsScore": "replay.needs",
    "ProjectNeeds": "datasets.needs_rows",
    "SessionLine": "adapters.protocol",
    "SessionReplay": "replay.sessions",
    "available": "datasets.data_sets",
    "compare": "metrics.compare",
    "data_folder": "datasets.sources",
    "decay_explorer": "widgets.decay",
    "design_gain": "replay.design_gain",
    "failure_explorer": "widgets.failures",
    "get_data": "datasets.data_sets",
    "joined_log": "datasets.joined",
    "learnt_lines": "replay.design_gain",
    "list_data": "datasets.data_sets",
    "load_local_runs": "datasets.recorded_runs",
    "load_logs": "datasets.logs",
    "load_routing_set": "datasets.routing_sets",
    "load_routing_table": "datasets.routing_tables",
    "load_session_needs": "datasets.session_needs",
    "load_simulated_failures": "datasets.simulated_failures",
    "local_routing_set": "metrics.costs",
    "memory_under_test": "testing.memory_after",
    "packaged": "datasets.sources",
    "plot_comparison": "plots.comparison",
    "plot_costs": "plots.routing",
    "plot_curve": "plots.routing",
    "plot_design_gain": "plots.needs",
    "plot_failure": "plots.comparison",
    "plot_forgetting_curves": "plots.decay",
    "plot_matrix": "plots.routing",
    "plot_recall": "plots.comparison",
    "plot_sessions": "plots.comparison",
    "replay_log": "replay.decay_replay",
    "replay_all": "replay.decay_replay",
    "replay_sessions": "replay.sessions",
    "score_advice": "metrics.causal",
    "score_costs": "metrics.costs",
    "score_curve": "metrics.routing_curve",
    "score_failures": "metrics.failures",
    "score_needs": "replay.needs",
    "score_retrieval": "metrics.retrieval",
    "score_routing": "metrics.routing",
    "shares_in_context": "metrics.access_log",
    "story_problems": "testing.story_checks",
    "tune": "metrics.access",
}

__all__ = [
    "AccessLog",
    "Comparison",
    "DesignGain",
    "EvalLog",
    "EvalQuery",
    "EventLog",
    "MemoryDesign",
    "ModelRuns",
    "NeedsScore",
    "ProjectNeeds",
    "RoutingSet",
    "SessionLine",
    "SessionReplay",
    "available",
    "compare",
    "data_folder",
    "decay_explorer",
    "design_gain",
    "failure_explorer",
    "get_data",
    "joined_log",
    "learnt_lines",
    "list_data",
    "load_local_runs",
    "load_logs",
    "load_routing_set",
    "load_routing_table",
    "load_session_needs",
    "load_simulated_failures",
    "local_routing_set",
    "memory_under_test",
    "packaged",
    "plot_comparison",
    "plot_costs",
    "plot_curve",
    "plot_design_gain",
    "plot_failure",
    "plot_forgetting_curves",
    "plot_matrix",
    "plot_recall",
    "plot_sessions",
    "replay_all",
    "replay_log",
    "replay_sessions",
    "score_advice",
    "score_costs",
    "score_curve",
    "score_failures",
    "score_needs",
    "score_retrieval",
    "score_routing",
    "shares_in_context",
    "story_problems",
    "tune",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in _MODULES:
        raise AttributeError(
            f"theorex_lab.eval has no {name!r}; it has {', '.join(__all__)}"
        )
    from importlib import import_module

    return getattr(import_module(f"theorex_lab.eval.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__]
