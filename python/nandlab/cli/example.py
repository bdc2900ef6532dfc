"""The example with which a command's help begins."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

import click

LONGEST = 76

C = TypeVar("C", bound=click.Command)


def example(line: str) -> Callable[[C], C]:
    """Puts an example in front of a command's help; lists of commands show the sentence behind it."""

    def add(command: C) -> C:
        words = inspect.cleandoc(command.help or "")
        command.short_help = " ".join(words.partition("\n\n")[0].split()).removesuffix(".")
        # After `\b` click keeps the lines as they are.
        shown = f"Example: {line}"
        if len(shown) > LONGEST:
            import textwrap

            lines = textwrap.wrap(shown, LONGEST, break_long_words=False, break_on_hyphens=False)
            shown = " \\\n    ".join(lines)
        command.help = f"\b\n{shown}\n\n{words}"
        return command

    return add
