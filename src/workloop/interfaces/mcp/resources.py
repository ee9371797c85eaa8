"""What can be read without a tool call: an item's contract and the campaign's status."""

import json
from typing import Any
from urllib.parse import quote, unquote

from workloop.client import Client
from workloop.domain.errors import NotFound
from workloop.interfaces.mcp.schema import Profile

STATUS_URI = "workloop://campaign/status"
CONTRACT_PREFIX, CONTRACT_SUFFIX = "workloop://item/", "/contract"
CONTRACT_TEMPLATE = f"{CONTRACT_PREFIX}{{key}}{CONTRACT_SUFFIX}"
MIME = "application/json"


def listed(client: Client, profile: Profile) -> list[dict[str, str]]:
    """List the resources by name: a worker's own contract, everyone else's campaign."""
    if profile is Profile.WORKER:
        key = str(client.call("show", {})["key"])
        uri = f"{CONTRACT_PREFIX}{quote(key, safe='')}{CONTRACT_SUFFIX}"
        return [{"uri": uri, "name": "contract", "description": f"the contract of {key}", "mimeType": MIME}]
    return [{"uri": STATUS_URI, "name": "status", "description": "how the campaign stands", "mimeType": MIME}]


def templates() -> list[dict[str, str]]:
    """List the families of resources."""
    described = "what an item must reach and what proves it"
    return [{"uriTemplate": CONTRACT_TEMPLATE, "name": "contract", "description": described, "mimeType": MIME}]


def read(client: Client, uri: str) -> str:
    """Return a resource's text; raises NotFound for an unknown address and what the action raises."""
    if uri == STATUS_URI:
        return compact(client.call("status", {}))
    if uri.startswith(CONTRACT_PREFIX) and uri.endswith(CONTRACT_SUFFIX):
        key = unquote(uri[len(CONTRACT_PREFIX) : -len(CONTRACT_SUFFIX)])
        item = client.call("show", {"key": key})
        return compact({"key": item["key"], "contract_hash": item["contract_hash"], "contract": item["contract"]})
    raise NotFound("RESOURCE_UNKNOWN", f"no resource {uri!r}", hint=f"{STATUS_URI} or {CONTRACT_TEMPLATE}")


def compact(facts: dict[str, Any]) -> str:
    """Write facts as compact JSON."""
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
