"""An import as somebody asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nandlab._native import ConfigError


@dataclass(frozen=True)
class Request:
    """The files, and what to take from them."""

    files: tuple[str, ...]
    folder: str = "."
    """Where the experiment will stand."""
    scenario: int = 1
    """The scenario of MQSim's workload."""
    model: str | None = None
    """The drive of NVMeVirt's file."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """Values in place of those in the files."""

    def only(self, name: str) -> str:
        """The one file.

        Raises:
            ConfigError: There are several.

        """
        if len(self.files) != 1:
            raise ConfigError(f"expected {name}, given {len(self.files)} files")
        return self.files[0]
