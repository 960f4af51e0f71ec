"""The commands of research tiers: `theorex research …`."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.research import CATEGORIES, RELATIONS
from theorex_lab.files.command_line import fail, group, home_command, one_row
from theorex_lab.files.command_line.options import OWN_AGENT, SESSION, TOKENS
from theorex_lab.memory.contract import Home
from theorex_lab.text.line import one_line

Output = tuple[dict[str, Any], str]  # the result of a command, and the text for people
_SHOWN_CHARACTERS = 120
_SHOWN_PROBLEMS = 20
_MOST_PREMISES = 10
_HERE_YET = "in this project yet; --all-projects shows those of others"
_PATH = click.Path(path_type=Path)
_TAGS = click.option("--tag", "tags", multiple=True, help="A tag; may be repeated.")
_DOMAIN = click.option(
    "--domain",
    default="",
    help=(
        "The field it belongs to; default: that of the session, else the setting"
        " domain, else general. A captured session's is its project before general."
    ),
)
_OF_DOMAIN = click.option(
    "--domain", default=None, help="Only this domain; default: all domains."
)
_KEY = click.argument("key", metavar="KEY")
_AT_MOST = click.option(
    "--limit",
    type=click.IntRange(0, 1_000),
    default=None,
    help="Show at most this many; default: the number in the settings.",
)


def _remember(
    home: Home,
    key: str,
    value: tuple[str, ...],
    tags: tuple[str, ...],
    session: str,
    agent: str,
) -> Output:
    """VALUE is JSON, or else a text; several words are one text.

    It replaces the value that the key had before, which stays in the journal. `recall`
    shows it.

    JSON: {record_id, key}
    """
    from theorex_lab.designs.research.records import keep_record

    text = " ".join(value)
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        stored = text
    record_id = keep_record(
        home, key, stored, tags, source_session=session, agent=agent
    )
    return {"record_id": record_id, "key": key}, one_row(key)


def _recall(home: Home, key: str | None, tag: str | None, prefix: str | None) -> Output:
    """Give one of KEY, --tag and --prefix; --prefix '' lists all records.

    The exit code is 1 where nothing is kept under KEY.

    JSON: {records: [{record_id, key, value, tags, source_session, created_at,
    updated_at}]}
    """
    choices = [choice for choice in (key, tag, prefix) if choice is not None]
    if len(choices) != 1:
        raise InvalidInput(
            "got none or several of KEY, --tag and --prefix; allowed is one of them"
        )
    records = _chosen_records(home, key, tag, prefix)
    if key is not None and not records:
        fail(
            f"got the key {key!r}, under which nothing is kept; `theorex research"
            " recall --prefix ''` lists all keys",
            records=[],
        )
    rows = []
    for record in records:
        value = one_line(json.dumps(record.value, ensure_ascii=False))
        rows.append(one_row(f"{record.key}: {value}"))
    result = {"records": [record.to_dict() for record in records]}
    return result, "\n".join(rows) or "nothing is kept there"


def _chosen_records(
    home: Home, key: str | None, tag: str | None, prefix: str | None
) -> list[Any]:
    """Return the records under a key, with a tag, or under keys with a prefix."""
    from theorex_lab.designs.research.records import (
        recall_by_tag,
        record_of,
        search_keys,
    )

    if tag is not None:
        return recall_by_tag(home, tag)
    keys = search_keys(home, prefix or "") if key is None else [key]
    records = [record_of(home, name) for name in keys]
    return [record for record in records if record is not None]


def _forget(home: Home, key: str, agent: str) -> Output:
    """The value stays in the journal; `theorex erase` removes it for good.

    JSON: {key, deleted}
    """
    from theorex_lab.designs.research.records import delete

    deleted = delete(home, key, agent=agent)
    text = "deleted" if deleted else "nothing is kept there"
    return {"key": key, "deleted": deleted}, text


def _add_theorem(
    home: Home,
    name: str,
    statement: tuple[str, ...],
    domain: str,
    session: str,
    tags: tuple[str, ...],
    agent: str,
) -> Output:
    """NAME must be new in its domain.

    The same name with the same statement changes nothing; with another statement it is
    refused. STATEMENT is one text, also where it has several words.

    JSON: {node_id, theorem_name, formal_statement, domain, session_id, tags,
    created_at, distance}
    """
    from theorex_lab.designs.research.theorems import add_theorem

    node = add_theorem(
        home,
        name,
        " ".join(statement),
        domain,
        session_id=session,
        tags=tags,
        agent=agent,
    )
    return node.to_dict(), f"{node.node_id}: {one_row(node.theorem_name)}"


def _link(home: Home, start: str, end: str, relation: str, agent: str) -> Output:
    """START and END are ids or names of theorems; the relation goes from START to END.

    The same link is kept once. Where theorems use each other in a circle, a warning
    names them.

    JSON: {from, to, relation, new, circles: [[names]]}
    """
    from theorex_lab.designs.research.theorems import (
        cycles,
        link_theorems,
        theorem_named,
    )

    new = link_theorems(home, start, end, relation, agent=agent)
    name = theorem_named(home, start).theorem_name
    circles = []
    warning = ""
    if relation == "uses":
        circles = [circle for circle in cycles(home) if name in circle]
    for circle in circles:
        names = one_line(", ".join(circle))
        warning += f"\nthese use each other in a circle: {names}"
    result = {
        "from": start,
        "to": end,
        "relation": relation,
        "new": new,
        "circles": circles,
    }
    return result, f"{start} {relation} {end}{'' if new else ' (known)'}{warning}"


def _related(home: Home, name: str, depth: int) -> Output:
    """It follows links of every relation in both directions, the nearest first.

    JSON: {related: [{node_id, theorem_name, formal_statement, domain, session_id, tags,
    created_at, distance}]}
    """
    from theorex_lab.designs.research.theorems import find_related_theorems

    rows = []
    related = []
    for node in find_related_theorems(home, name, depth):
        theorem = f"{node.theorem_name}: {node.formal_statement}"
        rows.append(f"{node.distance}  {one_line(theorem, _SHOWN_CHARACTERS)}")
        related.append(node.to_dict())
    return {"related": related}, "\n".join(rows) or "nothing is linked with it"


def _import_theorems(home: Home, path: Path, domain: str, agent: str) -> Output:
    """PATH is a LaTeX blueprint, a Metamath file, or a folder of equational theories.

    A folder may hold several files, which are all read, and so is what a file of it
    includes. What is left out is listed with its reason and its place. Importing twice
    imports once. The exit code is 1 where no theorem was found.

    JSON: {theorems, links, known, in_source, left_out, conflicts, unresolved, problems}
    """
    from theorex_lab.designs.research.reading import theorems_in
    from theorex_lab.designs.research.theorems import import_theorems
    from theorex_lab.files.isolated.limits import ReadLimits

    theorems = theorems_in(path, ReadLimits.of(home.settings))
    result = import_theorems(
        home,
        theorems.nodes,
        theorems.links,
        domain=domain or theorems.domain,
        agent=agent,
    )
    n_refused = len(result["problems"])
    result["problems"] = [*theorems.problems, *result["problems"]]
    result["in_source"] = theorems.in_source
    result["left_out"] = theorems.left_out + n_refused
    problems = list(map(one_row, _cut(result["problems"])))
    if len(theorems.nodes) == n_refused:
        looked_for = (
            f"found no theorem in {path}; looked for \\begin{{theorem}} and its kin with"
            " a label (.tex), for $a and $p of |- (.mm), and for equations.txt"
        )
        fail("; ".join([looked_for, *problems]), **result)
    lines = [
        f"{result['theorems']} theorems, {result['links']} links",
        f"{result['in_source']} theorems in the source, {result['left_out']} left out",
        *problems,
    ]
    if result["conflicts"]:
        names = ", ".join(_cut(result["conflicts"]))
        lines.append(f"known with another statement, which stays: {names}")
    if result["unresolved"]:
        names = ", ".join(_cut(result["unresolved"]))
        lines.append(f"used, but not found: {names}")
    return result, "\n".join(lines)


def _cut(texts: list[str]) -> list[str]:
    """Return the first texts, and how many more there are."""
    n_more = len(texts) - _SHOWN_PROBLEMS
    if n_more <= 0:
        return texts
    return [*texts[:_SHOWN_PROBLEMS], f"and {n_more:,} more (--json lists them)"]


def _closure(
    home: Home, relation: str | None, domain: str | None, dataset: str | None
) -> Output:
    """It counts the pairs of theorems that the relation connects, directly or in steps.

    Without --relation it is the one that most links here have: `uses` for what was
    imported of LaTeX and Metamath, `generalizes` for implications. Each theorem also
    counts as a pair with itself (the reflexive and transitive closure). --dataset reads
    a folder of $THEOREX_DATA instead of the memory.

    JSON: {relation, nodes, edges, pairs, seconds}
    """
    from theorex_lab.designs.research.readers import closure_of_theories
    from theorex_lab.designs.research.theorems import closure_of

    if dataset is None:
        closure = closure_of(home, relation, domain)
    else:
        closure = closure_of_theories(
            Path(os.environ.get("THEOREX_DATA", "")) / dataset
        )
    result = {
        "relation": closure.relation,
        "nodes": closure.nodes,
        "edges": closure.edges,
        "pairs": closure.pairs,
        "seconds": closure.seconds,
    }
    text = (
        f"{closure.pairs:,} pairs of {closure.nodes:,} nodes and {closure.edges:,}"
        f" links ({closure.relation}), in {closure.seconds:.2f} s"
    )
    return result, text


def _premises(
    home: Home, statement: tuple[str, ...], domain: str | None, limit: int | None
) -> Output:
    """It ranks known theorems for a new STATEMENT.

    A theorem ranks high where similar statements use it, where it is similar itself,
    and where many theorems use it.

    JSON: {premises: [{node_id, theorem_name, formal_statement, score, …}]}
    """
    from theorex_lab.designs.research.premises import suggest_premises

    most = _MOST_PREMISES if limit is None else limit
    rows = []
    premises = []
    for node, score in suggest_premises(home, " ".join(statement), most, domain=domain):
        theorem = f"{node.theorem_name}: {node.formal_statement}"
        rows.append(f"{score:.2f}  {one_line(theorem, _SHOWN_CHARACTERS)}")
        premises.append({**node.to_dict(), "score": score})
    return {"premises": premises}, "\n".join(rows) or "nothing is known"


def _add_insight(
    home: Home,
    category: str,
    title: str,
    content: tuple[str, ...],
    session: str,
    domain: str,
    confidence: float,
    agent: str,
) -> Output:
    """An insight that says the same as another is kept once.

    One that says much of the same is linked with the other, or merged with it by the
    model that the settings name. An insight below the setting insightConfidence is not
    kept.

    JSON: {insight_id, kept, like}
    """
    from theorex_lab.designs.research.insights import add_insight

    insight = add_insight(
        home,
        category,
        title,
        " ".join(content),
        confidence=confidence,
        domain=domain,
        session_id=session,
        agent=agent,
    )
    result: dict[str, Any] = {"insight_id": None, "kept": False, "like": []}
    if insight is None:
        return (
            result,
            "not kept: its confidence is below the setting insightConfidence",
        )
    result["insight_id"] = insight.insight_id
    result["kept"] = True
    result["like"] = list(insight.like)
    return result, insight.insight_id


def _insights(home: Home, domain: str | None, category: str | None) -> Output:
    """It prints the oldest insight first.

    JSON: {insights: [{insight_id, category, title, content, confidence, domain,
    session_id, source, agent, created_at, …}]}
    """
    from theorex_lab.designs.research.insights import insights_of
    from theorex_lab.designs.research.records import with_iso_times

    rows = []
    insights = []
    for insight in insights_of(home, domain, category):
        text = one_line(insight.text, _SHOWN_CHARACTERS)
        day = f"{insight.created_at:%Y-%m-%d}"
        rows.append(f"{day}  {insight.domain}  {insight.category}  {text}")
        insights.append(with_iso_times(asdict(insight)))
    return {"insights": insights}, "\n".join(rows) or f"no insights {_HERE_YET}"


def _inject(
    home: Home,
    query: tuple[str, ...],
    domain: str | None,
    limit: int | None,
    tokens: int,
    session: str,
    agent: str,
) -> Output:
    """With WORDS the insights are those that fit the words.

    They are printed whole, between <memories> and </memories>. The journal records that
    they were given.

    JSON: {text, tokens}
    """
    from theorex_lab.designs.research.injection import load_for_injection

    text = load_for_injection(
        home,
        domain,
        limit,
        " ".join(query),
        tokens=tokens,
        agent=agent,
        session=session,
    )
    return _injected(text)


def _injected(text: str) -> Output:
    """Return a block as a command prints it."""
    # A token is four bytes, the last one perhaps fewer.
    n_tokens = -(-len(text.encode()) // 4)
    return {"text": text, "tokens": n_tokens}, text or "nothing fits"


def _inject_skills(
    home: Home,
    role: str | None,
    stage: str | None,
    limit: int | None,
    tokens: int,
    session: str,
    agent: str,
) -> Output:
    """They are printed whole, between <skills> and </skills>, the best first.

    A skill that failed more often than it worked is left out. The journal records that
    they were given: how the session goes then counts for them.

    JSON: {text, tokens}
    """
    from theorex_lab.designs.research.injection import skills_for_injection

    text = skills_for_injection(
        home,
        role,
        stage,
        limit,
        tokens=tokens,
        agent=agent,
        session=session,
    )
    return _injected(text)


def _skills(home: Home, role: str | None, stage: str | None) -> Output:
    """The skills are ranked by their success rate.

    In the rate the last outcome counts most. The rate of a skill that was tried only a
    few times counts less.

    JSON: {skills: [{skill_id, name, description, origin, success_rate, usage_count,
    successes, ci_low, ci_high, rank, …}]}
    """
    from theorex_lab.designs.research.records import with_iso_times
    from theorex_lab.designs.research.skills import skills_of

    skills = []
    rows = []
    for skill in skills_of(home, role, stage):
        rate = "untried"
        if skill.success_rate is not None:
            counts = f"{skill.successes} of {skill.usage_count}"
            rate = f"{skill.success_rate:.2f} ({counts})"
        row = f"{skill.name}: {skill.description}  {rate}"
        rows.append(one_line(row, _SHOWN_CHARACTERS))
        skills.append(with_iso_times(asdict(skill)))
    return {"skills": skills}, "\n".join(rows) or f"no skills {_HERE_YET}"


def _skill_stats(
    home: Home, name: str, success: bool | None, session: str, agent: str
) -> Output:
    """With --success or --failure it first records how a session with the skill went.

    With --session an outcome counts once for that session.

    JSON: {name, success_rate, usage_count, successes, ci_low, ci_high, rank}
    """
    from theorex_lab.designs.research import skills

    if success is None:
        skill = skills.skill_named(home, name)
    else:
        skill = skills.update_stats(
            home, name, success, session_id=session, agent=agent
        )
    result = {
        "name": skill.name,
        "success_rate": skill.success_rate,
        "usage_count": skill.usage_count,
        "successes": skill.successes,
        "ci_low": skill.ci_low,
        "ci_high": skill.ci_high,
        "rank": skill.rank,
    }
    rate = "untried"
    if skill.success_rate is not None:
        rate = f"success rate {skill.success_rate:.3f}"
    interval = f"{skill.ci_low:.2f} to {skill.ci_high:.2f}"
    worked = f"worked {skill.successes} of {skill.usage_count}"
    return result, f"{skill.name}: {rate}, {worked} ({interval})"


def _post_run(
    home: Home,
    session: str,
    domain: str,
    status: str | None,
    state: Path | None,
    agent: str,
) -> Output:
    """It turns what worked and what failed into insights, skills and statistics.

    Everything is written in one step. Doing it twice changes nothing. Without --state,
    what happened is read from what was captured of the session.

    JSON: {session_id, status, stats, insights, skills, patterns}
    """
    from theorex_lab.designs.research.insights import insights_of
    from theorex_lab.designs.research.learning import post_run, read_state

    run = None if state is None else read_state(state)
    summary = post_run(home, session, run, domain=domain, status=status, agent=agent)
    rows = []
    for insight in insights_of(home):
        if insight.insight_id in summary["insights"]:
            text = f"{insight.category}: {insight.text}"
            rows.append(one_line(text, _SHOWN_CHARACTERS))
    rows += [f"skill: {name}" for name in summary["skills"]]
    rows += [f"skill: {name}" for name in summary["patterns"]]
    rows += [f"outcome counted: {name}" for name in summary["stats"]]
    if not rows:
        rows.append("nothing new")
    status = summary["status"] or "outcome unknown"
    return summary, "\n".join([f"{session}: {status}", *rows])


def _export(home: Home, folder: Path, replace: bool) -> Output:
    """DIR gets the records, insights and skills of all projects.

    An existing file is replaced only with --replace.

    JSON: {folder, files}
    """
    from theorex_lab.designs.research.files import export_tiers
    from theorex_lab.files.formats.reports import refuse_to_replace

    if folder.is_dir() and not replace:
        refuse_to_replace(sorted(folder.iterdir()))
    files = export_tiers(home.in_project(""), None, folder).files
    rows = [f"{count:8d}  {name}" for name, count in files.items()]
    return {"folder": str(folder), "files": files}, "\n".join(rows) or "nothing yet"


def _import(home: Home, paths: tuple[Path, ...], trusted: bool, agent: str) -> Output:
    """PATHS are folders like ~/.eurekaclaw, or single files of them.

    Importing twice imports once, and damaged files are listed. The exit code is 1 where
    nothing could be read.

    JSON: {files: [{file, imported, skipped, problems, unlinked, left_out, changed}],
    imported, skipped}
    """
    from theorex_lab.designs.research.files import import_tiers

    reports = []
    problems = []
    for path in paths:
        reports += import_tiers(home, None, path, agent=agent, trusted=trusted)
    for report in reports:
        problems += report.problems
    n_imported = sum(report.imported for report in reports)
    n_skipped = sum(report.skipped for report in reports)
    result: dict[str, Any] = {
        "files": [vars(report) for report in reports],
        "imported": n_imported,
        "skipped": n_skipped,
    }
    if not n_imported + n_skipped:
        nothing = (
            "found no file of memory/, memories/, skills/ or runs/; name a folder that"
            " has one"
        )
        fail("; ".join(problems) or nothing, **result)
    rows = [
        f"{report.imported:8d} new, {report.skipped} there already  {report.file}"
        for report in reports
    ]
    return result, "\n".join([*rows, *problems])


REMEMBER = home_command(
    "remember",
    "",
    _remember,
    OWN_AGENT,
    _KEY,
    click.argument("value", nargs=-1, required=True),
    _TAGS,
    SESSION,
)
RECALL = home_command(
    "recall",
    "",
    _recall,
    click.argument("key", metavar="[KEY]", required=False),
    click.option("--tag", help="Show the records with this tag."),
    click.option("--prefix", help="Show the records whose keys begin with this text."),
)
FORGET = home_command("forget", "", _forget, OWN_AGENT, _KEY)
_NAME = click.argument("name", metavar="NAME")
_STATEMENT = click.argument("statement", nargs=-1, required=True)
_RELATION = click.option(
    "--relation",
    type=click.Choice(RELATIONS),
    default="uses",
    show_default=True,
    help="The relation of START to END.",
)
_PAIRS = click.option(
    "--relation",
    type=click.Choice(RELATIONS),
    help="The relation whose links are followed; default: the one of most links.",
)
_ENDS = [click.argument(name, metavar=name.upper()) for name in ("start", "end")]
THEOREM = group(
    "theorem",
    "",
    home_command(
        "add",
        "Keep a theorem.",
        _add_theorem,
        OWN_AGENT,
        _NAME,
        _STATEMENT,
        _DOMAIN,
        SESSION,
        _TAGS,
    ),
    home_command(
        "link",
        "Link two theorems by a relation.",
        _link,
        OWN_AGENT,
        *_ENDS,
        _RELATION,
    ),
    home_command(
        "related",
        "Show the theorems that are linked with a theorem.",
        _related,
        _NAME,
        click.option(
            "--depth",
            type=click.IntRange(0, 100),
            default=2,
            show_default=True,
            help="Follow at most this many links.",
        ),
    ),
    home_command(
        "import",
        "Import theorems from files.",
        _import_theorems,
        OWN_AGENT,
        click.argument("path", type=_PATH),
        _DOMAIN,
    ),
    home_command(
        "closure",
        "Count the pairs of theorems that a relation connects.",
        _closure,
        _PAIRS,
        _OF_DOMAIN,
        click.option(
            "--dataset", help="A folder of $THEOREX_DATA, such as equational_theories."
        ),
    ),
    home_command(
        "premises",
        "Show which theorems a new one will probably use.",
        _premises,
        _STATEMENT,
        _OF_DOMAIN,
        _AT_MOST,
    ),
)
_CATEGORY = click.Choice(CATEGORIES)
_BUDGET = click.option(
    "--tokens",
    type=TOKENS,
    default=2_000,
    show_default=True,
    help="The budget in tokens.",
)
_ROLE = click.option("--role", help="Only skills for this role.")
_STAGE = click.option("--stage", help="Only skills for this stage of the work.")
_WORDS = click.argument("query", metavar="[WORDS]…", nargs=-1)
INSIGHT = group(
    "insight",
    "",
    home_command(
        "add",
        "Keep an insight.",
        _add_insight,
        OWN_AGENT,
        click.argument("category", type=_CATEGORY),
        click.argument("title", metavar="TITLE"),
        click.argument("content", nargs=-1, required=True),
        _DOMAIN,
        SESSION,
        click.option(
            "--confidence",
            type=float,
            default=0.8,
            show_default=True,
            help="How sure it is, from 0 to 1.",
        ),
    ),
    home_command(
        "list",
        "List insights.",
        _insights,
        _OF_DOMAIN,
        click.option("--category", type=_CATEGORY, help="Only this category."),
    ),
    home_command(
        "inject",
        "Print the insights that fit a session.",
        _inject,
        OWN_AGENT,
        _WORDS,
        _OF_DOMAIN,
        _AT_MOST,
        SESSION,
        _BUDGET,
    ),
)
SKILL = group(
    "skill",
    "",
    home_command(
        "list",
        "List skills, the best first.",
        _skills,
        _ROLE,
        _STAGE,
    ),
    home_command(
        "inject",
        "Print the skills that fit a session.",
        _inject_skills,
        OWN_AGENT,
        _ROLE,
        _STAGE,
        _AT_MOST,
        SESSION,
        _BUDGET,
    ),
    home_command(
        "stats",
        "Show how well a skill worked, or record an outcome.",
        _skill_stats,
        OWN_AGENT,
        _NAME,
        SESSION,
        click.option(
            "--success/--failure",
            default=None,
            help="How a session with the skill went.",
        ),
    ),
)
POST_RUN = home_command(
    "post-run",
    "",
    _post_run,
    OWN_AGENT,
    click.option(
        "--session", required=True, help="The id of the session that is over."
    ),
    _DOMAIN,
    click.option(
        "--status",
        help="How it ended, such as proved; default: what the state or the last check says.",
    ),
    click.option(
        "--state", type=_PATH, help="The file theory_state.json of the session."
    ),
)
_FOLDER = click.argument(
    "folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path)
)
EXPORT = home_command(
    "export",
    "",
    _export,
    _FOLDER,
    click.option("--replace", is_flag=True, help="Replace existing files."),
)
IMPORT = home_command(
    "import",
    "",
    _import,
    OWN_AGENT,
    click.argument("paths", metavar="PATHS…", nargs=-1, required=True, type=_PATH),
    click.option(
        "--trusted",
        is_flag=True,
        help="Believe who said what in the files; only for files of your own.",
    ),
)
