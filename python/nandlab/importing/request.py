"""A request for an import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nandlab._native import ConfigError


@dataclass(frozen=True)
class Request:
    """Files, and choices among their contents."""

    files: tuple[str, ...]
    folder: str = "."
    """Folder for the experiment."""
    scenario: int = 1
    """Scenario in MQSim's workload."""
    model: str | None = None
    """Drive in NVMeVirt's file."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """Values in place of the files'."""

    def only(self, name: str) -> str:
        """The one file.

        Raises:
            ConfigError: There are several.

        """
        if len(self.files) != 1:
            raise ConfigError(f"expected {name}, given {len(self.files)} files")
        return self.files[0]
