"""Where a secret may be sent: encrypted to a server that was named, or to this machine; decided without asking DNS."""

from urllib.parse import SplitResult, urlsplit

PORTS = {"http": 80, "https": 443}


def is_loopback(host: str | None) -> bool:
    """Tell whether a host is this machine by its very text; a name could be made to point anywhere."""
    plain = (host or "").lower().rstrip(".")
    numbers = plain.split(".")
    v4 = len(numbers) == 4 and numbers[0] == "127" and all(part.isdecimal() and int(part) < 256 for part in numbers)
    return v4 or plain in ("localhost", "::1")


def origin_of(url: str) -> str:
    """Return scheme, host and port in one normal form; empty when it is no HTTP URL, so that it equals no other."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in PORTS or not parts.hostname or parts.username is not None:
        return ""
    host = parts.hostname.lower().rstrip(".")
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{port or PORTS[parts.scheme]}"


def keeps_secrets(url: str) -> bool:
    """Tell whether what is sent to a URL can be read on the way by nobody: HTTPS anywhere, HTTP to this machine."""
    origin = origin_of(url)
    parts: SplitResult = urlsplit(origin)
    return bool(origin) and (parts.scheme == "https" or is_loopback(parts.hostname))
