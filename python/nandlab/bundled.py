"""The examples that come with the package: experiments, traces, profiles, firmware, notebooks, jobs of fio.

`nandlab/examples` looks like the repository. There its entries are links to it; a wheel
has copies. So a relative path in an experiment leads to its trace in both.
"""

from __future__ import annotations

import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parent / "examples"
"""The folder with the examples."""

DEMO = (
    "page-op7",
    "page-op14",
    "page-op28",
    "page-2k",
    "page-8k",
    "page-16k",
    "block",
    "fmax",
    "bast",
    "fast",
)
"""The demo's designs, in the order of its report."""
TRACES = ("rollback", "wal")
"""The demo's traces: an application on SQLite, with each of its two journals."""


def demo_designs() -> list[Path]:
    """The demo's experiments."""
    return [EXAMPLES / "experiments" / f"{name}.toml" for name in DEMO]


def demo_traces() -> list[Path]:
    """The demo's traces."""
    return [EXAMPLES / "workloads" / "sqlite" / f"{name}.csv.gz" for name in TRACES]


def files() -> list[Path]:
    """Every example, as a path from `EXAMPLES`, by name."""
    return sorted(_below(EXAMPLES, Path()))


def _below(folder: Path, name: Path) -> list[Path]:
    # `rglob` follows links in some versions of Python and not in others.
    found = []
    for entry in folder.iterdir():
        found += _below(entry, name / entry.name) if entry.is_dir() else [name / entry.name]
    return found


def first_line(name: Path) -> str:
    """What an example is: the first sentence in the first line of its head comment, or an empty text.

    >>> first_line(Path("experiments/block.toml"))[:6]
    'SQLite'
    """
    if name.suffix not in (".toml", ".fio"):
        return ""
    line = (EXAMPLES / name).read_text(encoding="utf-8").partition("\n")[0]
    return line.lstrip("#; ").partition(". ")[0] if line.startswith(("#", ";")) else ""


def copy(folder: Path) -> list[Path]:
    """Copies every example into a new or empty folder.

    Args:
        folder: Made if it is missing.

    Returns:
        The copies, as paths from `folder`.

    Raises:
        OSError: The folder has something in it, or cannot be written.

    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there already, and not an empty folder")
    names = files()
    for name in names:
        to = folder / name
        to.parent.mkdir(parents=True, exist_ok=True)
        # The contents alone: an installed file may be read-only.
        shutil.copyfile(EXAMPLES / name, to)
    return names
