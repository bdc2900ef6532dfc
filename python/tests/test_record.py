"""The record is written down once, in Rust; docs/record.py makes the classes of Python and the page of it."""

import json
import re
import subprocess
import sys
from pathlib import Path

from programs import script

from nandlab.record.record import Record
from nandlab.record.view import View, hints

ROOT = Path(__file__).parents[2]


def test_the_classes_and_the_page_are_those_of_rust():
    found = subprocess.run(
        [sys.executable, ROOT / "docs" / "record.py", "--check"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr


def complaints(value, hint, path):
    """Where a record of JSON is not what a class says."""
    kinds = [
        part for part in getattr(hint, "__args__", ()) if isinstance(part, type) and issubclass(part, View)
    ]
    view = kinds[0] if kinds else hint
    if isinstance(value, list):
        return [each for at, item in enumerate(value) for each in complaints(item, view, f"{path}[{at}]")]
    if not (isinstance(value, dict) and isinstance(view, type) and issubclass(view, View)):
        return []
    known = hints(view)
    lacking = [f"{path}: {sorted(known.keys() ^ value.keys())}"] if known.keys() != value.keys() else []
    return lacking + [
        each for name, inner in value.items() if name in known
        for each in complaints(inner, known[name], f"{path}.{name}")
    ]  # fmt: skip


def test_a_record_has_the_figures_of_its_class_and_no_other(nandlab_command, small):
    """The reader of the sources may misread; a run may not."""
    record = nandlab_command("run", small, "--json").document
    assert complaints(record, Record, "record") == []
    assert complaints({**record, "flash": {}}, Record, "record")


def test_every_figure_has_words():
    made = script(ROOT / "docs" / "record.py")
    assert len(made.STRUCTS) > 50
    silent = [
        f"{each.name}.{field.name}"
        for each in made.STRUCTS.values()
        for field in each.fields
        if not field.text
    ]
    assert silent == []
    assert not re.search(r"\| *\|", (ROOT / "docs" / "record.md").read_text(encoding="utf-8"))
    assert json.dumps(made.hint("Option<[f64; 2]>")) == '"list[float] | None"'
