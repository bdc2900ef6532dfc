"""Writes docs/policies.md: every policy with its file and its source, from the code's head comments.

python docs/policies.py            writes the page
python docs/policies.py --check    fails if the page differs from the code
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

import nandlab

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "policies.md"

HEAD = """# Every policy, its file and its source

`python docs/policies.py` writes this page from the head comments of the code. `nandlab list KIND NAME` shows
the options of an entry with a table of its own. The site (`make docs`) has a page with every option.
"""


class Kind(NamedTuple):
    """One table on the page."""

    title: str
    """Heading."""
    table: str
    """How an experiment chooses one."""
    folder: str
    """The folder with the files."""
    names: str = ""
    """The list in `nandlab list` with the policies' names; empty: the folder's files."""
    option: str = ""
    """The option of the page map that chooses one: it has choices without a file, too."""


KINDS = [
    Kind("Flash translation layers", "`[ftl.<name>]`", "crates/ftl/src", "ftls"),
    Kind(
        "Victim policies",
        "`victim` of `page`, `dftl` and others that collect pages",
        "crates/ftl/src/parts/victim",
        "",
        "Victim",
    ),
    Kind(
        "Placement",
        "`placement` of `page`, and of `dftl` without `fdp`, `midas`, `oracle` and `pools`",
        "crates/ftl/src/parts/placement",
        "",
        "Placement",
    ),
    Kind("Wear levelling", "`wear` of `page` and `dftl`", "crates/ftl/src/parts/wear", "", "Wear"),
    Kind("Map caches", "`cache` of `dftl`", "crates/ftl/src/dftl/cmt"),
    Kind("Write buffers", "`[buffer.<name>]`", "crates/buffer/src", "buffers"),
    Kind("File systems", "`[fs.<name>]`", "crates/fs/src", "file_systems"),
    Kind("Indexes", "`[index.<name>]`", "crates/index/src", "indexes"),
    Kind(
        "Replacement in the buffer pool of an index",
        "`policy` of the pool (`two_q` is written `2q`)",
        "crates/index/src/pool",
    ),
    Kind("Workloads of sectors, keys and files", "`[workload.<name>]`", "crates/workload/src", "workloads"),
    Kind("Trace formats", "`workload.trace.format`", "crates/workload/src/trace", "traces"),
]

PARTS = {
    "config",
    "header",
    "line",
    "list",
    "page_mut",
    "policy",
    "score",
    "shadow",
    "streams",
    "stripes",
    "table",
    "tests",
    "whole_pages",
}
"""Other files in these folders."""

KEY_TRACE = "keys/trace.rs"
"""The file for the workload `keys` with a trace."""

FILE_TRACE = "files/trace.rs"
"""The same for the workload `files`."""


def page() -> str:
    """The page's text."""
    return "\n".join([HEAD, *(_table(kind) for kind in KINDS)])


def _table(kind: Kind) -> str:
    rows = [
        f"## {kind.title}\n",
        f"Chosen by {kind.table}.\n",
        "| name | what it does | source |",
        "|---|---|---|",
    ]
    for name in _names(kind):
        path = _file(kind, name)
        head = _head_comment(path)
        link = f"[`{name}`](../{path.relative_to(ROOT)})"
        rows.append(f"| {link} | {_first_sentence(head)} | {_references(head)} |")
    rows += [f"| `{name}` | {_cell(text)} | |" for name, text in _without_file(kind)]
    return "\n".join([*rows, ""])


def _without_file(kind: Kind) -> list[tuple[str, str]]:
    """Choices of the page map's option that stand in its own file, with their descriptions."""
    if not kind.option:
        return []
    (page_map,) = (entry for entry in nandlab.lists()["ftls"] if entry["name"] == "page")
    found = {}
    for choice in page_map["options"]["$defs"][kind.option]["oneOf"]:
        names = choice.get("enum") or ([choice["const"]] if "const" in choice else list(choice["properties"]))
        found |= dict.fromkeys(names, " ".join(choice.get("description", "").split()))
    known = set(_names(kind))
    return sorted((name, text) for name, text in found.items() if name not in known and text)


def _names(kind: Kind) -> list[str]:
    if kind.names:
        return [entry["name"] for entry in nandlab.lists()[kind.names]]
    return sorted(file.stem for file in (ROOT / kind.folder).glob("*.rs") if file.stem not in PARTS)


def _file(kind: Kind, name: str) -> Path:
    folder = ROOT / kind.folder
    if kind.names == "workloads" and name == "files":
        return folder / FILE_TRACE
    if kind.names == "workloads" and name == "keys":
        return folder / KEY_TRACE
    places = ["", "keys/", "files/"]
    found = [folder / f"{place}{name}{end}" for place in places for end in (".rs", "/mod.rs")]
    return next(path for path in found if path.is_file())


def _head_comment(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    head = []
    for line in lines:
        if not line.startswith("//!"):
            break
        head.append(line.removeprefix("//!").strip())
    return head


def _first_sentence(head: list[str]) -> str:
    paragraph = " ".join(head[: head.index("")] if "" in head else head)
    return _cell(paragraph)


def _references(head: list[str]) -> str:
    if "## References" not in head:
        return ""
    after = head[head.index("## References") + 1 :]
    # Lines after an empty one are remarks.
    return _cell(" ".join(after[: after.index("")] if "" in after else after))


def _cell(text: str) -> str:
    # Rust links lead to items, and these have no page.
    return re.sub(r"\[(`[^`\]]+`)\](?!\()", r"\1", text).replace("|", "\\|")


def main() -> int:
    """Writes the page, or compares it with the code."""
    if "--check" in sys.argv[1:]:
        same = PAGE.read_text(encoding="utf-8") == page()
        if not same:
            print("docs/policies.md differs from the code: run `python docs/policies.py`", file=sys.stderr)
        return 0 if same else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
