"""An experiment's keys and their values as text, as `--set` and `--vary` take them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nandlab.writing.units import percent, size

TAGGED = ("ftl", "workload", "index", "fs", "buffer")
"""Tables with exactly one named choice; a bare name takes it with its defaults."""


Pair = tuple[str, str]
"""An experiment's key and its value as text."""


_TYPED: dict[str, str] = {}
"""Override files as the engine names them, and as the user typed them."""


def as_typed(text: str) -> str:
    """A message with override files named as the user typed them."""
    for named, typed in sorted(_TYPED.items(), key=lambda pair: len(pair[0]), reverse=True):
        # Not inside a longer path.
        whole = rf"(?<![\w./-]){re.escape(named)}(?![\w/-])"
        text = re.sub(whole, typed.replace("\\", r"\\"), text)
    return text


def override(pair: Pair, file: str) -> str:
    """An override for a key in `file`, as the compiled module takes it.

    A path on the command line starts from the current folder if there is such a file or directory; in the
    experiment a file's path starts from the folder of `file`, and a directory's path is absolute. A table
    set to "none" is left out.

    >>> override(("device.capacity", "1 GiB"), "a.toml"), override(("ftl", "page"), "a.toml")
    ('device.capacity=1 GiB', 'ftl={ page = {} }')
    >>> override(("ftl", "none"), "a.toml")
    'ftl=none'
    """
    key, value = pair
    if key in TAGGED and value != "none" and re.fullmatch(r"\w+", value):
        value = f"{{ {value} = {{}} }}"
    is_path = key.endswith((".path", ".from_state")) or value.endswith(".toml")
    if value and is_path:
        typed, folder = value, Path(file).parent
        if Path(value).is_file():
            value = os.path.relpath(value, folder)
        # The engine names a file by the experiment's folder, absolute during a run.
        # `..` stays what it is.
        starts = (folder, os.path.abspath(folder))  # noqa: PTH100
        _TYPED.update({os.path.join(start, value): typed for start in starts})  # noqa: PTH118
    if value and key == "fs.posix.directory" and Path(value).is_dir():
        # A relative path from the file's folder would look different from the typed one, wherever it is
        # shown.
        value = os.path.abspath(value)  # noqa: PTH100 - links stay as they are
    return f"{key}={value}"


LISTS = {
    "ftl": "ftls",
    "workload": "workloads",
    "index": "indexes",
    "fs": "file_systems",
    "buffer": "buffers",
}
"""The list with the entries of each tagged table."""


def in_the_chosen(pairs: Sequence[Pair], tree: Callable[[], Mapping[str, Any]]) -> list[Pair]:
    """The pairs, each option of a tagged table in the entry that the other pairs or the experiment choose.

    Args:
        pairs: Keys and values; `buffer.size` is the size of whichever buffer is there.
        tree: The experiment's tables, asked for only where no pair chooses.

    >>> in_the_chosen([("buffer.size", "1 MiB"), ("buffer", "arc")], dict)
    [('buffer', 'arc'), ('buffer.arc.size', '1 MiB')]
    >>> in_the_chosen([("buffer.size", "1 MiB")], lambda: {"buffer": {"lru": {}}})
    [('buffer.lru.size', '1 MiB')]
    >>> in_the_chosen([("buffer.lru.size", "1 MiB"), ("seed", "2")], dict)
    [('buffer.lru.size', '1 MiB'), ('seed', '2')]

    """
    if not any(_is_open(key) for key, _ in pairs):
        return list(pairs)
    chosen = {key: tag[0] for key, value in pairs if key in TAGGED and (tag := re.search(r"\w+", value))}
    found = []
    for key, value in pairs:
        table, _, option = key.partition(".")
        name = chosen.get(table) or next(iter(tree().get(table) or ()), None) if _is_open(key) else None
        found.append((f"{table}.{name}.{option}" if name else key, value))
    # A table that is replaced takes its options with it.
    return sorted(found, key=lambda pair: pair[0] not in TAGGED)


def _is_open(key: str) -> bool:
    """Whether it is an option of a tagged table that names no entry."""
    from nandlab.listing import lists

    table, _, option = key.partition(".")
    if table not in TAGGED or not option:
        return False
    return option.split(".")[0] not in {entry["name"] for entry in lists()[LISTS[table]]}


def varied_by(error: str, keys: Iterable[str], by: str) -> str:
    """An engine error on a varied key names `by` in place of the option for one value.

    >>> varied_by("--set device.capacit=1: no such key", ["device.capacit"], "--vary")
    '--vary device.capacit=1: no such key'
    """
    for key in keys:
        error = re.sub(rf"(?<!\S)--set (?={re.escape(key)}=)", f"{by} ", error)
    return error


def split_commas(text: str) -> list[str]:
    """A text's parts between commas; commas inside quotes or brackets belong to a part.

    >>> split_commas("{a=1,b=2},c")
    ['{a=1,b=2}', 'c']
    """
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        if character == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return parts


TITLES = {"over_provisioning": "OP", "page_bytes": "page", "path": "trace"}
"""Shorter column heads for keys varied often."""


def label(title: str, value: str) -> str:
    """A value for display: a percentage, a size, or a file without its folders and ending."""
    if title == TITLES["over_provisioning"] and re.fullmatch(r"[0-9.]+", value):
        return percent(float(value))
    if title == TITLES["page_bytes"] and value.isdigit():
        return size(int(value))
    return value.strip("\"'").rsplit("/", 1)[-1].removesuffix(".gz").removesuffix(".csv")


def titles_of(keys: Sequence[str]) -> list[str]:
    """Each key's last part if it is unique, or a shorter word for it; else the whole key."""
    last = [key.rsplit(".", 1)[-1] for key in keys]
    return [
        TITLES.get(short, short) if last.count(short) == 1 else key
        for key, short in zip(keys, last, strict=True)
    ]
