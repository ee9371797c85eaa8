"""Which headers travel, and in which of them a session shows its key."""

from collections.abc import Iterator

from multidict import CIMultiDict, CIMultiDictProxy

HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    }
)
OURS = frozenset({"host", "content-length", "accept-encoding", "cookie", "expect", "origin", "forwarded"})
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
API_KEY = "x-api-key"
AUTHORIZATION = "authorization"
BEARER = "bearer "

Headers = CIMultiDictProxy[str]


def shown_keys(headers: Headers) -> Iterator[str]:
    """Yield what a request shows as its key."""
    for value in headers.getall(API_KEY, ()):
        yield value.strip()
    for value in headers.getall(AUTHORIZATION, ()):
        if value.lower().startswith(BEARER):
            yield value[len(BEARER) :].strip()


def onward(headers: Headers, session_key: str, api_key: str | None) -> CIMultiDict[str]:
    """Return a request's headers as the provider gets them: its key wherever the session's stood, or all as it was.

    An answer that is not compressed can be counted while it passes.
    """
    sent = CIMultiDict[str]()
    named = connection_names(headers)
    for name, value in headers.items():
        low = name.lower()
        if low in HOP_BY_HOP or low in OURS or low in named:
            continue
        if low in {API_KEY, AUTHORIZATION} and api_key is not None:
            if session_key not in value:
                continue
            sent.add(name, value.replace(session_key, api_key))
        else:
            sent.add(name, value)
    sent["accept-encoding"] = "identity"
    return sent


def backward(headers: Headers) -> CIMultiDict[str]:
    """Return an answer's headers as the session gets them."""
    named = connection_names(headers)
    kept = CIMultiDict[str]()
    for name, value in headers.items():
        if name.lower() not in HOP_BY_HOP and name.lower() not in named:
            kept.add(name, value)
    return kept


def connection_names(headers: Headers) -> frozenset[str]:
    """Return the further headers that are for one connection only."""
    values = headers.getall("connection", ())
    return frozenset(name.strip().lower() for value in values for name in value.split(","))


def from_loopback(headers: Headers) -> bool:
    """Tell whether a request was meant for this machine and comes from no web page."""
    host = headers.get("host", "").rpartition(":")
    name = host[0] if host[2].isdecimal() and host[0] else headers.get("host", "")
    return name.lower() in LOOPBACK and "origin" not in headers
