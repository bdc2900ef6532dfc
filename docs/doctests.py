"""Fences docstring examples, so that a page shows them as code; tests run the examples unchanged."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^>>> .*\n(?:^(?!\s*$).*\n?)*)+", re.MULTILINE)


class Doctests(griffe.Extension):
    """Turns every run of lines with a prompt at its start into a code block."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:  # noqa: ANN401 - as griffe has it
        """Looks at an object's docstring."""
        if obj.docstring is not None:
            text = obj.docstring.value + "\n"
            fenced = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
            obj.docstring.value = fenced.rstrip()
