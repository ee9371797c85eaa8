"""How much of a disk the loop may take: room left free, and how old, many and big the work trees that stay may be."""

from dataclasses import dataclass

from workloop.domain.reader import Json, Reader, bad

GIB = 1024**3
BYTES_MAX = 2**50
DAYS_MAX = 36_500.0
TREES_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskConfig:
    """Below `free_bytes_min`, or above `trees_bytes_max`, no session begins; 0 is no bound.

    Trees that hold nothing any more go once they are older than `trees_days`, more than `trees_max`, or bigger in all
    than `trees_bytes_max`; what holds work always stays. `outputs` are folders that builds fill, by name or by path
    from the top of the repository.
    """

    free_bytes_min: int = GIB
    trees_bytes_max: int = 0
    trees_days: float = 14.0
    trees_max: int = 100
    outputs: tuple[str, ...] = ()


def read_disk(value: Json) -> DiskConfig:
    """Read how much of a disk the loop may take."""
    reader, usual = Reader({} if value is None else value, "disk"), DiskConfig()
    config = DiskConfig(
        free_bytes_min=reader.whole("free_bytes_min", default=usual.free_bytes_min, lowest=0, highest=BYTES_MAX),
        trees_bytes_max=reader.whole("trees_bytes_max", default=usual.trees_bytes_max, lowest=0, highest=BYTES_MAX),
        trees_days=reader.number("trees_days", default=usual.trees_days, lowest=0.0, highest=DAYS_MAX),
        trees_max=reader.whole("trees_max", default=usual.trees_max, lowest=0, highest=TREES_MAX),
        outputs=tuple(output(text, f"disk.outputs[{at}]") for at, text in enumerate(reader.texts("outputs"))),
    )
    reader.done()
    return config


def output(text: str, path: str) -> str:
    """Read one declared output folder: a plain name, or a plain path from the top of the repository."""
    parts = text.rstrip("/").split("/")
    if any(part in ("", ".", "..", ".git") for part in parts) or any(mark in text for mark in "*?[\\\0"):
        raise bad(path, f"{text!r} is no plain folder", hint='for example "node_modules" or "web/dist"')
    return "/".join(parts)
