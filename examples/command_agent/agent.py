"""An agent of your own: it does the work, commits it, and says what it used and what came of it."""

import json
import os
import subprocess
from pathlib import Path

item = json.loads(Path(os.environ["WORKLOOP_ITEM"]).read_text())
events = Path(os.environ["WORKLOOP_EVENTS"])
result = Path(os.environ["WORKLOOP_RESULT"])


def tell(**event: object) -> None:
    """Add one event, a line of JSON each."""
    with events.open("a") as lines:
        lines.write(json.dumps(event) + "\n")


tell(type="started", model="my-model-2", version="1.4.0")
tell(type="tool_call", call_id="1", name="write", kind="edit")
Path("thing.txt").write_text("fixed\n")
tell(type="tool_result", call_id="1", name="write", **{"class": "ok"})
tell(type="usage", input=1200, output=300, cache_read=9000, cost_micros=4100)
subprocess.run(["git", "add", "--all"], check=True)
subprocess.run(["git", "commit", "--quiet", "--message", item["key"]], check=True)
tell(type="finished", failed=False, reason="done")
result.write_text(json.dumps({"final_text": f"{item['key']} is done"}))
