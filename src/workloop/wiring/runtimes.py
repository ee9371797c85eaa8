"""Where the runtimes of a host are kept, and what people are told of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workloop.config.place import state_home
from workloop.domain.errors import IntegrityFault
from workloop.repair.runtimes.store import Runtime, RuntimeStore


def runtime_store(environment: Mapping[str, str]) -> RuntimeStore:
    """Open the host's store, which lies beside the folders of all projects and in none of them."""
    return RuntimeStore(state_home(environment) / "runtimes")


def build_runtime(store: RuntimeStore, repository: Path, commit: str, *, activate: bool) -> dict[str, Any]:
    """Build a runtime; with activate it is the one in force afterwards."""
    runtime = store.build(repository, commit)
    if activate:
        store.activate(runtime.id, commit)
    return described(store, runtime)


def list_runtimes(store: RuntimeStore) -> dict[str, Any]:
    """List all runtimes without looking at their files."""
    record = store.activations()
    rows = [described(store, store.get(runtime_id)) for runtime_id in store.ids()]
    return {"runtimes": rows, "current": record.current, "before": list(record.line[:-1])}


def show_runtime(store: RuntimeStore, runtime_id: str, *, files: bool) -> dict[str, Any]:
    """Tell all about one runtime."""
    runtime = store.get(runtime_id)
    standing = store.standing(runtime_id)
    facts: dict[str, Any] = {
        **described(store, runtime),
        "recipe": runtime.manifest.recipe,
        "path": str(runtime.path),
        "accepted": standing.accepted,
        "failed": standing.failed,
        "regressed": list(standing.regressed),
    }
    if files:
        facts["entries"] = [
            {"path": entry.path, "mode": f"{entry.mode:04o}", "size": entry.size, "sha256": entry.sha256}
            for entry in runtime.manifest.entries
        ]
    return facts


def verify_runtimes(store: RuntimeStore, runtime_ids: tuple[str, ...]) -> dict[str, Any]:
    """Read every file of some runtimes again, of all where none is named; of a damaged one the first path is told."""
    rows: list[dict[str, Any]] = []
    for runtime_id in runtime_ids or store.ids():
        try:
            commit = store.verified(runtime_id).manifest.commit
        except IntegrityFault as found:
            rows.append({"id": runtime_id, "sound": False, "path": found.details["path"], "why": found.message})
        else:
            rows.append({"id": runtime_id, "sound": True, "commit": commit})
    return {"runtimes": rows, "sound": all(row["sound"] for row in rows)}


def roll_back_runtime(store: RuntimeStore, runtime_id: str | None) -> dict[str, Any]:
    """Put an earlier runtime into force."""
    before = store.activations().current
    record = store.roll_back(runtime_id)
    return {"current": record.current, "rolled_back": before, "before": list(record.line[:-1])}


def described(store: RuntimeStore, runtime: Runtime) -> dict[str, Any]:
    """Return what a configuration needs to name a runtime, how much it holds, and whether it is in force."""
    manifest = runtime.manifest
    current = store.activations().current == runtime.id
    return {
        "id": runtime.id,
        "commit": manifest.commit,
        "files": len(manifest.entries),
        "bytes": manifest.size,
        "current": current,
    }
