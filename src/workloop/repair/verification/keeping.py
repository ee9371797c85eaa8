"""How what a check has shown becomes evidence of its phase: whole, and under its own digest."""

import hashlib
from pathlib import Path

from workloop.repair.port import EvidenceFile


def keep(folder: Path, data: bytes, name: str = "") -> EvidenceFile:
    """Write something into the evidence folder, an output under its own digest."""
    digest = hashlib.sha256(data).hexdigest()
    path = name or f"{digest}.log"
    place = folder / path
    partial = place.with_name(place.name + ".partial")
    partial.write_bytes(data)
    partial.replace(place)
    return EvidenceFile(path=path, digest=digest)
