"""What a model is told about the tool stays small, portable and in step with the table of actions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tokens import count_tokens

from surface_bench import Facts, open_project
from workloop.domain.grants import ALLOWED, LANES
from workloop.domain.lease import ClaimEnd
from workloop.interfaces.mcp.schema import GRANT_OF, KNOWN_TO_WORKER, Profile, tool
from workloop.interfaces.mcp.tool import result
from workloop.service.actions import ACTIONS

WORKER_TOKENS_MAX = 700
CLAIM_TOKENS_MAX = 400
PORTABLE = {"type", "description", "enum", "items", "properties", "required"}
VARIANTS = [(profile, frozenset[str]()) for profile in Profile] + [(Profile.WORKER, frozenset({"lane", "versions"}))]


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def schemas(node: Facts) -> Iterator[Facts]:
    """Yield every schema inside a schema."""
    yield node
    for inner in node.get("properties", {}).values():
        yield from schemas(inner)
    if "items" in node:
        yield from schemas(node["items"])


def test_a_worker_pays_at_most_700_tokens_for_the_tool() -> None:
    assert count_tokens(compact(tool(Profile.WORKER))) <= WORKER_TOKENS_MAX


def test_a_claim_costs_at_most_400_tokens_beyond_its_contract(tmp_path: Path) -> None:
    item = {"key": "a-key-of-usual-length", "title": "A title", "objective": "Do it.", "checks": ["pytest -q"]}
    with open_project(tmp_path) as project:
        project.act("add_items", {"items": [item]})
        claimed = project.act("claim", {"holder": "worker-1"})
    claimed["contract"] = {}
    assert count_tokens(result(claimed).text) <= CLAIM_TOKENS_MAX


@pytest.mark.parametrize(("profile", "needs"), VARIANTS)
def test_the_schema_uses_only_what_every_provider_takes(profile: Profile, needs: frozenset[str]) -> None:
    schema = tool(profile, needs)["inputSchema"]
    for node in schemas(schema):
        assert set(node) <= PORTABLE, node
        assert isinstance(node["type"], str)
        assert node["type"] != "array" or "items" in node
    assert schema["required"] == ["action"]


@pytest.mark.parametrize(("profile", "needs"), VARIANTS)
def test_the_tool_names_exactly_what_the_grant_allows(profile: Profile, needs: frozenset[str]) -> None:
    described = tool(profile, needs)
    actions = set(described["inputSchema"]["properties"]["action"]["enum"])
    hidden = LANES if profile is Profile.WORKER and not needs else frozenset[str]()
    assert actions == ALLOWED[GRANT_OF[profile]] - hidden
    for name in actions:
        assert f"\n{name}(" in described["description"]


@pytest.mark.parametrize(("profile", "needs"), VARIANTS)
def test_every_field_belongs_to_an_action_that_is_shown(profile: Profile, needs: frozenset[str]) -> None:
    properties: dict[str, Any] = tool(profile, needs)["inputSchema"]["properties"]
    taken = {name for action in properties["action"]["enum"] for name in ACTIONS[action].takes}
    assert set(properties) - {"action", "request_id"} <= taken
    hidden = KNOWN_TO_WORKER | {"versions"} if profile is Profile.WORKER else frozenset[str]()
    assert taken - hidden <= set(properties)


def test_a_worker_is_told_to_stop_when_its_claim_is_lost() -> None:
    assert "stop_writing: true" in tool(Profile.WORKER)["description"]


def test_a_worker_is_told_each_way_to_settle() -> None:
    description = tool(Profile.WORKER)["description"]
    settles = [action.name for action in ACTIONS.values() if action.settles]
    assert {ClaimEnd(name).value for name in settles} <= set(description.replace("(", " ").replace(",", "").split())
