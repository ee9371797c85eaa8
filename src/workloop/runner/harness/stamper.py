"""How the events of one session get their numbers."""

from workloop.domain.session import DETAIL_CHARACTERS_MAX, Stamp, Unrecognised, head


class Stamper:
    """Count the events of one session."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.last_seq = 0
        self.last_arrival_us = 0

    def at(self, arrival_us: int) -> Stamp:
        """Return the stamp of the next event."""
        self.last_seq += 1
        self.last_arrival_us = arrival_us
        return Stamp(self.last_seq, arrival_us, self.session_id)

    def again(self) -> Stamp:
        """Return the next stamp at the arrival of the one before."""
        self.last_seq += 1
        return Stamp(self.last_seq, self.last_arrival_us, self.session_id)

    def unrecognised(self, raw: bytes, at: Stamp) -> Unrecognised:
        """Keep the beginning of a line that no rule knows."""
        kept = raw[: DETAIL_CHARACTERS_MAX * 4].decode("utf-8", errors="replace")
        return Unrecognised(at=at, raw=head(kept, DETAIL_CHARACTERS_MAX))

    def overlong(self, size: int, arrival_us: int) -> Unrecognised:
        """Note a line that was too long to keep."""
        return Unrecognised(at=self.at(arrival_us), raw=f"[a line of {size} bytes was dropped]")
