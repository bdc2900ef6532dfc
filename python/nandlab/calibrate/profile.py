"""The profile from a calibration: every number names its source."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nandlab import reading
from nandlab._native import toml_to_json, version
from nandlab.calibrate import Calibration, Line
from nandlab.calibrate.free import TABLES, Free
from nandlab.calibrate.words import value_text
from nandlab.listing import lists
from nandlab.writing.new_file import readable, write_whole
from nandlab.writing.toml_text import toml_value

WIDTH = 118


def write_profile(found: Calibration, path: str | os.PathLike[str]) -> None:
    """Writes the profile; raises OSError with a sentence."""
    write_whole(path, profile_text(found, Path(path).stem).encode())


def profile_text(found: Calibration, name: str) -> str:
    """A profile's text; `device.profile` takes its file's path."""
    device = found.plan.bench.resolved_device(found.sets)
    base_name, base = device["profile"], _base(found, device["profile"])
    # The device size follows from the capacity, and the capacity is no part of a profile.
    shape = {"blocks_per_plane": base.get("shape", {}).get("blocks_per_plane"), **device["shape"]}
    tables = {**device, "shape": {key: value for key, value in shape.items() if value is not None}}
    lines = [*_head(found, name, base_name), ""]
    lines += [
        f"name = {json.dumps(name)}",
        f"description = {json.dumps(f'Fitted to measured rows; other numbers as {base_name}')}",
    ]
    lines.append(
        f"source = {json.dumps('nandlab calibrate on ' + ', '.join(map(readable, found.plan.rows.files)))}"
    )
    for table in TABLES:
        if tables.get(table):
            lines += ["", f"[{table}]", *_table(found, table, tables[table], base.get(table, {}), base_name)]
    return "\n".join(lines) + "\n"


def _base(found: Calibration, name: str) -> Mapping[str, Any]:
    """The experiment's profile, as written."""
    text = next((each["doc"] for each in lists()["devices"] if each["name"] == name), None)
    if text is None:
        text = reading.text(Path(found.plan.bench.experiment.folder) / name)
    tree: dict[str, Any] = json.loads(toml_to_json(text, name))["tree"]
    return tree


def _head(found: Calibration, name: str, base: str) -> Iterator[str]:
    plan = found.plan
    yield from _comment(
        f"{name}: numbers fitted to measured rows by `nandlab calibrate` ({version()}). "
        "Numbers that fit are not thereby true."
    )
    yield "#"
    files = ", ".join(map(readable, plan.rows.files))
    yield from _comment(
        f"Rows: {files}. Seed {plan.seed}; {plan.bench.requests:,} requests a row; "
        f"{found.spent} parameter sets; {len(found.plan.free)} free numbers."
    )
    if found.stopped:
        yield from _comment("The search was stopped: these are the best numbers until then.")
    yield from _rows("Fitted on (measured, fitted)", found.lines)
    yield from _rows("Not used by the fit (measured, predicted)", found.predicted)
    yield "# Ranges of the fitted numbers:"
    for free in plan.free:
        yield from _comment(f"{free.key}: {free.low:g} to {free.high:g}{', logarithmic' * free.log}", "  ")
    for sentence in found.sentences:
        yield from _comment(sentence)
    yield from _comment(
        f"No row says anything about the other numbers: they are those of {base} and of the experiment."
    )


def _comment(text: str, indent: str = "") -> Iterator[str]:
    for line in textwrap.wrap(text, WIDTH - 2 - len(indent), break_long_words=False, break_on_hyphens=False):
        yield f"# {indent}{line}"


def _rows(title: str, lines: Sequence[Line]) -> Iterator[str]:
    if not lines:
        return
    yield f"# {title}:"
    for line in lines:
        simulated = "no result" if line.simulated is None else value_text(line.figure, line.simulated)
        error = "" if line.error is None else f" ({100 * line.error:+.1f} %)"
        measured = value_text(line.figure, line.measured)
        yield f"#   {line.row.name} {line.figure}: {measured}, {simulated}{error}"


def _table(
    found: Calibration, table: str, values: Mapping[str, Any], base: Mapping[str, Any], base_name: str
) -> Iterator[str]:
    """A table's lines; deeper tables stand on one line each."""
    texts = {key: f"{key} = {toml_value(value)}" for key, value in values.items() if value is not None}
    wide = min(48, max((len(text) for text in texts.values()), default=0))
    for key, text in texts.items():
        origin = _origin(found, f"device.{table}.{key}", values[key], base.get(key), base_name)
        yield f"{text:<{wide}}    # {origin}"


def _origin(found: Calibration, key: str, value: Any, base: Any, base_name: str) -> str:  # noqa: ANN401 - TOML
    """A number's source."""
    fitted = [free for free in found.plan.free if free.path == key or free.path.startswith(f"{key}.")]
    if fitted:
        return "fitted" + (
            f" ({', '.join(_part(free, key) for free in fitted)})" if _is_part(fitted, key) else ""
        )
    if base is not None and value == base:
        return f"as {base_name}"
    return "as in the experiment"


def _is_part(fitted: Sequence[Free], key: str) -> bool:
    return any(free.key != key for free in fitted)


def _part(free: Free, key: str) -> str:
    items = f"items {', '.join(map(str, free.items))}" if free.items else ""
    inner = free.path.removeprefix(key).lstrip(".")
    return f"{inner} {items}".strip()
