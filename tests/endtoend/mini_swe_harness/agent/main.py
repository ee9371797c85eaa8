"""Starts mini-swe-agent on a brief, with the model that the loop names, and tells the loop what its trajectory says."""

import json
import logging
import os
import signal
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from trajectory import events_of

SETTINGS = {
    "MSWEA_SILENT_STARTUP": "1",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
}
STEPS_MAX = 40
ANSWER_TOKENS_MAX = 2_000
SAID_CHARACTERS = 300


def agent_in(folder: Path) -> Any:
    """Make the agent: its own prompts, this folder's shell, and the model behind the loop's meter."""
    import yaml

    config = yaml.safe_load((Path(__file__).parent / "minisweagent" / "config" / "mini.yaml").read_text())
    openrouter = import_module("minisweagent.models.openrouter_model")
    limits = {"max_tokens": ANSWER_TOKENS_MAX}
    model = openrouter.OpenRouterModel(
        **(config["model"] | {"model_name": os.environ["WORKLOOP_MODEL"], "model_kwargs": limits})
    )
    model._api_url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    model._api_key = os.environ["OPENAI_API_KEY"]
    shell = import_module("minisweagent.environments.local").LocalEnvironment(**config["environment"])
    agent = config["agent"] | {"step_limit": STEPS_MAX, "cost_limit": 0, "output_path": folder / "trajectory.json"}
    return import_module("minisweagent.agents.default").DefaultAgent(model, shell, **agent)


def tell(trajectory: Path) -> None:
    """Write what happened for the loop; nothing has happened yet where there is no trajectory."""
    if trajectory.is_file():
        events = events_of(json.loads(trajectory.read_text()))
        Path(os.environ["WORKLOOP_EVENTS"]).write_text("".join(json.dumps(event) + "\n" for event in events))


def speak() -> None:
    """Let every message be seen in the session's output, its beginning at least."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter(f"%(message).{SAID_CHARACTERS}s"))
    logger = logging.getLogger("agent")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)


def end(_number: int, _frame: FrameType | None) -> None:
    """End as if the program had come to its end, so that what happened is told."""
    sys.exit(143)


def main(brief: Path) -> int:
    """Work on a brief until the agent hands in, gives up or is ended."""
    signal.signal(signal.SIGTERM, end)
    folder = Path(tempfile.mkdtemp(prefix="mini-swe-"))
    os.environ.update(SETTINGS, MSWEA_GLOBAL_CONFIG_DIR=str(folder))
    speak()
    agent = agent_in(folder)
    try:
        said = agent.run(brief.read_text())
    finally:
        tell(folder / "trajectory.json")
    return 0 if said.get("exit_status") == "Submitted" else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
