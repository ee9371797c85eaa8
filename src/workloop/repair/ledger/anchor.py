"""Where the head of a ledger is kept outside of it, so that a cut or a rewritten ledger no longer fits.

The file beside a ledger has always the same few bytes, which one write replaces; it is padded, so that nothing of an
earlier head is ever left behind a shorter one.
"""

import json
import os
import re
from pathlib import Path
from typing import Final, NamedTuple, cast

from workloop.repair.ledger.fields import WHOLE_MAX
from workloop.repair.ledger.records import VERSION
from workloop.repair.ledger.schema import DIGEST
from workloop.repair.ledger.signing import Signer, message

ANCHOR_BYTES: Final = 512
SIGNATURE: Final = re.compile(r"[0-9a-f]{128}\Z")
READS_MAX: Final = 100


class AnchorError(ValueError):
    """A file is not the anchor of a ledger."""


class NoAnchorYetError(AnchorError):
    """The file is there and no head was written into it yet."""


class Anchor(NamedTuple):
    """A head: how many records there were, the hash of the last one, and who signed that."""

    records: int
    hash: str
    key: str = ""
    signature: str = ""


def anchor_path(ledger: Path) -> Path:
    """Return where the anchor of a ledger lies unless it was carried elsewhere."""
    return ledger.parent / f"{ledger.name}.head"


def anchored(records: int, head: str, signer: Signer | None) -> Anchor:
    """Return the anchor of a head, signed where there is a key."""
    if signer is None:
        return Anchor(records, head)
    signature = signer.sign(message(records, head)).hex()
    return Anchor(records=records, hash=head, key=signer.key, signature=signature)


def anchor_bytes(anchor: Anchor) -> bytes:
    """Spell an anchor, sorted as a record is, in the bytes that its file always has."""
    told = f'"hash":"{anchor.hash}","key":"{anchor.key}","records":{anchor.records},"signature":"{anchor.signature}"'
    return f'{{{told},"v":{VERSION}}}'.ljust(ANCHOR_BYTES - 1).encode("ascii") + b"\n"


def read_anchor(path: Path) -> Anchor:
    """Read an anchor, also while a run replaces it; raises AnchorError for anything else, OSError without a file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        last = os.pread(descriptor, ANCHOR_BYTES + 1, 0)
        for _ in range(READS_MAX):
            again = os.pread(descriptor, ANCHOR_BYTES + 1, 0)
            if again == last:
                break
            last = again
    finally:
        os.close(descriptor)
    return parse_anchor(last)


def parse_anchor(spelt: bytes) -> Anchor:
    """Read the bytes of an anchor; only exactly what this program writes is one."""
    if not spelt:
        raise NoAnchorYetError("it is empty")
    try:
        value: object = json.loads(spelt.decode("ascii"))
    except ValueError as error:
        raise AnchorError("it is not JSON in ASCII") from error
    if not isinstance(value, dict):
        raise AnchorError("it is not an object")
    members = cast("dict[str, object]", value)
    records, head = members.get("records"), members.get("hash")
    key, signature = members.get("key"), members.get("signature")
    if type(records) is not int or not 1 <= records <= WHOLE_MAX:
        raise AnchorError("it does not say how many records there are")
    if not isinstance(head, str) or not DIGEST.match(head):
        raise AnchorError("it holds no hash")
    if not isinstance(key, str) or not isinstance(signature, str):
        raise AnchorError("it does not say who signed it")
    if (key, signature) != ("", "") and not (DIGEST.match(key) and SIGNATURE.match(signature)):
        raise AnchorError("its key or signature is malformed")
    anchor = Anchor(records=records, hash=head, key=key, signature=signature)
    if spelt != anchor_bytes(anchor):
        raise AnchorError("it is not spelled as this program spells it")
    return anchor
