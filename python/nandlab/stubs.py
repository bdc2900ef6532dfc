"""Writes the type stubs for `nandlab.ftl` and its like from the compiled module's lists.

The build runs `python -m nandlab.stubs`, so that an editor knows a new FTL's options.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from nandlab.listing import document, lists, option_table, optional

HEAD = '''"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice
'''


def stub(entries: list[dict[str, Any]]) -> str:
    """A stub file's text with a function for each entry in a list."""
    functions = "".join(f"\n{_function(entry)}" for entry in entries)
    own = "from nandlab.policy import Policy\n" if "| Policy" in functions else ""
    return HEAD + own + functions


def _function(entry: dict[str, Any]) -> str:
    options = option_table(entry["options"])
    # Required options come first: they have no default.
    ordered = sorted(options.items(), key=lambda item: not item[1]["required"])
    arguments = [
        f"    {name}: {spec['type']},"
        if spec["required"]
        else f"    {name}: {optional(spec['type'])} = None,"
        for name, spec in ordered
    ]
    head = (
        f"def {entry['name']}(\n    *,\n" + "\n".join(arguments) + "\n)"
        if arguments
        else f"def {entry['name']}()"
    )
    doc = document(entry, options).replace("\\", "\\\\").replace('"""', "'''")
    quoted = textwrap.indent(f'"""{doc}\n"""', "    ") if "\n" in doc else f'    """{doc}"""'
    return f"{head} -> Choice:\n{quoted}\n"


def write(folder: Path) -> None:
    """Writes a stub file for each list into `folder`; leaves one alone that is as it should be."""
    kinds = {
        "ftl": "ftls",
        "buffer": "buffers",
        "fs": "file_systems",
        "index": "indexes",
        "workload": "workloads",
    }
    for name, kind in kinds.items():
        path, text = folder / f"{name}.pyi", stub(lists()[kind])
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).parent)
