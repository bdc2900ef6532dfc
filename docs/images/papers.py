"""Draws the pictures on the five papers' pages: docs/images/<paper>-<figure>.png, and their data beside them.

python docs/images/papers.py [NAME ...]            runs what the pictures show, by default of all five papers
python docs/images/papers.py --redraw [NAME ...]   runs nothing; draws the stored data anew
python docs/images/papers.py --check               fails if a picture is not one of its data, file and code

docs/images/papers/<paper>.json holds the data of each picture, a digest of the part of the paper's file that
describes the picture (`file`), and a fingerprint of both, of the code that draws it, and of the PNG.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomllib

from nandlab.report import bars, charts, device_charts, theme
from nandlab.reproduce import drawing as drawings
from nandlab.reproduce import load, reproduce
from nandlab.reproduce.drawing import Picture, pictured
from nandlab.reproduce.measure import Reproduction
from nandlab.reproduce.paper import Paper

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCALE = 1.4
DIGITS = 6
"""Significant digits of stored numbers."""
PICTURES = {
    "btree": ("table1", "by-bytes", "by-pages", "ram"),
    "migration": (
        *("merge", "pattern", "migration", "growth", "period"),
        *("fig7", "minimum", "fig9", "fig10", "fig11", "fig12"),
    ),
    "minv": ("time", "operations", "blocks"),
    "sector-map": ("aligned", "fig4-times", "fig4-depth", "table1", "footprint", "depth-banks", "maps"),
    "wap-lru": ("fig3", "fig4", "fig5", "fig6", "fig7-sums"),
}
"""Names in the papers' files, in the order of the published figures, ours last."""
PARTS = ("figures", "grids", "timelines", "block_maps", "op_figures")
TABLES = ("figures", "tables", "timelines", "block_maps", "op_figures")
"""The same in a file."""
SOURCES = (bars, charts, device_charts, theme, drawings)


def png(name: str, picture: str) -> Path:
    """A picture's file."""
    return HERE / f"{name}-{picture}.png"


def store(name: str) -> Path:
    """Where a paper's data are."""
    return HERE / "papers" / f"{name}.json"


def read(name: str) -> Paper:
    """A paper's file."""
    return load(str(ROOT / "papers" / f"{name}.toml"))


def run(paper: Paper) -> Reproduction:
    """What the pictures show, and nothing else of a paper."""
    wanted = {
        part: tuple(each for each in getattr(paper, part) if each.name in PICTURES[paper.name])
        for part in PARTS
    }
    bare = replace(paper, claims=(), conclusions=(), **wanted)
    found = reproduce(bare, jobs=1)
    # Published values are those of the claims.
    return Reproduction(replace(found.paper, claims=paper.claims), found.records, [])


def shown(found: Reproduction) -> dict[str, Picture]:
    """The pictures on a paper's page, their numbers rounded."""
    drawn = pictured(found)
    name = found.paper.name
    return {each: Picture(drawn[each].kind, rounded(drawn[each].data)) for each in PICTURES[name]}


def rounded(value: Any) -> Any:  # noqa: ANN401 - JSON
    """With fewer digits, as JSON has it: tuples are lists."""
    if isinstance(value, float):
        short = float(f"{value:.{DIGITS}g}")
        return int(short) if short.is_integer() else short
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list | tuple) else value


def packed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with equal words as one entry, its numbers as lists; numbers in a row as their ends."""
    found = []
    for (keys, words), part in itertools.groupby(rows, _words):
        series = list(part)
        numbers = {key: _run([row[key] for row in series]) for key in keys if key not in dict(words)}
        found.append({**dict(words), **numbers})
    return found


def _words(row: dict[str, Any]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    return tuple(row), tuple((key, each) for key, each in row.items() if isinstance(each, str))


def _run(values: list[Any]) -> list[Any] | dict[str, int]:
    first = values[0]
    if len(values) > 2 and type(first) is int and values == list(range(first, first + len(values))):
        return {"from": first, "to": values[-1]}
    return values


def unpacked(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of packed entries; their keys come in another order."""
    return [row for entry in entries for row in _rows(entry)]


def _rows(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    words = {key: each for key, each in entry.items() if isinstance(each, str)}
    numbers = {
        key: list(range(each["from"], each["to"] + 1)) if isinstance(each, dict) else each
        for key, each in entry.items()
        if key not in words
    }
    for values in zip(*numbers.values(), strict=True):
        yield {**words, **dict(zip(numbers, values, strict=True))}


def stored(name: str) -> dict[str, dict[str, Any]]:
    """A paper's pictures as they are stored: `kind`, `data` and `fingerprint`, by name."""
    return json.loads(store(name).read_text(encoding="utf-8"))


def kept(entry: dict[str, Any]) -> Picture:
    """A stored picture."""
    data = entry["data"]
    return Picture(entry["kind"], {**data, "rows": unpacked(data["rows"])})


def entry_of(picture: Picture) -> dict[str, Any]:
    """A picture as it is stored, without its fingerprint."""
    return {"kind": picture.kind, "data": {**picture.data, "rows": packed(picture.data["rows"])}}


def described(name: str) -> dict[str, str]:
    """A digest of what a paper's file says of each picture; captions are no part of it."""
    file = tomllib.loads((ROOT / "papers" / f"{name}.toml").read_text(encoding="utf-8"))
    parts = [each for table in TABLES for each in file.get(table, ())]
    return {each["name"]: digest({key: each[key] for key in each if key != "caption"}) for each in parts}


def digest(value: Any, *more: bytes) -> str:  # noqa: ANN401 - JSON
    """Of a value as JSON, and of bytes."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode() + b"".join(more)).hexdigest()


def code() -> bytes:
    """The code that draws, and the colours."""
    files = [Path(__file__), *(Path(str(each.__file__)) for each in SOURCES)]
    return b"".join(path.read_bytes() for path in files) + repr(theme.colours("light")).encode()


def fingerprint(entry: dict[str, Any], image: bytes) -> str:
    """Of data, file, code and PNG."""
    return digest([entry["kind"], entry["data"], entry["file"]], code(), image)


def write(name: str, pictures: dict[str, Picture], files: dict[str, str]) -> None:
    """Draws a paper's pictures, and stores their data; `files` are the digests of the file they are from."""
    import vl_convert

    found = {}
    for each, picture in pictures.items():
        entry = {**entry_of(picture), "file": files[each]}
        image = smaller(vl_convert.svg_to_png(charts.standalone(kept(entry).draw()), scale=SCALE))
        png(name, each).write_bytes(image)
        found[each] = {**entry, "fingerprint": fingerprint(entry, image)}
    store(name).parent.mkdir(exist_ok=True)
    lines = [f'"{each}": {json.dumps(entry, ensure_ascii=False)}' for each, entry in found.items()]
    store(name).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def smaller(image: bytes) -> bytes:
    """A PNG with the same pixels, its data compressed as far as zlib can."""
    head, parts, data, at = image[:8], [], b"", 8
    while at < len(image):
        (length,) = struct.unpack(">I", image[at : at + 4])
        kind, content = image[at + 4 : at + 8], image[at + 8 : at + 8 + length]
        data += content if kind == b"IDAT" else b""
        parts += [] if kind == b"IDAT" else [(kind, content)]
        at += 12 + length
    parts.insert(-1, (b"IDAT", zlib.compress(zlib.decompress(data), 9)))
    chunks = [
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    ]
    return head + b"".join(chunks)


def stale(name: str) -> list[str]:
    """Pictures that are not those of their data, file and code, and how to mend them."""
    found = stored(name) if store(name).exists() else {}
    files, wrong = described(name), []
    anew = f"run python docs/images/papers.py {name}"
    for each in PICTURES[name]:
        path = png(name, each)
        if each not in found or not path.exists():
            wrong.append(f"{path.name} is missing: {anew}")
        elif found[each]["file"] != files[each]:
            wrong.append(f"papers/{name}.toml describes {path.name} in another way: {anew}")
        elif found[each]["fingerprint"] != fingerprint(found[each], path.read_bytes()):
            again = anew.replace("papers.py", "papers.py --redraw")
            wrong.append(f"{path.name} is not what the code draws of its data: {again}")
    return wrong + [
        f"{store(name).name} has {each}, which is no picture: {anew}"
        for each in found
        if each not in PICTURES[name]
    ]


def main() -> None:
    """Draws or checks."""
    names = [each for each in sys.argv[1:] if not each.startswith("-")] or list(PICTURES)
    if "--check" in sys.argv:
        raise SystemExit("\n".join(each for name in names for each in stale(name)) or 0)
    for name in names:
        if "--redraw" in sys.argv:
            found = stored(name)
            files = {each: entry["file"] for each, entry in found.items()}
            write(name, {each: kept(entry) for each, entry in found.items()}, files)
        else:
            write(name, shown(run(read(name))), described(name))


if __name__ == "__main__":
    main()
