"""A small agent of the Agent Client Protocol, on its package's own agent side: it does what its script says."""

import asyncio
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import acp
from acp.schema import (
    AgentCapabilities,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    McpCapabilities,
    McpServerStdio,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    TextContentBlock,
    ToolCallUpdate,
    Usage,
)

SESSION = "agent-session-1"
TOOL = "work_loop"
CALL_SECONDS = 30
OPTIONS = [
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class ScriptedAcpAgent:
    """One session that follows its script step by step."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.servers: list[Any] = []
        self.calls = 0

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        if self.script.get("deaf"):
            await asyncio.Event().wait()
        mcp = McpCapabilities(http=self.script.get("http", True))
        return InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=AgentCapabilities(load_session=True, mcp_capabilities=mcp),
            agent_info=Implementation(name="scripted-acp", version="1.2.3"),
        )

    async def new_session(self, cwd: str, mcp_servers: Any = None, **_: Any) -> NewSessionResponse:
        self.servers = list(mcp_servers or ())
        return NewSessionResponse(session_id=SESSION)

    async def load_session(self, cwd: str, session_id: str, mcp_servers: Any = None, **_: Any) -> LoadSessionResponse:
        if session_id != SESSION:
            raise acp.RequestError.resource_not_found(session_id)
        self.servers = list(mcp_servers or ())
        await self.say("This was said before.")
        return LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        texts = [block.text for block in prompt if isinstance(block, TextContentBlock)]
        Path("prompt.txt").write_text("\n".join(texts))
        for step in self.script.get("steps", ()):
            [(name, value)] = step.items()
            await getattr(self, f"do_{name}")(value)
        usage = Usage(total_tokens=50, input_tokens=20, output_tokens=10, cached_read_tokens=20, cached_write_tokens=0)
        return PromptResponse(stop_reason="end_turn", usage=usage)

    async def say(self, text: str) -> None:
        await self.client.session_update(SESSION, acp.update_agent_message_text(text))

    async def do_say(self, text: str) -> None:
        await self.say(text)

    async def do_fail(self, error: dict[str, Any]) -> None:
        raise acp.RequestError(error["code"], error["message"], error.get("data"))

    async def do_die(self, number: int) -> None:
        os.kill(os.getpid(), number)

    async def do_hold(self, path: str) -> None:
        """Start a child in a session of its own, and wait for good."""
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
        new = Path(f"{path}.new")
        new.write_text(str(child.pid))
        new.rename(path)
        await asyncio.Event().wait()

    async def do_read(self, path: str) -> None:
        """Ask the client for a file, which it never offered."""
        try:
            await self.client.read_text_file(SESSION, path)
        except acp.RequestError as error:
            await self.say(f"refused with {error.code}")

    async def do_write(self, path: str) -> None:
        """Write a file if the client gives leave."""
        self.calls += 1
        call_id = f"call-{self.calls}"
        await self.client.session_update(SESSION, acp.start_tool_call(call_id, "write", kind="edit", status="pending"))
        asked = ToolCallUpdate(tool_call_id=call_id, kind="edit", title="write", raw_input={"path": path})
        answer = await self.client.request_permission(SESSION, asked, OPTIONS)
        given = answer.outcome.outcome == "selected" and answer.outcome.option_id == "yes"
        if given:
            Path(path).write_text("written\n")
        status: Any = "completed" if given else "failed"
        await self.client.session_update(SESSION, acp.update_tool_call(call_id, status=status))

    async def do_call(self, arguments: dict[str, Any]) -> None:
        """Call the loop's tool through whatever server the client named."""
        self.calls += 1
        call_id = f"call-{self.calls}"
        title = f"mcp__workloop__{TOOL}"
        start = acp.start_tool_call(call_id, title, kind="other", status="in_progress", raw_input=arguments)
        await self.client.session_update(SESSION, start)
        [server] = self.servers
        if isinstance(server, HttpMcpServer):
            answer = await asyncio.to_thread(over_http, server, arguments)
        else:
            answer = await asyncio.to_thread(over_pipes, server, arguments)
        content = [acp.tool_content(acp.text_block(answer))]
        await self.client.session_update(SESSION, acp.update_tool_call(call_id, status="completed", content=content))


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    """Return a request of the Model Context Protocol."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def opening() -> dict[str, Any]:
    """Return what a client of the Model Context Protocol begins with."""
    return {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}


def over_http(server: HttpMcpServer, arguments: dict[str, Any]) -> str:
    """Call the tool over HTTP."""
    headers = {header.name: header.value for header in server.headers}
    headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = request(1, "tools/call", {"name": TOOL, "arguments": arguments})
    with urllib.request.urlopen(urllib.request.Request(server.url, body, headers), timeout=CALL_SECONDS) as answer:
        return text_in(answer.read().decode())


def over_pipes(server: McpServerStdio, arguments: dict[str, Any]) -> str:
    """Call the tool of a program."""
    lines = [request(1, "initialize", opening()), b'{"jsonrpc":"2.0","method":"notifications/initialized"}']
    lines.append(request(2, "tools/call", {"name": TOOL, "arguments": arguments}))
    env = {variable.name: variable.value for variable in server.env}
    done = subprocess.run(
        [server.command, *server.args],
        input=b"\n".join(lines) + b"\n",
        env=env,
        capture_output=True,
        timeout=CALL_SECONDS,
        check=False,
    )
    return text_in(done.stdout.decode().splitlines()[-1] if done.stdout else done.stderr.decode())


def text_in(body: str) -> str:
    """Return the text of a tool's answer, in whichever envelope it came."""
    found = body[body.index("{") :].splitlines()[0] if "{" in body else "{}"
    answer = json.loads(found)
    content = answer.get("result", {}).get("content", [])
    return "\n".join(part.get("text", "") for part in content) or body


if __name__ == "__main__":
    agent: Any = ScriptedAcpAgent(json.loads(Path(sys.argv[1]).read_text()))
    asyncio.run(acp.run_agent(agent))
