"""The documentation names what the program prints."""

import re
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "record.md"

# Tables whose rows or entries have names of their own: options of the experiment, structures of an FTL.
OPEN_TABLES = {"experiment", "sram", "dram"}


def names(value: object, name: str = "") -> Iterator[str]:
    """Every key of a record at every depth."""
    if name:
        yield name
    if name in OPEN_TABLES:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from names(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from names(inner)


def test_every_figure_of_a_record_is_documented(nandlab_command, small):
    record = nandlab_command("run", small, "--json").document
    documented = set(
        re.findall(r"[\w]+", " ".join(re.findall(r"`([^`]+)`", PAGE.read_text(encoding="utf-8"))))
    )
    missing = sorted(set(names(record)) - documented)
    assert not missing, f"docs/record.md does not name {missing}"
