"""Commands of the servers."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial, reduce
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.app.cli.ending import ended_in_order, ending
from theorex_lab.files.command_line import command, emit, given_options, reads_project
from theorex_lab.files.command_line.options import agent_option, own_agent

if TYPE_CHECKING:
    from theorex_lab.app.server.mcp import ToolSet
    from theorex_lab.app.server.memory_page.opening import PageOpening
    from theorex_lab.store.lab import Lab


def _listens(port: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command of a server the options of where it listens, and for whom."""
    options: list[Callable[[Any], Any]] = [
        reads_project,
        click.option(
            "--port",
            type=click.IntRange(0, 65_535),
            default=port,
            help="The port; 0 takes any free one.",
        ),
        agent_option(
            "The agent whose memory is served; default: $THEOREX_AGENT, else main."
        ),
        click.option(
            "--any-agent",
            is_flag=True,
            help="Let calls name other agents too; the token then opens every memory.",
        ),
        click.option("--host", default="127.0.0.1", help="The address to listen on."),
        click.option(
            "--allow-remote",
            is_flag=True,
            help="Allow a --host that other machines can reach.",
        ),
        click.option(
            "--allowed-host",
            "hosts",
            multiple=True,
            metavar="NAME",
            help="Another host name that requests may use; may be repeated.",
        ),
        click.option(
            "--token-file",
            metavar="FILE",
            help="The file of the token; default: mcp-token-AGENT in the home.",
        ),
        click.option(
            "--rate",
            type=click.FloatRange(1, 1e6),
            default=500.0,
            help="Requests allowed a second; a burst may be twice as large.",
        ),
    ]
    return lambda function: reduce(
        lambda decorated, option: option(decorated), reversed(options), function
    )


@command("mcp")
@_listens(18_800)
@click.option(
    "--stdio",
    is_flag=True,
    help="Serve over standard input and output instead of HTTP.",
)
@click.option(
    "--tools",
    type=click.Choice(["own", "reference", "all"]),
    default="own",
    help="The tools: the toolkit's own, the reference memory server's nine, or all.",
)
def mcp(agent: str | None, stdio: bool, tools: ToolSet, **where: Any) -> None:
    """A coding agent that speaks this protocol can then search and write the memory.

    `theorex install-hooks --mcp FILE` enters the server in an agent's list; the agent
    then starts it over standard input and output (--stdio). Without --stdio the server
    listens over HTTP until it is stopped, and answers what is under way before it ends.

    The tools are those of the toolkit (status, search, write, …) and of the designs.
    With --tools reference they are those of @modelcontextprotocol/server-memory
    (create_entities, search_nodes, …), whose place this server can take. What an agent
    writes is recorded as the agent's word, never as the user's. What it only passes on
    counts less still (source: model, tool or import).

    Over HTTP every request needs a token, which the first start writes into a file.
    Each agent has a token of its own. To change it, remove the file and start the
    server again. The server accepts connections of this machine only, and refuses web
    pages of other origins. GET /health says whether it runs. All projects are open
    unless --project or a call names one.

    A program in a container reaches the server where it is started with --host 0.0.0.0
    --allow-remote --allowed-host host.docker.internal.

    The resource theorex://context holds what a session starts with,
    theorex://context/{agent}/{model} the same for an agent and a model, and
    theorex://project/{project}/ stands before either for one project.

    These are the entries in an agent's list of servers, over standard input and output
    and over HTTP. PROGRAM is what `which theorex` prints; TOKEN is what the token's
    file holds.

    \b
        {"mcpServers": {"theorex": {
          "command": "PROGRAM",
          "args": ["--home", "HOME_FOLDER", "mcp", "--stdio",
                   "--agent", "main"]}}}
        {"mcpServers": {"theorex": {
          "type": "http", "url": "http://127.0.0.1:18800/mcp",
          "headers": {"Authorization": "Bearer TOKEN"}}}}

    JSON: {url, agent, token_file}
    """  # noqa: D301 - click takes \b for a paragraph that it leaves as it is
    from theorex_lab.app.server.mcp import PATH, http_application, serve_stdio

    if stdio:
        # Nothing else ends the thread that waits for input; what was acknowledged is on
        # disk at any time.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        serve_stdio(
            open_lab(bind=True),
            agent=own_agent(agent),
            any_agent=where["any_agent"],
            tools=tools,
        )
    else:
        application = partial(http_application, tools=tools)
        _serve(application, agent, path=PATH, **where)


@command("serve")
@_listens(8420)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
def serve(agent: str | None, no_browser: bool, **where: Any) -> None:
    """The page at / shows the memory: search, briefing, sessions, failures, projects.

    There one also pins, corrects, dismisses, trusts and erases, as with the commands of
    these names. In a terminal the command prints a link that opens the page once, and
    opens the browser. Where there is no terminal, the page asks for its token, which
    the first start writes into the file page-token in the home. Who has it acts as the
    user, so no agent is given it.

    The server also answers programs in JSON, and its web sockets report what happens in
    the memory. The page at /api lists the endpoints, as does /openapi.json. It runs
    until it is stopped.

    A request of a program needs the header `Authorization: Bearer TOKEN`; GET /health
    and /openapi.json do not. The token is the agent's, the same as for `theorex mcp`;
    the first start writes it into a file. A web page opens a web socket with the
    subprotocols `bearer` and TOKEN.

    Captured events and the export of training data are those of the agent. All projects
    are open unless --project names one. The server accepts connections of this machine
    only, and refuses web pages of other origins.

    The settings serverConnections, serverHeadSeconds, serverBodySeconds and
    serverAnswerSeconds bound what clients may hold open, --rate what they may ask. None
    of them binds who has the page's token.

    JSON: {url, agent, token_file, page_token_file}
    """
    from theorex_lab.app.server.memory_page.opening import opened_page
    from theorex_lab.app.server.rest import UVICORN, RestServer

    has_terminal = sys.stdout.isatty() and not given_options().get("as_json")
    open_page = partial(
        opened_page,
        prints_link=has_terminal,
        opens_browser=has_terminal and not no_browser,
    )
    _serve(RestServer, agent, settings=UVICORN, open_page=open_page, **where)


def _serve(
    make: Callable[..., Any],
    named: str | None,
    *,
    any_agent: bool,
    host: str,
    allow_remote: bool,
    token_file: str | None,
    port: int,
    hosts: Sequence[str],
    rate: float,
    path: str = "",
    settings: Mapping[str, Any] = MappingProxyType({}),
    open_page: Callable[[Lab], AbstractContextManager[PageOpening]] | None = None,
) -> None:
    """Run what `make` makes for an agent until the process is told to end."""
    from theorex_lab.app.server.auth import check_token_file, read_token
    from theorex_lab.app.server.auth import token_file as file_of
    from theorex_lab.app.server.listening import listen

    lab = open_lab(all_projects=given_options().get("project") is None)
    agent = own_agent(named)
    file = Path(token_file).expanduser() if token_file else file_of(lab.folder, agent)
    token = read_token(check_token_file(file, lab.folder, agent))
    if allow_remote and host not in ("127.0.0.1", "localhost", "::1"):
        warning = (
            f"whoever reaches {host} and has the token reads and writes this memory"
        )
        click.echo(
            f"theorex: warning: {warning}, and the connection is not encrypted",
            err=True,
        )

    info = {"agent": agent, "token_file": str(file)}
    with ExitStack() as at_end:
        page = at_end.enter_context(open_page(lab)) if open_page is not None else None
        if page is not None:
            make = partial(make, keys=page.keys)
            info["page_token_file"] = str(page.token_file)

        def started(address: str) -> None:
            lines = [f"{address}  (agent {agent}, token in {file})"]
            if page is not None:
                lines.append(page.start(address))
            emit({"url": address, **info}, "\n".join(lines))

        at_end.enter_context(ended_in_order())
        if (
            signal.SIGTERM in ending()
            and hasattr(signal, "SIGHUP")
            and signal.SIGHUP in ending()
        ):
            # The server knows SIGTERM: it takes no more requests, answers those under
            # way, and hands the signal on.
            signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
        make_server = partial(
            make, lab, token, agent=agent, any_agent=any_agent, rate=rate
        )
        listen(
            lab,
            make_server,
            host=host,
            allow_remote=allow_remote,
            started=started,
            port=port,
            hosts=hosts,
            path=path,
            settings=settings,
        )
