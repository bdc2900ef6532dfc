"""What the typed tables of an experiment share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Given:
    """A table of an experiment; keys left out keep their defaults, which `Experiment.resolve()` shows."""

    def to_dict(self) -> dict[str, Any]:
        """The TOML table as a dictionary, without keys left out."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in values.items()
            if value is not None
        }
