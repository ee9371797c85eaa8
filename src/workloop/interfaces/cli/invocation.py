"""What holds for one call of the command, whatever the command is: where, which campaign, and how to answer."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli.spelling import Option
from workloop.interfaces.cli.surfaces import Surfaces
from workloop.service.arguments import Shape

if TYPE_CHECKING:
    from workloop.client import Client
    from workloop.config import Settings

PROGRAM = "workloop"
COMPLETE_VARIABLE = "_WORKLOOP_COMPLETE"
GLOBALS = (
    Option(("-C", "--project"), "project", Shape.TEXT, "a folder of the project, instead of the present one"),
    Option(("--config",), "config", Shape.TEXT, "the settings file, instead of the project's own"),
    Option(("--campaign",), "campaign", Shape.TEXT, "the campaign, instead of the one that the settings name"),
    Option(("--json",), "json", Shape.FLAG, "answer in JSON; usual when the output is not a terminal"),
    Option(("--no-json",), "no_json", Shape.FLAG, "answer in words, wherever the output goes"),
)


class Invocation(NamedTuple):
    """One call of the command."""

    surfaces: Surfaces
    environment: Mapping[str, str]
    project: str = ""
    config: str = ""
    campaign: str = ""
    json: bool = False

    def start(self) -> Path:
        """Return the folder that names the project."""
        folder = Path(self.project) if self.project else Path.cwd()
        if not folder.is_dir():
            raise BadRequest("NO_FOLDER", f"{folder} is not a folder", hint="name a folder of the project with -C")
        return folder

    def settings(self, *, whole: bool = False) -> "Settings":
        """Read the project's settings; with whole, those of the loop, whatever projects it is about."""
        from workloop.config import load

        environment = dict(self.environment)
        if self.campaign:
            environment["WORKLOOP_CAMPAIGN"] = self.campaign
        return load(self.start(), environment, Path(self.config) if self.config else None, whole=whole)

    def orders(self) -> Path:
        """Return where the loop looks for orders; settings with a mistake in them keep nobody from stopping it."""
        from workloop.config import control_folder

        try:
            return self.settings(whole=True).folder
        except BadRequest:
            return control_folder(self.start(), self.environment, Path(self.config) if self.config else None)

    def client(self) -> "Client":
        """Return who answers actions: the loop that WORKLOOP_URL names, else the project's own store."""
        from workloop.client import remote_client

        remote = remote_client(self.environment)
        if remote is not None:
            return remote
        from workloop.wiring import local_client

        return local_client(self.settings())


def invocation_of(surfaces: Surfaces, options: Mapping[str, str]) -> Invocation:
    """Build an invocation from the options that hold for every command."""
    piped = "no_json" not in options and not sys.stdout.isatty()
    return Invocation(
        surfaces=surfaces,
        environment=os.environ,
        project=options.get("project", ""),
        config=options.get("config", ""),
        campaign=options.get("campaign", ""),
        json=piped or "json" in options,
    )
