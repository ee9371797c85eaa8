"""What a loop tells holds no secret, and what a session does with one is not touched."""

from pathlib import Path

from cli_project import project_with

from workloop.domain.redaction import MARK

SECRET = "first line of the secret\nsecond line of the secret\n"
AGENT = """#!/bin/sh
printf '%s' "$DEPLOY_KEY" > "$SEEN_AT"
printf '%s\\n' "it said $DEPLOY_KEY and $PLAIN_TOKEN" >&2
exit 1
"""


def test_n02_n03_a_secret_reaches_the_agent_whole_and_no_line_of_what_the_loop_tells(tmp_path: Path) -> None:
    """An agent that prints its key must not publish it by way of our log."""
    tmp_path.chmod(0o700)
    key, agent, seen = tmp_path / "key", tmp_path / "agent.sh", tmp_path / "seen"
    key.write_text(SECRET)
    key.chmod(0o600)
    agent.write_text(AGENT)
    agent.chmod(0o755)
    settings = f"""
    [sandbox]
    kind = "none"
    [loop]
    harness = "command"
    max_iterations = 1
    [harness.command]
    command = ["{agent}"]
    environment = ["PLAIN_TOKEN"]
    variables = {{ DEPLOY_KEY = "@{key}", SEEN_AT = "{seen}" }}
    """
    project = project_with(tmp_path, settings)
    project.ask("add", "leak it")
    done = project.run("run", "--sessions", "1", PLAIN_TOKEN="token-of-the-operator", OTHER_TOKEN="not-for-agents")
    assert seen.read_text() == SECRET.strip()
    told = done.out + done.err
    assert "line of the secret" not in told
    assert "token-of-the-operator" not in told
    assert MARK in told
