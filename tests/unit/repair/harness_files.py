"""Harnesses for tests, made of texts: one that is whole, and the zips and packages that it consists of."""

import hashlib
import io
import json
import stat
import zipfile
from typing import Any

from workloop.repair.bundled.files import FileKind, HarnessFile

SKILL = "---\nname: fix-tests\ndescription: Read it when a test fails.\n---\nRun the test alone first.\n"
TOOL: dict[str, Any] = {
    "name": "count_lines",
    "description": "Count the lines of a file.",
    "entry": "bin/count.py",
    "timeout_seconds": 10,
    "parameters": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"path": {"type": "string", "maxLength": 200}},
        "required": ["path"],
    },
}
BUNDLE: dict[str, Any] = {
    "manifest_version": "0.3",
    "name": "notes",
    "version": "1.0.0",
    "description": "Keeps notes.",
    "author": {"name": "A. Writer"},
    "server": {
        "type": "python",
        "entry_point": "server/main.py",
        "mcp_config": {"command": "python3", "args": ["${__dirname}/server/main.py"], "env": {"NOTES": "1"}},
    },
    "tools": [{"name": "note_add", "description": "Add one."}],
}


def plain(text: str | bytes) -> HarnessFile:
    """Return a plain file."""
    return HarnessFile(data=text.encode() if isinstance(text, str) else text)


def changed(values: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return values with one of them, named by its keys with dots between, set or (for ...) taken out."""
    copy: dict[str, Any] = json.loads(json.dumps(values))
    *above, last = path.split(".")
    inner = copy
    for name in above:
        inner = inner[name]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return copy


def zipped(*entries: tuple[str, bytes], link: str = "", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of files; link is the name of one that becomes a symbolic link."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in entries:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = method
            kind = stat.S_IFLNK if name == link else stat.S_IFREG
            entry.external_attr = (kind | 0o755) << 16
            archive.writestr(entry, data)
    return out.getvalue()


def bundled(manifest: dict[str, Any] = BUNDLE, *more: tuple[str, bytes], link: str = "") -> bytes:
    """Return a bundle with a manifest and a server."""
    files = (("manifest.json", json.dumps(manifest).encode()), ("server/main.py", b"pass\n"))
    return zipped(*files, *more, link=link)


def listing(bundle: bytes, **lines: str) -> str:
    """Return a harness.toml that names everything; lines replace its parts by name, empty ones drop them."""
    parts = {
        "version": "version = 1",
        "instructions": 'instructions = ["instructions.md"]',
        "skills": 'skills = ["skills/fix-tests"]',
        "tools": 'tools = ["tools/count-lines"]',
        "bundles": f'[[bundles]]\npath = "notes.mcpb"\nsha256 = "{hashlib.sha256(bundle).hexdigest()}"',
        "settings": '[settings]\nturns_max = 40\n[settings.qwen]\nexcluded_tools = ["web_fetch"]',
        "agent": '[agent]\nentry = "agent/main.py"\narguments = ["{brief}"]',
    }
    return "\n".join({**parts, **lines}.values())


def whole(**lines: str) -> dict[str, HarnessFile]:
    """Return the files of a harness that has one of everything."""
    packed = bundled()
    return {
        "harness.toml": plain(listing(packed, **lines)),
        "instructions.md": plain("Work in small steps.\n"),
        "skills/fix-tests/SKILL.md": plain(SKILL),
        "skills/fix-tests/scripts/run.sh": plain("exit 0\n"),
        "tools/count-lines/tool.json": plain(json.dumps(TOOL)),
        "tools/count-lines/bin/count.py": HarnessFile(data=b"#!/usr/bin/env python3\n", kind=FileKind.EXECUTABLE),
        "notes.mcpb": plain(packed),
        "agent/main.py": plain("pass\n"),
    }
