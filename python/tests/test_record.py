"""The record is written down three times: in Rust, as views in Python, and on a page. Rust is the source."""

import re
import types
import typing
from pathlib import Path

from nandlab.record.record import Record
from nandlab.record.view import View, hints

ROOT = Path(__file__).parents[2]
LAB = ROOT / "crates" / "lab" / "src"
PAGE = ROOT / "docs" / "record.md"

PLAIN = {"u8": int, "u32": int, "u64": int, "f64": float, "bool": bool, "String": str, "&'static str": str}
# Rows of log blocks are those of the FTL.
FTL = ROOT / "crates" / "ftl" / "src"
FILES = [*FTL.glob("*.rs"), FTL / "zones" / "used.rs", LAB / "record.rs", *LAB.glob("record/*.rs")]
SOURCE = "\n".join(file.read_text(encoding="utf-8") for file in FILES)


def structs():
    """The fields of each struct of the record with their types, as JSON has them."""
    found = {}
    pattern = re.compile(
        r"#\[derive\([^)]*Serialize[^)]*\)\]\n(?:#[^\n]*\n)*pub struct (\w+) \{\n(.*?)^\}", re.S | re.M
    )
    for name, body in pattern.findall(SOURCE):
        fields = {}
        for attribute, field, kind in re.findall(
            r"(?:#\[serde\(([^\n]*)\)\]\n\s*)?pub (\w+): ([^\n]+),\n", body
        ):
            renamed = re.search(r'rename = "(\w+)"', attribute)
            fields[renamed[1] if renamed else field] = f"flat {kind}" if "flatten" in attribute else kind
        found[name] = fields
    return found


def words():
    """The words of each enum, as JSON has them."""
    found = {}
    for name, body in re.findall(r"pub enum (\w+) \{\n(.*?)^\}", SOURCE, re.DOTALL | re.MULTILINE):
        variants = re.findall(r"^    (\w+),$", body, re.MULTILINE)
        found[name] = [re.sub(r"(?<!^)([A-Z])", r"_\1", variant).lower() for variant in variants]
    return found


STRUCTS, WORDS = structs(), words()


def fields_of(struct):
    """The fields of a struct, those that are flattened into it in their place."""
    fields = {}
    for name, kind in STRUCTS[struct].items():
        fields |= fields_of(kind.removeprefix("flat ")) if kind.startswith("flat ") else {name: kind}
    return fields


def inside(kind, around):
    found = re.fullmatch(rf"{around}<(.*)>", kind)
    return found and found[1]


def complaints(kind, hint, path):
    """Where the type of Rust and that of Python do not say the same."""
    if maybe := inside(kind, "Option"):
        parts = [part for part in typing.get_args(hint) if part is not types.NoneType]
        if len(parts) == len(typing.get_args(hint)):
            return [f"{path}: it may be null"]
        return complaints(maybe, parts[0], path)
    if item := inside(kind, "Vec"):
        if typing.get_origin(hint) is not list:
            return [f"{path}: a list in Rust, {hint} in Python"]
        return complaints(item, typing.get_args(hint)[0], f"{path}[]")
    if kind.startswith(("(", "[")):
        return [] if typing.get_origin(hint) is list else [f"{path}: a pair in Rust, {hint} in Python"]
    if kind.startswith("BTreeMap") or kind in ("Experiment", "LatencyHistograms"):
        return [] if typing.get_origin(hint) is dict else [f"{path}: a table in Rust, {hint} in Python"]
    if kind in STRUCTS:
        return of_struct(kind, hint, path)
    if kind in WORDS:
        is_same = sorted(typing.get_args(hint)) == sorted(WORDS[kind])
        return [] if is_same else [f"{path}: one of {WORDS[kind]} in Rust, {hint} in Python"]
    return [] if PLAIN.get(kind) is hint else [f"{path}: {kind} in Rust, {hint} in Python"]


def of_struct(struct, view, path):
    if not (isinstance(view, type) and issubclass(view, View)):
        return [f"{path}: {struct} in Rust, {view} in Python"]
    ours, theirs = hints(view), fields_of(struct)
    if ours.keys() != theirs.keys():
        missing, more = sorted(theirs.keys() - ours.keys()), sorted(ours.keys() - theirs.keys())
        return (
            [f"{path}: {view.__name__} lacks {missing}, and has {more} too much"] if missing or more else []
        )
    return [each for name, kind in theirs.items() for each in complaints(kind, ours[name], f"{path}.{name}")]


def paths(struct, path=""):
    """Every name of the record with the tables that it is in, and the struct whose field it is."""
    for name, kind in fields_of(struct).items():
        at = f"{path}.{name}" if path else name
        yield at, (struct, name)
        inner = next((part for part in re.findall(r"\w+", kind) if part in STRUCTS), None)
        if inner is not None:
            yield from paths(inner, at)


def test_views_say_what_the_record_of_rust_says():
    assert len(STRUCTS) > 50
    assert of_struct("Record", Record, "record") == []


def rows_of_the_page():
    """Of each row the paths that stand in its first cell, as patterns, and all the names in it."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            first, *others = re.findall(r"`([^`]+)`", line.split("|")[1].replace("[]", ""))
            table = first.rpartition(".")[0]
            places = [first, *(f"{table}{other}" if other.startswith(".") else other for other in others)]
            named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", line))))
            yield [re.compile(place.replace("*", r"\w+")) for place in places], named


def test_the_page_names_every_figure_and_no_other():
    known = list(paths("Record"))
    rows = list(rows_of_the_page())
    wrong = [
        place.pattern
        for places, _ in rows
        for place in places
        if not any(place.fullmatch(path) for path, _ in known)
    ]
    assert wrong == []

    def is_told(path):
        last = path.rpartition(".")[2]
        return any(
            place.fullmatch(path)
            or place.pattern.startswith(f"{path}.")
            or (last in named and re.match(rf"{place.pattern}\.", path))
            for places, named in rows
            for place in places
        )

    # What is in several tables, such as `flash`, is told in one of them.
    told = {field for path, field in known if is_told(path)}
    assert sorted({path for path, field in known if field not in told}) == []
