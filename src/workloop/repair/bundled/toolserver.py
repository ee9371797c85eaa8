"""How the tools of a harness are offered over MCP: a program of its own that needs nothing but Python's own library."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO, cast

PROTOCOL = "2025-06-18"
LINE_BYTES_MAX = 4 * 1024 * 1024
MANIFEST = "tool.json"
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMETERS = -32700, -32600, -32601, -32602
DEFAULT_RESULT_BYTES = 64 * 1024
NAMED_RESULT = "result_bytes_max"

Values = dict[str, Any]


def tools_in(folder: Path) -> dict[str, Values]:
    """Read the manifests of the tools in a folder, which the host has judged."""
    found: dict[str, Values] = {}
    for path in sorted(folder.glob(f"*/{MANIFEST}")):
        manifest = cast("Values", json.loads(path.read_text("utf-8")))
        found[manifest["name"]] = {**manifest, "program": str(path.parent / manifest["entry"])}
    return found


def serve(tools: dict[str, Values], asked: BinaryIO, answers: BinaryIO) -> None:
    """Answer every line until there are no more."""
    while line := asked.readline(LINE_BYTES_MAX + 1):
        answer = answer_to(tools, line)
        if answer is not None:
            answers.write(json.dumps({"jsonrpc": "2.0", **answer}, ensure_ascii=True).encode() + b"\n")
            answers.flush()
        if len(line) > LINE_BYTES_MAX:
            return


def answer_to(tools: dict[str, Values], line: bytes) -> Values | None:
    """Return what is answered to one line; a notification gets nothing."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return {"id": None, "error": {"code": PARSE_ERROR, "message": "that is no JSON"}}
    if not isinstance(request, dict):
        return {"id": None, "error": {"code": INVALID_REQUEST, "message": "that is no request"}}
    values = cast("Values", request)
    if "id" not in values:
        return None
    parameters: Any = values.get("params")
    given = cast("Values", parameters) if isinstance(parameters, dict) else {}
    return {"id": values["id"], **outcome(tools, values.get("method"), given)}


def outcome(tools: dict[str, Values], method: object, given: Values) -> Values:
    """Return the result of a request, or its error."""
    match method:
        case "initialize":
            about = {"name": "harness", "version": "1"}
            return {"result": {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": about}}
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": [described(tool) for tool in tools.values()]}}
        case "tools/call":
            tool = tools.get(str(given.get("name")))
            arguments: Any = given.get("arguments", {})
            if tool is None or not isinstance(arguments, dict):
                return {"error": {"code": INVALID_PARAMETERS, "message": "there is no such tool, or no arguments"}}
            return {"result": called(tool, cast("Values", arguments))}
        case _:
            return {"error": {"code": UNKNOWN_METHOD, "message": "that is not known here"}}


def described(tool: Values) -> Values:
    """Return how a tool is announced."""
    return {"name": tool["name"], "description": tool["description"], "inputSchema": tool["parameters"]}


def called(tool: Values, arguments: Values) -> Values:
    """Run a tool: its arguments as JSON on standard input, its output up to its bound, its time up to its own."""
    most = int(tool.get(NAMED_RESULT, DEFAULT_RESULT_BYTES))
    missing = sorted(set(tool["parameters"].get("required", [])) - set(arguments))
    unknown = sorted(set(arguments) - set(tool["parameters"].get("properties", {})))
    if missing or unknown:
        return said(f"arguments missing: {missing}, not known: {unknown}", failed=True)
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as told:
        asked.write(json.dumps(arguments).encode())
        asked.seek(0)
        try:
            child = subprocess.Popen([tool["program"]], stdin=asked, stdout=told, stderr=told, start_new_session=True)
        except OSError as error:
            return said(f"the tool cannot be started: {error.strerror}", failed=True)
        failure = ended(child, int(tool["timeout_seconds"]))
        told.seek(0)
        text = told.read(most).decode("utf-8", errors="replace")
    return said("\n".join(part for part in (text, failure) if part), failed=bool(failure))


def ended(child: "subprocess.Popen[bytes]", seconds: int) -> str:
    """Wait for a tool, end what is left of its group, and say how it failed; empty when it did not."""
    try:
        code = child.wait(seconds)
        failure = f"the tool ended with {code}" if code else ""
    except subprocess.TimeoutExpired:
        failure = f"the tool took more than {seconds} seconds"
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return failure
    child.wait()
    return failure


def said(text: str, *, failed: bool) -> Values:
    """Return a tool's words as a result."""
    return {"content": [{"type": "text", "text": text}], "isError": failed}


if __name__ == "__main__":
    serve(tools_in(Path(sys.argv[1])), sys.stdin.buffer, sys.stdout.buffer)
