"""A head that an operator's key has signed cannot be replaced by somebody who does not have that key."""

import shutil
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from ledger_story import story, whole_ledger, write
from workloop.repair.ledger.anchor import anchor_bytes, anchor_path, read_anchor
from workloop.repair.ledger.chain import Reason
from workloop.repair.ledger.faults import LedgerRefused
from workloop.repair.ledger.signing import KeyFile, public_key
from workloop.repair.ledger.verifying import AnchorState, verify


def key_in(folder: Path, name: str, private: Ed25519PrivateKey | X25519PrivateKey | None = None) -> Path:
    """Make a key as openssl does: the private half in one file, the public half beside it."""
    key = private or Ed25519PrivateKey.generate()
    path = folder / name
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    path.with_suffix(".pub").write_bytes(public)
    return path


def test_a_whole_rewrite_by_somebody_without_the_key_is_found(tmp_path: Path) -> None:
    """M18: a chain and its head can both be written anew; the signature cannot."""
    key = key_in(tmp_path, "key")
    public = public_key(key.with_suffix(".pub"))
    ledger, forged = tmp_path / "run" / "run.jsonl", tmp_path / "forged" / "run.jsonl"
    whole_ledger(ledger, KeyFile(key))
    found = verify(ledger, key=public)
    assert (found.whole, found.signed_by, found.anchor) == (True, public, AnchorState.MATCHES)
    for signer in (None, KeyFile(key_in(tmp_path, "other"))):
        whole_ledger(forged, signer)
        shutil.copy(forged, ledger)
        shutil.copy(anchor_path(forged), anchor_path(ledger))
        shutil.rmtree(forged.parent)
        assert verify(ledger).whole is True
        found = verify(ledger, key=public)
        assert found.first_bad is not None
        assert found.first_bad.reason is Reason.SIGNATURE
        assert found.signed_by == ""


def test_every_head_of_a_growing_ledger_is_signed(tmp_path: Path) -> None:
    key = key_in(tmp_path, "key")
    public = public_key(key.with_suffix(".pub"))
    ledger = write(tmp_path / "run" / "run.jsonl", [], KeyFile(key))
    for record in story():
        ledger.append(record)
        assert verify(ledger.path, key=public).signed_by == public
    ledger.release()


@pytest.mark.parametrize("what", ["records", "hash", "signature", "missing"])
def test_a_signature_of_another_head_is_none(tmp_path: Path, what: str) -> None:
    key = key_in(tmp_path, "key")
    public = public_key(key.with_suffix(".pub"))
    ledger = write(tmp_path / "run" / "run.jsonl", list(story())[:4], KeyFile(key))
    earlier = read_anchor(anchor_path(ledger.path))
    ledger.append(list(story())[4])
    anchor = read_anchor(anchor_path(ledger.path))
    swapped = {"records": (6, earlier.hash), "hash": (5, anchor.hash), "signature": (6, anchor.hash)}
    records, head = swapped.get(what, (6, anchor.hash))
    signature = earlier.signature if what != "missing" else ""
    text = anchor_bytes(type(anchor)(records=records, hash=head, key=public if signature else "", signature=signature))
    anchor_path(ledger.path).write_bytes(text)
    assert verify(ledger.path, key=public).whole is False
    anchor_path(ledger.path).unlink()
    assert verify(ledger.path, key=public, anchored=False).whole is False
    ledger.release()


def test_only_a_private_ed25519_key_of_the_operator_is_taken(tmp_path: Path) -> None:
    exposed = key_in(tmp_path, "exposed")
    exposed.chmod(0o640)
    nothing = tmp_path / "nothing"
    nothing.touch(mode=0o600)
    strange = key_in(tmp_path, "strange", X25519PrivateKey.generate())
    for path, code in ((exposed, "KEY_EXPOSED"), (nothing, "KEY_UNREADABLE"), (strange, "KEY_UNREADABLE")):
        with pytest.raises(LedgerRefused) as refused:
            KeyFile(path)
        assert refused.value.code == code
    for path in (nothing, strange.with_suffix(".pub")):
        with pytest.raises(LedgerRefused):
            public_key(path)
