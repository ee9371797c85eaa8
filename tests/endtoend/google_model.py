"""A scripted model of Google's dialect: it answers with the next step by how many results a conversation holds."""

import json
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

STREAMED = ":streamGenerateContent"
USAGE = {"promptTokenCount": 400, "candidatesTokenCount": 60, "totalTokenCount": 460}


@dataclass
class GoogleModel:
    """What it plays, where it listens and what it was asked."""

    steps: Sequence[str | tuple[str, Mapping[str, Any]]]
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request: a text, or a call of a tool."""
        self.asked.append(body)
        done = sum("functionResponse" in part for said in body["contents"] for part in said["parts"])
        step = self.steps[min(done, len(self.steps) - 1)]
        part = {"text": step} if isinstance(step, str) else {"functionCall": {"name": step[0], "args": dict(step[1])}}
        found = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        return {"candidates": [found], "usageMetadata": USAGE, "modelVersion": "gemini-2.5-flash"}


@contextmanager
def google_model(*steps: str | tuple[str, Mapping[str, Any]]) -> Generator[GoogleModel]:
    """Let the model listen on loopback."""
    model = GoogleModel(steps)

    class Handler(BaseHTTPRequestHandler):
        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Print nothing."""

        def do_POST(self) -> None:
            body = cast("dict[str, Any]", json.loads(self.rfile.read(int(self.headers["content-length"]))))
            answer = json.dumps(model.answer(body))
            streamed = STREAMED in self.path
            sent = (f"data: {answer}\r\n\r\n" if streamed else answer).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if streamed else "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        model.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()
