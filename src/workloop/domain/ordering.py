"""In which order things that need each other can come, with nothing moved that need not be."""

from collections.abc import Mapping, Sequence

from workloop.domain.errors import BadRequest


def in_order(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the keys with what each needs before it, otherwise as given; refuses a circle by its path.

    Needs that are not among the keys are somebody else's concern. Linear in keys and needs, and without recursion.
    """
    ordered: list[str] = []
    done: set[str] = set()
    for start in needs:
        if start not in done:
            follow(start, needs, done, ordered)
    return ordered


def follow(start: str, needs: Mapping[str, Sequence[str]], done: set[str], ordered: list[str]) -> None:
    """Put one key behind everything it needs."""
    trail: dict[str, None] = {start: None}
    stack = [(start, iter(needs[start]))]
    while stack:
        key, rest = stack[-1]
        for needed in rest:
            if needed in trail:
                raise circle(key, needed, list(trail))
            if needed not in done and needed in needs:
                trail[needed] = None
                stack.append((needed, iter(needs[needed])))
                break
        else:
            stack.pop()
            del trail[key]
            done.add(key)
            ordered.append(key)


def circle(key: str, needed: str, trail: list[str]) -> BadRequest:
    """Build the refusal of things that wait for themselves, directly or around a circle."""
    if key == needed:
        return BadRequest("DEP_SELF", f"{key} depends on itself", hint="take it out", field="depends_on")
    path = " → ".join([*trail[trail.index(needed) :], needed])
    return BadRequest("DEP_CYCLE", f"dependencies go round: {path}", hint="cut one", field="depends_on")
