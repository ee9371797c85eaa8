"""A model on loopback that plays a script, for agent CLIs in tests: no real model and no network."""

import argparse
import json
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from workloop.testing.model.exchange import Exchange, Log
from workloop.testing.model.http import LoopbackServer
from workloop.testing.model.moves import Casting, Scenario, Usage
from workloop.testing.model.player import Player
from workloop.testing.model.scenario_file import scenario_from_json

POLL_SECONDS = 0.05


class ModelServer:
    """A scripted model, listening while it is open; use it in a `with` statement.

    `scenario` is a list of moves, or a function that chooses one from the conversation, so that sessions with
    different briefs play different parts at the same time. `requests` says what was asked.
    """

    def __init__(
        self, scenario: Scenario | Casting, *, log: Path | None = None, port: int = 0, usage: Usage | None = None
    ) -> None:
        self.log = Log(log)
        self.server = LoopbackServer(port, Player(scenario), self.log, usage or Usage())
        self.thread = threading.Thread(target=self.server.serve_forever, args=(POLL_SECONDS,), name="scripted-model")

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def port(self) -> int:
        """Return the port it listens on."""
        return self.server.server_port

    @property
    def url(self) -> str:
        """Return the base URL to give to a CLI."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> tuple[Exchange, ...]:
        """Return every request so far, oldest first."""
        return self.log.all()

    @property
    def problems(self) -> tuple[str, ...]:
        """Return where the scenario did not fit the conversation; a test expects none."""
        return tuple(exchange.problem for exchange in self.requests if exchange.problem)

    def wait_for(self, wanted: Callable[[Exchange], bool], *, seconds: float = 30.0) -> Exchange:
        """Wait for a request, such as the one that begins a long shell command."""
        return self.log.wait_for(wanted, seconds=seconds)

    def close(self) -> None:
        """Stop listening, drop every connection, and wait for their threads."""
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
        self.server.hang_up_all()
        self.server.server_close()


def main(arguments: list[str] | None = None) -> None:
    """Play a scenario file until the process is told to end."""
    parser = argparse.ArgumentParser(prog="python -m workloop.testing.model_server", description=__doc__)
    parser.add_argument("--scenario", type=Path, required=True, help="a JSON file; see workloop.testing.model")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--log", type=Path, help="append one JSON line for each request")
    given = parser.parse_args(arguments)
    told = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        told.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    scenario = scenario_from_json(given.scenario.read_text(encoding="utf-8"))
    with ModelServer(scenario, log=given.log, port=given.port) as server:
        sys.stdout.write(json.dumps({"port": server.port}) + "\n")
        sys.stdout.flush()
        told.wait()


if __name__ == "__main__":
    main()
