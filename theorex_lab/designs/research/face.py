"""What a lab gives as `lab.research`: the memory manager of the document."""

from theorex_lab.design import Face, later, on_home

_HERE = "theorex_lab.designs.research"


class MemoryManager(Face):
    """The tiers of research memory in one home.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.research.log_event("theory", "tried Hoeffding", {"tool": "search"})
    ...     _ = lab.research.remember("theory.failed.bounds", ["Hoeffding"], tags=["bounds"])
    ...     lemma = lab.research.add_theorem("Bernstein", "P(S > t) <= exp(-t^2 / 2(v + bt/3))", domain="concentration")
    ...     _ = lab.research.add_insight("pitfalls", "Hoeffding is loose", "It ignores the variance.", domain="concentration")
    ...     told = lab.research.load_for_injection("concentration")
    ...     lab.research.recall("theory.failed.bounds"), lab.research.recent_events(1)[0].content
    (['Hoeffding'], 'tried Hoeffding')
    >>> told.splitlines()[0]
    '<memories>'

    What is no method of its own does what the function that it names does, in the face's home.
    """

    begin_session = on_home(later(f"{_HERE}.records:begin_session"))
    domain_of = on_home(later(f"{_HERE}.records:domain_of"))
    log_event = on_home(later(f"{_HERE}.records:log_event"))
    recent_events = on_home(later(f"{_HERE}.records:recent_events"))
    search_events = on_home(later(f"{_HERE}.records:search_events"))
    remember = on_home(later(f"{_HERE}.records:keep_record"))
    recall = on_home(later(f"{_HERE}.records:recall_value"))
    record_of = on_home(later(f"{_HERE}.records:record_of"))
    recall_by_tag = on_home(later(f"{_HERE}.records:recall_by_tag"))
    search_keys = on_home(later(f"{_HERE}.records:search_keys"))
    all_records = on_home(later(f"{_HERE}.records:all_records"))
    delete = on_home(later(f"{_HERE}.records:delete"))
    add_theorem = on_home(later(f"{_HERE}.theorems:add_theorem"))
    link_theorems = on_home(later(f"{_HERE}.theorems:link_theorems"))
    find_related_theorems = on_home(later(f"{_HERE}.theorems:find_related_theorems"))
    theorem = on_home(later(f"{_HERE}.theorems:theorem_named"))
    to_networkx = on_home(later(f"{_HERE}.theorems:to_networkx"))
    closure = on_home(later(f"{_HERE}.theorems:closure_of"))
    cycles = on_home(later(f"{_HERE}.theorems:cycles"))
    import_theorems = on_home(later(f"{_HERE}.theorems:import_theorems"))
    premises = on_home(later(f"{_HERE}.premises:suggest_premises"))
    add_insight = on_home(later(f"{_HERE}.insights:add_insight"))
    insights = on_home(later(f"{_HERE}.insights:insights_of"))
    load_for_injection = on_home(later(f"{_HERE}.insights:load_for_injection"))
    record_skill = on_home(later(f"{_HERE}.skills:record_skill"))
    skills = on_home(later(f"{_HERE}.skills:skills_of"))
    update_stats = on_home(later(f"{_HERE}.skills:update_stats"))
    post_run = on_home(later(f"{_HERE}.learning:post_run"))
