"""Commands of the servers."""

import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.app.cli.ending import ended_in_order, ending
from theorex_lab.files.command_line import command, emit, given_options, reads_project
from theorex_lab.files.command_line.options import agent_option, own_agent


def _listens(port: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command of a server the options of where it listens, and for whom."""
    options: list[Callable[[Any], Any]] = [
        reads_project,
        click.option(
            "--port",
            type=click.IntRange(0, 65_535),
            default=port,
            help="0: any free one.",
        ),
        agent_option("Whose memory it serves; default $THEOREX_AGENT, else main."),
        click.option(
            "--any-agent",
            is_flag=True,
            help="Let its calls name other agents too: this token opens every memory.",
        ),
        click.option("--host", default="127.0.0.1", help="Address to listen on."),
        click.option(
            "--allow-remote",
            is_flag=True,
            help="Let --host be an address that other machines reach.",
        ),
        click.option(
            "--allowed-host",
            "hosts",
            multiple=True,
            metavar="NAME",
            help="Another name it may be reached under.",
        ),
        click.option(
            "--token-file",
            metavar="FILE",
            help="The token; default mcp-token-AGENT in the home.",
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
    help="Speak over standard input and output instead of HTTP.",
)
def mcp(agent: str | None, stdio: bool, **where: Any) -> None:
    """Runs until it is stopped; what is under way then is answered first.

    Over HTTP every request needs the token, which is made at the first start.

    The tools are status, search, write, promote, boot-inject and those of designs. Over
    HTTP all projects are open unless --project or a call names one. What an agent
    writes counts as an agent's word at most, and what it only passes on as less
    (source: model, tool or import).

    Each agent has a server and a token of its own. The file of the token is read at the
    start: for another token, remove it and start the server again. The server listens
    on this machine alone, refuses pages of other origins, and GET /health says whether
    it runs. From a container it is reached with --host 0.0.0.0 --allow-remote
    --allowed-host host.docker.internal. The resources theorex://context and
    theorex://context/{agent}/{model} hold what a session starts with, below
    theorex://project/{project}/ that of one project.

    \b The entry in a coding agent's list of servers, over stdio (theorex install-hooks
    --mcp FILE writes it), and over HTTP; PROGRAM is what `which theorex` says, TOKEN
    stands in the token's file: {"mcpServers": {"theorex": {"command": "PROGRAM",
      "args": ["--home", "HOME_FOLDER", "mcp", "--stdio", "--agent", "main"]}}}
    {"mcpServers": {"theorex": {"type": "http", "url": "http://127.0.0.1:18800/mcp",
      "headers": {"Authorization": "Bearer TOKEN"}}}}

    JSON: {url, agent, token_file}
    """  # noqa: D301 - click takes \b for a paragraph that it leaves as it is
    from theorex_lab.app.server.mcp import PATH, http_application, serve_stdio

    if stdio:
        # Nothing else ends the thread that waits for input; what was acknowledged is on
        # disk at any time.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        serve_stdio(
            open_lab(bind=True), agent=own_agent(agent), any_agent=where["any_agent"]
        )
    else:
        _serve(http_application, agent, path=PATH, **where)


@command("serve")
@_listens(8420)
@click.option(
    "--rate",
    type=click.FloatRange(1, 1e6),
    default=50.0,
    help="Requests a second; twice as many at once.",
)
def serve(agent: str | None, rate: float, **where: Any) -> None:
    """It serves JSON at the endpoints that /openapi.json and the page at / list.

    Web sockets tell what goes on. Each request but GET /, /health and /openapi.json
    needs the agent's token, the same as of `theorex mcp` (Authorization: Bearer TOKEN).
    A page opens a web socket with the subprotocols `bearer` and TOKEN. Captured events
    and the training export belong to the agent. All projects are open unless --project
    names one. The server listens on this machine only and refuses pages of other
    origins.

    JSON: {url, agent, token_file}
    """
    from theorex_lab.app.server.rest import UVICORN, RestServer

    make = partial(RestServer, rate=rate)
    _serve(make, agent, settings=UVICORN, **where)


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
    path: str = "",
    settings: Mapping[str, Any] = MappingProxyType({}),
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

    def started(address: str) -> None:
        emit(
            {"url": address, "agent": agent, "token_file": str(file)},
            f"{address}  (agent {agent}, token in {file})",
        )

    with ended_in_order():
        if (
            signal.SIGTERM in ending()
            and hasattr(signal, "SIGHUP")
            and signal.SIGHUP in ending()
        ):
            # The server knows SIGTERM: it takes no more requests, answers those under
            # way, and hands the signal on.
            signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
        make_server = partial(make, lab, token, agent=agent, any_agent=any_agent)
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
