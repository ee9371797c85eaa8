"""What a harness can do beyond words, as a set that can be compared: whatever a repair adds to it is widening."""

from workloop.repair.bundled.manifest import CodexFence, HarnessSpec


def capabilities_of(harness: HarnessSpec) -> frozenset[str]:
    """Return every capability as a text; the more of them, the more a harness may do."""
    found = {f"tool:{tool.name}" for tool in harness.tools}
    found |= {f"tool:{tool.name}:{name}" for tool in harness.tools for name in tool.capabilities}
    for bundle in harness.bundles:
        found |= {f"server:{bundle.name}", f"server:{bundle.name}:starts:{bundle.command}"}
        found |= {f"server:{bundle.name}:tool:{name}" for name in bundle.tools}
        found |= {f"server:{bundle.name}:variable:{name}={value}" for name, value in bundle.env}
    if harness.agent is not None:
        found.add("agent:code")
    return frozenset(found)


def widened(base: HarnessSpec, candidate: HarnessSpec) -> tuple[str, ...]:
    """Return what the candidate may do and the base may not, sorted; empty when nothing was widened."""
    more = set(capabilities_of(candidate) - capabilities_of(base))
    more |= {f"denial dropped:{name}" for name in denials_of(base) - denials_of(candidate)}
    fences = list(CodexFence)
    if fences.index(candidate.settings.codex_sandbox) < fences.index(base.settings.codex_sandbox):
        more.add(f"codex:{candidate.settings.codex_sandbox}")
    was, now = base.settings.turns_max, candidate.settings.turns_max
    if was is not None and (now is None or now > was):
        more.add("turns:unbounded" if now is None else f"turns:{now}")
    return tuple(sorted(more))


def denials_of(harness: HarnessSpec) -> frozenset[str]:
    """Return what a harness withholds from its agents."""
    settings = harness.settings
    lists = {"copilot": settings.copilot_denied, "qwen": settings.qwen_excluded}
    return frozenset(f"{program}:{name}" for program, names in lists.items() for name in names)
