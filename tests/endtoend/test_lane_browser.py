"""A real browser with tabs of several owners, and a preview of the checkout: the lane that the example describes."""

import json
import os
import shutil
import signal
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lane_bench import free_port, said
from loop_bench import Facts, LoopBench, call, honest, rule, write

pytestmark = [pytest.mark.real_browser, pytest.mark.timeout(300)]

EXAMPLE = Path(__file__).parents[2] / "examples" / "browser_lane"
PLACE = "/opt/browser_lane"
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
GONE_SECONDS = 30.0


def programs() -> str | None:
    """Return an installed browser."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LoopBench]:
    assert programs(), "install chromium: these tests are about a real browser"
    shutil.copytree(EXAMPLE, tmp_path / "browser_lane")
    settings = (EXAMPLE / "lane.toml").read_text("utf-8").replace(PLACE, str(tmp_path / "browser_lane"))
    head, lane = settings.split("[lane.browser]\n", 1)
    for name in ("devtools", "preview"):
        lane = lane.replace(f"{name} = 0", f"{name} = {free_port()}")
    lane = f'[lane.browser]\nwritable = ["{tmp_path / "marks"}"]\n' + lane
    made = LoopBench(tmp_path, campaign=head.replace("[campaign]\n", ""), harnesses=lane)
    made.environment["CHROMIUM_FLAGS"] = "--no-sandbox" if os.geteuid() == 0 else ""
    yield made.open()
    made.close()
    end_browser(tmp_path)


def end_browser(folder: Path) -> None:
    """End the browser that this test's lane started, by its number."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"--user-data-dir={folder}" in words and "--type=" not in words:
            os.kill(int(path.parent.name), signal.SIGKILL)


class Browser:
    """The lane's browser as somebody else sees it, who has tabs of his own there."""

    def __init__(self, port: str) -> None:
        self.base = f"http://127.0.0.1:{port}"

    def ask(self, path: str, method: str = "GET") -> Any:
        with DIRECT.open(urllib.request.Request(self.base + path, method=method), timeout=10) as answer:
            return json.loads(answer.read())

    def open(self) -> str:
        """Open a tab."""
        return self.ask("/json/new?about:blank", "PUT")["id"]

    def tabs(self) -> dict[str, str]:
        """Return the addresses of the tabs that are open, by their ids."""
        return {one["id"]: one["url"] for one in self.ask("/json/list") if one["type"] == "page"}


def shell(bench: LoopBench, text: str) -> Facts:
    """Return the step that runs a piece of shell, with the tools of a session at hand."""
    tool = f"python3 {bench.folder / 'browser_lane' / 'devtools.py'}"
    return {"run": text.replace("devtools", tool).replace("workloop ", f"{sys.executable} -m workloop "), "expect": 0}


def opens_three(bench: LoopBench) -> Facts:
    """Return the step by which a session opens three tabs on its own preview, and records each."""
    opened = 'id=$(devtools open "$PREVIEW_URL/thing.txt") && workloop lane record "$id" --json >/dev/null'
    return shell(bench, " && ".join([opened] * 3))


def wait_for_shown(browser: Browser, number: int) -> None:
    """Wait until so many tabs show the preview."""
    until = time.monotonic() + GONE_SECONDS
    while sum(url.endswith("/thing.txt") for url in browser.tabs().values()) < number:
        assert time.monotonic() < until, browser.tabs()


def warmed(bench: LoopBench) -> Browser:
    """Run one item, for which the lane's browser is started; it outlives the grant and the loop."""
    bench.rules(rule("warm", shell(bench, f'echo "$WORKLOOP_PORT_DEVTOOLS" > {bench.mark("port")}'), *honest()))
    add(bench, "warm")
    code, _, loop = bench.run("--once")
    assert (code, bench.state("warm")) == (0, "succeeded"), loop.events
    return Browser(bench.mark("port").read_text().strip())


def add(bench: LoopBench, key: str) -> None:
    """Add an item that needs the browser."""
    bench.add(key, lane="browser", verification="none", checks=[], lease_seconds=3600)


@pytest.mark.parametrize("killed", ["worker", "loop"])
def test_next_owner_has_a_clean_browser_and_the_foreign_tabs_live(bench: LoopBench, killed: str) -> None:
    """Three recorded tabs and one foreign one; another foreign one is opened while the lane is held."""
    browser = warmed(bench)
    foreign = {*browser.tabs(), browser.open()}
    go, end = bench.mark("go"), {"die": "kill"}
    bench.rules(
        rule(
            "a",
            write(text="by the first\n"),
            opens_three(bench),
            {"say": "ready"},
            {"wait_for": str(go)},
            end,
            attempt=1,
        ),
        rule(
            "a",
            shell(bench, f"devtools list | sort > {bench.mark('seen')}"),
            write(text="by the second\n"),
            shell(
                bench, 'id=$(devtools open "$PREVIEW_URL/thing.txt") && workloop lane record "$id" --json >/dev/null'
            ),
            *honest(),
            attempt=2,
        ),
    )
    add(bench, "a")
    loop = bench.start(*(("--once",) if killed == "worker" else ()))
    loop.wait_for("agent", what="ready")
    wait_for_shown(browser, 3)
    assert len(browser.tabs()) == len(foreign) + 3
    foreign.add(browser.open())
    if killed == "worker":
        go.touch()
        code, _ = loop.end()
    else:
        loop.kill()
        code, _, loop = bench.run("--once")
    assert (code, bench.ends("a")[-1]) == (0, "complete"), loop.events
    assert set(bench.mark("seen").read_text().split()) == foreign
    assert set(browser.tabs()) == foreign
    assert bench.client.call("status", {})["lanes"] == [{"lane": "browser", "state": "free"}]
    assert [len(told["closed"]) for told in said(loop, state="clean")][-2:] == [3, 1]


def test_foreign_tab_that_a_session_records_lives(bench: LoopBench) -> None:
    browser = warmed(bench)
    foreign = browser.open()
    bench.rules(rule("a", call("lane_record", resources=[foreign]), opens_three(bench), *honest()))
    add(bench, "a")
    code, _, loop = bench.run("--once")
    assert (code, bench.state("a")) == (0, "succeeded"), loop.events
    assert foreign in browser.tabs()
    assert not any(url.endswith("/thing.txt") for url in browser.tabs().values())
