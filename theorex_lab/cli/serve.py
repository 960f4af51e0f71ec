"""Commands of the servers."""

import signal
from pathlib import Path
from typing import Any

import click

from theorex_lab.cli import open_lab
from theorex_lab.console import command, emit, given_options, reads_project
from theorex_lab.console.agents import agent_option, own_agent
from theorex_lab.serve.signals import ended_in_order, ending


@command("mcp-start")
@reads_project
@click.option("--port", type=click.IntRange(0, 65_535), default=18_800, help="0: any free one.")
@agent_option("Whose memory it serves; default $THEOREX_AGENT, else main.")
@click.option("--any-agent", is_flag=True, help="Let its calls name other agents too: this token opens every memory.")
@click.option("--stdio", is_flag=True, help="Speak over standard input and output instead of HTTP.")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--allow-remote", is_flag=True, help="Let --host be an address that other machines reach.")
@click.option("--allowed-host", "hosts", multiple=True, metavar="NAME", help="Another name it may be reached under.")
@click.option("--token-file", metavar="FILE", help="The token; default mcp-token-AGENT in the home.")
def mcp_start(agent: str | None, any_agent: bool, stdio: bool, host: str, allow_remote: bool, token_file: str | None,
              hosts: tuple[str, ...], port: int) -> None:  # fmt: skip
    """Runs until it is stopped; what is under way then is answered first. Over HTTP every request needs the token, which is made at the first start.

    The tools are status, search, write, promote, boot-inject and those of designs. Over HTTP all projects are open unless --project or a call names one.
    What an agent writes counts as an agent's word at most, and what it only passes on as less (source: model, tool or import).

    Each agent has a server and a token of its own. The file of the token is read at the start: for another token, remove it
    and start the server again. The server listens on this machine alone, refuses pages of other origins, and GET /health says whether it runs. From a container it is reached with --host 0.0.0.0
    --allow-remote --allowed-host host.docker.internal. The resources theorex://context and
    theorex://context/{agent}/{model} hold what a session starts with, below theorex://project/{project}/ that of one project.

    \b
    The entry in a coding agent's list of servers, over stdio (theorex install-hooks --mcp FILE writes it), and over HTTP;
    PROGRAM is what `which theorex` says, TOKEN stands in the token's file:
    {"mcpServers": {"theorex": {"command": "PROGRAM",
      "args": ["--home", "HOME_FOLDER", "mcp-start", "--stdio", "--agent", "main"]}}}
    {"mcpServers": {"theorex": {"type": "http", "url": "http://127.0.0.1:18800/mcp",
      "headers": {"Authorization": "Bearer TOKEN"}}}}

    JSON: {url, agent, token_file}
    """
    named = given_options().get("project")
    lab, name = open_lab(all_projects=not stdio and named is None), own_agent(agent)
    if stdio:
        # Nothing else ends the thread that waits for input; what was acknowledged is on disk at any time.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        from theorex_lab.serve.mcp import serve_stdio

        serve_stdio(lab, agent=name, any_agent=any_agent)
        return
    from theorex_lab.serve.auth import check_token_file, read_token
    from theorex_lab.serve.auth import token_file as file_of
    from theorex_lab.serve.mcp import serve_http

    file = Path(token_file).expanduser() if token_file else file_of(lab.folder, name)
    token = read_token(check_token_file(file, lab.folder, name))
    if allow_remote and host not in ("127.0.0.1", "localhost", "::1"):
        who = f"whoever reaches {host} and has the token reads and writes this memory"
        click.echo(f"theorex: warning: {who}, and the connection is not encrypted", err=True)

    def started(address: str) -> None:
        emit({"url": address, "agent": name, "token_file": str(file)}, f"{address}  (agent {name}, token in {file})")

    with ended_in_order():
        if signal.SIGTERM in ending() and hasattr(signal, "SIGHUP") and signal.SIGHUP in ending():
            # The server knows SIGTERM: it takes no more requests, answers those under way, and hands the signal on.
            signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
        where: dict[str, Any] = {"host": host, "port": port, "allow_remote": allow_remote, "hosts": list(hosts)}
        serve_http(lab, token, **where, started=started, agent=name, any_agent=any_agent)
