"""What a lab gives as `lab.research`: the memory manager of the document."""

from theorex_lab.designs.research import (
    injection,
    learning,
    premises,
    records,
    theorems,
)
from theorex_lab.designs.research import insights as insight_log
from theorex_lab.designs.research import skills as skill_log
from theorex_lab.memory.contract import DesignApi, on_home


class MemoryManager(DesignApi):
    """Give the tiers of research memory in one home.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.research.log_event("theory", "tried Hoeffding", {"tool": "search"})
    ...     _ = lab.research.remember(
    ...         "theory.failed.bounds", ["Hoeffding"], tags=["bounds"]
    ...     )
    ...     lemma = lab.research.add_theorem(
    ...         "Bernstein",
    ...         "P(S > t) <= exp(-t^2 / 2(v + bt/3))",
    ...         domain="concentration",
    ...     )
    ...     _ = lab.research.add_insight(
    ...         "pitfalls",
    ...         "Hoeffding is loose",
    ...         "It ignores the variance.",
    ...         domain="concentration",
    ...     )
    ...     told = lab.research.load_for_injection("concentration")
    ...     (
    ...         lab.research.recall("theory.failed.bounds"),
    ...         lab.research.recent_events(1)[0].content,
    ...     )
    (['Hoeffding'], 'tried Hoeffding')
    >>> told.splitlines()[0]
    '<memories>'

    What is no method of its own does what the function that it names does, in the
    face's home.
    """

    begin_session = on_home(records.begin_session)
    domain_of = on_home(records.domain_of)
    log_event = on_home(records.log_event)
    recent_events = on_home(records.recent_events)
    search_events = on_home(records.search_events)
    remember = on_home(records.keep_record)
    recall = on_home(records.recall_value)
    record_of = on_home(records.record_of)
    recall_by_tag = on_home(records.recall_by_tag)
    search_keys = on_home(records.search_keys)
    all_records = on_home(records.all_records)
    delete = on_home(records.delete)
    add_theorem = on_home(theorems.add_theorem)
    link_theorems = on_home(theorems.link_theorems)
    find_related_theorems = on_home(theorems.find_related_theorems)
    theorem = on_home(theorems.theorem_named)
    to_networkx = on_home(theorems.to_networkx)
    closure = on_home(theorems.closure_of)
    cycles = on_home(theorems.cycles)
    import_theorems = on_home(theorems.import_theorems)
    premises = on_home(premises.suggest_premises)
    add_insight = on_home(insight_log.add_insight)
    insights = on_home(insight_log.insights_of)
    load_for_injection = on_home(injection.load_for_injection)
    record_skill = on_home(skill_log.record_skill)
    skills = on_home(skill_log.skills_of)
    skills_for_injection = on_home(injection.skills_for_injection)
    update_stats = on_home(skill_log.update_stats)
    post_run = on_home(learning.post_run)
