"""Writes the stubs for `nandlab.ftl` and its like, and the tables of an experiment, from the module's lists.

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


TABLES = '''"""The tables of an experiment, made by `python -m nandlab.stubs`; not by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nandlab.experiment.given import Given
'''

EXAMPLES = {
    "device": (
        'capacity="128 MiB", over_provisioning=0.07',
        "{'capacity': '128 MiB', 'over_provisioning': 0.07}",
    ),
    "host": ("queue_depth=32", "{'queue_depth': 32}"),
    "precondition": (
        'fill="sequential", overwrites=1.0',
        "{'fill': 'sequential', 'overwrites': 1.0}",
    ),
    "memory": ('nvram={"profile": "wap-cell-pcm"}', "{'nvram': {'profile': 'wap-cell-pcm'}}"),
}


def tables(entries: list[dict[str, Any]]) -> str:
    """The module with a class for each table."""
    return TABLES + "".join(f"\n\n{_table(entry)}" for entry in entries)


def _table(entry: dict[str, Any]) -> str:
    options = option_table(entry["options"])
    name, (given, shown) = entry["name"].capitalize(), EXAMPLES[entry["name"]]
    told = [
        textwrap.fill(f"{option}: {spec['doc']}", 110, initial_indent=" " * 8, subsequent_indent=" " * 12)
        for option, spec in options.items()
    ]
    kept = [f"    {option}: {_quoted(optional(spec['type']))} = None" for option, spec in options.items()]
    lines = [
        "@dataclass(frozen=True, kw_only=True)",
        f"class {name}(Given):",
        f'    """{entry["summary"]}',
        "",
        "    Args:",
        *told,
        "",
        f"    >>> {name}({given}).to_dict()",
        f"    {shown}",
        "",
        '    """',
        "",
        *kept,
    ]
    return "\n".join(lines) + "\n"


def _quoted(annotation: str) -> str:
    """An annotation with the quotes that ruff writes."""
    return annotation.replace("'", '"')


def write(folder: Path) -> None:
    """Writes a stub file for each list, and the tables; leaves a file alone that is as it should be."""
    kinds = {
        "ftl": "ftls",
        "buffer": "buffers",
        "fs": "file_systems",
        "index": "indexes",
        "workload": "workloads",
    }
    files = {folder / f"{name}.pyi": stub(lists()[kind]) for name, kind in kinds.items()}
    files[folder / "experiment" / "tables.py"] = tables(lists()["tables"])
    for path, text in files.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).parent)
