"""Writes what is said of the result record: the Python classes, and docs/record.md.

python docs/record.py           writes python/nandlab/record/made.py and the table on docs/record.md
python docs/record.py --check   fails if one of them is not as it would be written

The source is crates/lab/src/record: the public fields of serialized structs, and their doc comments.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LAB = ROOT / "crates" / "lab" / "src"
FTL = ROOT / "crates" / "ftl" / "src"
CLASSES = ROOT / "python" / "nandlab" / "record" / "made.py"
PAGE = ROOT / "docs" / "record.md"
MARKS = ("<!-- figures -->", "<!-- end of figures -->")
WIDTH = 110
BRIEF = 2
"""Words of a field's comment that say less than those of its table."""

NAMES = {
    "Record": "Figures",
    "MatrixRow": "Cell",
    "PreconditionRecord": "Preconditioning",
    "FsNvramRecord": "Nvram",
    "FaultRecord": "Faults",
    "ControllerRecord": "Controller",
    "SlcRecord": "SlcCounts",
    "BufferRecord": "BufferCounts",
    "MemoryRecord": "Accesses",
    "NvramRecord": "NvramAccesses",
    "IndexRecord": "IndexFigures",
    "OperationCounts": "Operations",
    "FsRecord": "FsFigures",
    "DeviceRecord": "DeviceFacts",
    "RecyclingRecord": "Recyclings",
    "Recycling": "Recycled",
    "SampledRecord": "Sampled",
    "LatencySummary": "Latency",
    "WholeEnergyRecord": "WholeEnergy",
    "LifeRecord": "Life",
    "VolumeRecord": "Volume",
}
"""Classes whose Python name is not the Rust name without `Record`."""

PLAIN = {
    **dict.fromkeys(("u8", "u32", "u64", "usize"), "int"),
    "f64": "float",
    "bool": "bool",
    "String": "str",
    "&'static str": "str",
    "Experiment": "dict[str, Any]",
    "LatencyHistograms": "dict[str, list[list[float]]]",
}


class Field(NamedTuple):
    """A figure: its name in JSON, its type in Rust, and its doc comment."""

    name: str
    kind: str
    text: str


class Struct(NamedTuple):
    """A table of the record."""

    name: str
    text: str
    fields: list[Field]


def comment(lines: str) -> str:
    """The text of a doc comment, on one line, without links of rustdoc."""
    text = " ".join(line.strip().removeprefix("///").strip() for line in lines.strip().splitlines())
    return re.sub(r"\[`(?:\w+::)*(\w+)`\]", r"`\1`", text)


DOC = r"((?:^ *///[^\n]*\n)*)"


def sources() -> str:
    """Rust files with structs of the record."""
    files = [
        FTL / "recycling.rs",
        FTL / "zones" / "used.rs",
        LAB / "record.rs",
        *sorted(LAB.glob("record/*.rs")),
    ]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def structs(source: str) -> dict[str, Struct]:
    """Each struct that is serialized, by name."""
    found = {}
    outer = DOC + r"^#\[derive\([^)]*Serialize[^)]*\)\]\n(?:#[^\n]*\n)*pub struct (\w+) \{\n(.*?)^\}"
    inner = DOC + r"(?: *#\[serde\(([^\n]*)\)\]\n)?^ *pub (\w+): ([^\n]+),\n"
    for text, name, body in re.findall(outer, source, re.DOTALL | re.MULTILINE):
        fields = []
        for told, attribute, field, kind in re.findall(inner, body, re.MULTILINE):
            if re.search(r"\bskip\b", attribute):
                continue
            renamed = re.search(r'rename = "(\w+)"', attribute)
            kind = f"flat {kind}" if "flatten" in attribute else kind
            fields.append(Field(renamed[1] if renamed else field, kind, comment(told)))
        found[name] = Struct(name, comment(text), fields)
    return {name: each._replace(fields=flat(each, found)) for name, each in found.items()}


def flat(struct: Struct, found: dict[str, Struct]) -> list[Field]:
    """The fields, with those of a flattened struct in its place."""
    fields = []
    for field in struct.fields:
        if field.kind.startswith("flat "):
            fields += flat(found[field.kind.removeprefix("flat ")], found)
        else:
            fields.append(field)
    return fields


def words(source: str) -> dict[str, list[tuple[str, str]]]:
    """The words of each enum in JSON, with their doc comments."""
    found = {}
    for name, body in re.findall(r"pub enum (\w+) \{\n(.*?)^\}", source, re.DOTALL | re.MULTILINE):
        variants = re.findall(DOC + r"^    (\w+),$", body, re.MULTILINE)
        found[name] = [
            (re.sub(r"(?<!^)([A-Z])", r"_\1", each).lower(), comment(told)) for told, each in variants
        ]
    return found


SOURCE = sources()
STRUCTS, WORDS = structs(SOURCE), words(SOURCE)


def inside(kind: str, around: str) -> str | None:
    """The type within `around<...>`."""
    found = re.fullmatch(rf"{around}<(.*)>", kind)
    return found[1] if found else None


def item_of(kind: str) -> str | None:
    """The type of an item, if `kind` is a list."""
    array = re.fullmatch(r"\[(\w+); \w+\]", kind)
    return inside(kind, "Vec") or (array[1] if array else None)


def python_name(struct: str) -> str:
    """A struct's class in Python."""
    return NAMES.get(struct, struct.removesuffix("Record"))


def hint(kind: str) -> str:
    """A type in Python."""
    if maybe := inside(kind, "Option"):
        return f"{hint(maybe)} | None"
    if item := item_of(kind):
        return f"list[{hint(item)}]"
    if kind.startswith("("):
        return "list[float]" if "f64" in kind else "list[int]"
    if table := inside(kind, "BTreeMap"):
        return f"dict[str, {hint(table.split(', ')[1])}]"
    if kind in PLAIN:
        return PLAIN[kind]
    if kind in WORDS:
        return f"Literal[{', '.join(repr(word) for word, _ in WORDS[kind]).replace(chr(39), chr(34))}]"
    return python_name(kind)


def inner_struct(kind: str) -> str | None:
    """The struct whose fields a field has."""
    found = next((part for part in re.findall(r"\w+", kind) if part in STRUCTS), None)
    return None if kind in PLAIN or found == "LatencyHistograms" else found


def told(field: Field) -> str:
    """A field's comment, with the words that it can have."""
    choices = next((WORDS[part] for part in re.findall(r"\w+", field.kind) if part in WORDS), None)
    if choices is None:
        return field.text
    each = [f"`{word}`: {text[0].lower()}{text[1:].rstrip('.')}" for word, text in choices]
    return f"{field.text} {'; '.join(each)}."


def in_order(name: str, seen: dict[str, None] | None = None) -> dict[str, None]:
    """A struct and those that its fields name, each behind what it needs."""
    seen = {} if seen is None else seen
    for field in STRUCTS[name].fields:
        if (inner := inner_struct(field.kind)) and inner not in seen:
            in_order(inner, seen)
    seen[name] = None
    return seen


def wrapped(text: str, indent: int, hanging: int = 0) -> str:
    """Text in lines of the usual length."""
    spaces = " " * indent
    return textwrap.fill(
        text, WIDTH, initial_indent=spaces, subsequent_indent=spaces + " " * hanging, break_long_words=False
    )


def pythonic(text: str) -> str:
    """A comment with Python's word for nothing."""
    return re.sub(r"\bnull\b", "None", re.sub(r"\bNull\b", "None", text))


def class_of(struct: Struct) -> str:
    """A class in Python."""
    first, _, rest = pythonic(struct.text).partition(". ")
    if len(first) > WIDTH - 10:
        # The first line of a docstring is one line.
        first, _, second = first.partition("; ")
        rest = f"{second[0].upper()}{second[1:]} {rest}".strip()
    lines = [f"class {python_name(struct.name)}(View):", wrapped(f'"""{first.rstrip(".")}.', 4)]
    if rest:
        lines += ["", wrapped(rest, 4)]
    lines += ["", "    Attributes:"]
    lines += [wrapped(f"{field.name}: {pythonic(told(field))}", 8, 4) for field in struct.fields]
    lines += ["", '    """', ""]
    lines += [f"    {field.name}: {hint(field.kind)}" for field in struct.fields]
    return "\n".join(lines)


def classes() -> str:
    """The module with every class."""
    head = '''"""Tables of the result record, written by docs/record.py from crates/lab; not by hand."""

from __future__ import annotations

from typing import Any, Literal

from nandlab.record.view import View
'''
    body = "\n\n\n".join(class_of(STRUCTS[name]) for name in in_order("Record"))
    text = f"{head}\n\n{body}\n"
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(CLASSES), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def rows(struct: str, path: str, seen: dict[str, str]) -> list[str]:
    """A row for each figure; a table that stands elsewhere is named."""
    found = []
    for field in STRUCTS[struct].fields:
        at = f"{path}{field.name}"
        kind = inside(field.kind, "Option") or field.kind
        is_list = item_of(kind) is not None
        inner = inner_struct(field.kind)
        text = told(field).replace("|", r"\|")
        shown = f"{at}[]" if is_list and inner else at
        if inner is None or inner in seen:
            as_in = f" As `{seen[inner]}`." if inner else ""
            found.append(f"| `{shown}` | {text}{as_in} |")
            continue
        seen[inner] = shown
        found.append(f"| `{shown}` | {introduced(text, STRUCTS[inner].text)} |")
        found += rows(inner, f"{shown}.", seen)
    return found


def introduced(text: str, intro: str) -> str:
    """What a field says of a table, and what the table says beyond its first sentence."""
    first, _, rest = intro.partition(". ")
    said = first.rstrip(".") + "." if len(text.split()) <= BRIEF else text
    return f"{said} {rest}".strip().replace("|", r"\|")


def page() -> str:
    """docs/record.md with its table."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    table = "\n".join(["| name | meaning |", "|---|---|", *rows("Record", "", {})])
    return f"{before}{MARKS[0]}\n{table}\n{MARKS[1]}{after}"


def main() -> None:
    """Writes both, or compares."""
    made = {CLASSES: classes(), PAGE: page()}
    if "--check" not in sys.argv:
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
        return
    old = [path.name for path, text in made.items() if path.read_text(encoding="utf-8") != text]
    if old:
        raise SystemExit(f"{' and '.join(old)} must be written again: python docs/record.py")


if __name__ == "__main__":
    main()
