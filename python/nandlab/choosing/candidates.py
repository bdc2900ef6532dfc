"""The possible file systems for a flash, each as an experiment.

>>> from nandlab.choosing.candidates import candidates
>>> from nandlab.choosing import Wish
>>> found = candidates(Wish({"phone": {"transactions": 10}}, flash_bytes=4 << 20))
>>> {"yaffs", "minv", "fat over page"} <= {candidate.name for candidate in found}
True
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab._native import ConfigError, toml_to_json
from nandlab.choosing.wish import Wish
from nandlab.experiment import Experiment
from nandlab.listing import lists
from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.policy import Policy

Tree = dict[str, Any]

OVER_PROVISIONING = (0.07, 0.14, 0.28, 0.5, 1.1, 1.3)
"""Shares of spare blocks to try with an FTL: it gets the first one it can work with."""

FRAM = {"unit_bytes": 2, "read_ns": 110.0, "write_ns": 110.0, "read_nj": 6.5, "write_nj": 6.5}
"""Cost per NVRAM access unless `sets` say so: a Ramtron FM22L16 of 2007, 16 bits in a 110 ns cycle
at 18 mA and 3.3 V."""

CACHES: Mapping[str, Mapping[str, Any]] = {
    "dftl": {"cmt_entries": 1024},
    "sector_map": {"cmt_units": 16, "cmt_unit_bytes": 512, "merge_buffers": 1},
    "hybrid_map": {"cmt_units": 16, "cmt_unit_bytes": 512, "merge_buffers": 1},
    "sector_log": {"merge_buffers": 1},
}
"""Memory for FTLs with their map on flash, 8 KiB for map entries, and their buffer count for small writes,
unless `sets` say so: the FTLs' defaults are for controllers with megabytes."""

USUAL: Mapping[str, Mapping[str, Any]] = {"postmark": {"subdirectories": 10}}
"""Workload keys unless its table says otherwise: without subdirectories its files do not fit the root
directory in FAT12 and FAT16, limited to 512 entries."""


@dataclass(frozen=True)
class Candidate:
    """A file system with the layers below it."""

    name: str
    experiment: Experiment | None
    """None if it cannot work on this flash."""
    why_not: str = ""


def candidates(wish: Wish) -> list[Candidate]:
    """Every listed file system except a real directory; block-device file systems over every FTL.

    Firmware in C is among them if `sets` name its path.

    Raises:
        ConfigError: No candidate could have this flash, device or workload.

    """
    base = _base(wish)
    found: list[Candidate] = []
    used: set[str] = set()
    for fs in lists()["file_systems"]:
        if fs["over"] == "directory" or not _is_there(wish, "fs", fs):
            continue
        ftls = _ftls(wish) if fs["over"] == "device" else [None]
        for ftl in ftls:
            own = {"nvram": FRAM} if "nvram" in fs["options"]["properties"] else {}
            tree = {**base, "fs": {fs["name"]: own}}
            name = fs["name"]
            if ftl is not None:
                options = dict(CACHES.get(ftl["name"], {}))
                tree["ftl"], name = {ftl["name"]: options}, f"{name} over {ftl['name']}"
            tree, applied = _with(tree, wish.sets)
            used |= applied
            found.append(_candidate(wish, name, tree, sorted(applied)))
    for key, _ in wish.sets:
        if key not in used:
            raise ConfigError(_no_table(wish, key))
    if all(each.experiment is None for each in found):
        raise ConfigError(found[0].why_not)
    return found


def _ftls(wish: Wish) -> list[dict]:
    """The FTLs that take writes anywhere, as a file system needs."""
    return [ftl for ftl in lists()["ftls"] if not ftl.get("has_zones") and _is_there(wish, "ftl", ftl)]


def _is_there(wish: Wish, table: str, entry: Mapping[str, Any]) -> bool:
    """Whether the code of an entry is ours, or the user names it."""
    path = f"{table}.{entry['name']}.path"
    return not entry.get("is_elsewhere") or any(key == path for key, _ in wish.sets)


def _no_table(wish: Wish, key: str) -> str:
    """A sentence on a key whose table no candidate has."""
    names = {kind: [each["name"] for each in lists()[kind]] for kind in ("file_systems", "ftls")}
    tables = ["device", *(f"workload.{name}" for name in wish.workload)]
    tables += [f"fs.{name}" for name in names["file_systems"] if name != "posix"]
    tables += [f"ftl.{name}" for name in names["ftls"]]
    near = difflib.get_close_matches(".".join(key.split(".")[:2]), tables, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(tables)}"
    return f"--set {key}: no candidate has such a table; {hint}"


def _refuse_misspelt(error: ConfigError, applied: Sequence[str]) -> None:
    """Stops if a key or a value's type is wrong: no other flash would mend it."""
    text = str(error)
    for key in applied:
        table, _, name = key.rpartition(".")
        if f"[{table}] has no key `{name}`" in text or text.startswith(f"{key}: expected "):
            raise ConfigError(f"--set {text}" if text.startswith(key) else f"--set {key}: {text}") from None


def _candidate(wish: Wish, name: str, tree: Tree, applied: Sequence[str]) -> Candidate:
    shares: Sequence[float | None] = OVER_PROVISIONING if "ftl" in tree else (None,)
    if "over_provisioning" in tree["device"]:
        shares = (None,)
    why = ""
    for share in shares:
        device = tree["device"] if share is None else {**tree["device"], "over_provisioning": share}
        experiment = Experiment(**{**tree, "device": device}, allow_code=wish.allow_code)
        try:
            experiment.resolve()
        except ConfigError as error:
            _refuse_misspelt(error, applied)
            why = why or _in_bytes(str(error), wish)
            continue
        return Candidate(name, experiment)
    return Candidate(name, None, why)


def _base(wish: Wish) -> Tree:
    block, planes = _block(wish.device)
    blocks, rest = divmod(wish.flash_bytes, block * planes)
    if rest or not blocks:
        words = f"{units.size(block)}" + (f" on each of {planes} planes" if planes > 1 else "")
        raise ConfigError(f"a flash of {units.size(wish.flash_bytes)} is no number of blocks of {words}")
    return {
        "workload": {name: {**USUAL.get(name, {}), **options} for name, options in wish.workload.items()},
        "device": {"profile": wish.device, "shape": {"blocks_per_plane": blocks}},
    }


def _block(device: str) -> tuple[int, int]:
    """A block's bytes, and the plane count, of a bundled profile or of one in a file."""
    names = [each["name"] for each in lists()["devices"]]
    if device not in names and Path(device).suffix != ".toml":
        raise ConfigError(f"there is no device {device!r}; there are {', '.join(names)}, and FILE.toml")
    device_table = {"profile": device, "over_provisioning": 0.5}
    some = Experiment(workload={"uniform": {}}, ftl={"page": {}}, device=device_table)
    shape = some.resolve()["device"]["shape"]
    planes = shape["channels"] * shape["dies_per_channel"] * shape["planes_per_die"]
    return shape["pages_per_block"] * shape["page_bytes"], planes


def _in_bytes(error: str, wish: Wish) -> str:
    """A sentence with the flash size in place of a block count."""
    block, planes = _block(wish.device)

    def flash(found: re.Match[str]) -> str:
        return f"take a flash of {int(found[1]) * block * planes // 1024} KiB"

    return re.sub(r"set device\.shape\.blocks_per_plane = (\d+)", flash, error)


def _with(tree: Tree, sets: Sequence[tuple[str, str | Policy]]) -> tuple[Tree, set[str]]:
    """A tree with the keys whose table it has, and these keys.

    >>> _with({"fs": {"yaffs": {}}}, [("fs.yaffs.short_op_cache", "10"), ("fs.minv.objects", "9")])
    ({'fs': {'yaffs': {'short_op_cache': 10}}}, {'fs.yaffs.short_op_cache'})
    """
    used = set()
    for key, text in sets:
        first, *rest = path = key.split(".")
        is_named = first in ("workload", "fs", "ftl")
        if len(path) < 2 or first not in tree or (is_named and rest[0] not in tree[first]):
            continue
        used.add(key)
        if not isinstance(text, str):
            tree = _put(tree, path, text)
            continue
        try:
            value = json.loads(toml_to_json(f"value = {text}", f"--set {key}"))["tree"]["value"]
        except ConfigError:
            # A bare word, as everywhere on the command line.
            value = text
        tree = _put(tree, path, value)
    return tree, used


def _put(tree: Mapping[str, Any], path: Sequence[str], value: Any) -> Tree:  # noqa: ANN401 - a TOML value
    first, *rest = path
    below = tree.get(first)
    inner = _put(below if isinstance(below, dict) else {}, rest, value) if rest else value
    return {**tree, first: inner}
