"""What all agent CLIs have in common before one is started: the operator's choices, a name, versions, a program."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from workloop.runner.harness.needs import Needs, OwnFiles, home_in, program_places
from workloop.runner.signatures import Signatures, load_signatures


@dataclass(frozen=True, slots=True, kw_only=True)
class CliConfig:
    """The operator's choices; home_dir gives sessions a home of their own, kept so that they can be resumed."""

    name: str
    binary: str | None = None
    home_dir: Path | None = None
    extra_args: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


Config = TypeVar("Config", bound=CliConfig)


class CliHarness(ABC, Generic[Config]):
    """An agent CLI as configured; its kind picks the rules, its name is the operator's."""

    kind: ClassVar[str]
    files: ClassVar[OwnFiles]

    def __init__(self, config: Config) -> None:
        self.config = config

    @property
    def name(self) -> str:
        """Return the configured name."""
        return self.config.name

    @property
    def signatures(self) -> Signatures:
        """Return the rules that were read from this CLI's recordings."""
        return load_signatures(self.kind)

    @property
    def tested_versions(self) -> tuple[str, ...]:
        """Return the versions whose recordings the rules were read from."""
        return self.signatures.versions

    def version_command(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Return what prints the CLI's version; raises Fault when it is not installed."""
        return (self.program(environment), "--version")

    def needs(self, environment: Mapping[str, str]) -> Needs:
        """Return the program, and the login and settings of whose account it uses."""
        seen = {**environment, **self.config.environment}
        files = self.files.needs(home_in(seen, self.config.home_dir), {} if self.config.home_dir else seen)
        return replace(files, readable=(*program_places(self.program(environment)), *files.readable))

    @abstractmethod
    def program(self, environment: Mapping[str, str]) -> str:
        """Find the CLI; raises Fault when it is not installed."""
