"""How an operator's ed25519 key signs the head of a ledger, and how anybody checks that with its public half.

The library for it is an extra of the installation and is loaded only when a key is used.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol

from workloop.repair.ledger.faults import LedgerRefused

HEAD_DOMAIN: Final = b"workloop ledger 1 head\n"
GROUP_OR_OTHERS: Final = 0o077


class Signer(Protocol):
    """Who signs heads; `key` is the public half in 64 hexadecimal digits."""

    @property
    def key(self) -> str:
        """Return the public half."""
        ...

    def sign(self, message: bytes) -> bytes:
        """Return the signature of some bytes."""
        ...


class KeyFile:
    """The operator's private key, as read from a file."""

    def __init__(self, path: Path) -> None:
        require_library()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        mode = path.stat().st_mode
        if mode & GROUP_OR_OTHERS:
            raise LedgerRefused("KEY_EXPOSED", f"{path}: others may read the key", hint=f"chmod 600 {path}")
        try:
            key = load_pem_private_key(path.read_bytes(), password=None)
        except (ValueError, TypeError) as error:
            raise wrong_key(path) from error
        if not isinstance(key, Ed25519PrivateKey):
            raise wrong_key(path)
        self.private = key

    @property
    def key(self) -> str:
        """Return the public half."""
        return self.private.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> bytes:
        """Return the signature of some bytes."""
        return self.private.sign(message)


def message(records: int, head: str) -> bytes:
    """Return what a signature of a head is made over: how many records there are, and the last one's hash."""
    return HEAD_DOMAIN + f"{records} {head}\n".encode("ascii")


def public_key(path: Path) -> str:
    """Read the public half of a key from a PEM file, into 64 hexadecimal digits."""
    require_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(path.read_bytes())
    except ValueError as error:
        raise wrong_key(path) from error
    if not isinstance(key, Ed25519PublicKey):
        raise wrong_key(path)
    return key.public_bytes_raw().hex()


def holds(key: str, signature: str, records: int, head: str) -> bool:
    """Tell whether a signature of a head is that key's."""
    require_library()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), message(records, head))
    except (InvalidSignature, ValueError):
        return False
    return True


def require_library() -> None:
    """Refuse to go on without the library, by the name of the extra that brings it."""
    if find_spec("cryptography") is None:
        raise LedgerRefused(
            "SIGNING_UNAVAILABLE", "the library for keys is not installed", hint="pip install 'workloop[signing]'"
        )


def wrong_key(path: Path) -> LedgerRefused:
    """Say that a file holds no key of the right kind."""
    return LedgerRefused(
        "KEY_UNREADABLE",
        f"{path}: this is no ed25519 key in PEM without a password",
        hint="openssl genpkey -algorithm ed25519 -out KEY && openssl pkey -in KEY -pubout -out KEY.pub",
    )
