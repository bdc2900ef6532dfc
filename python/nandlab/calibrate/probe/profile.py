"""A profile from a probe: found numbers, and those of `generic` for the rest."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nandlab._native import toml_to_json, version
from nandlab.calibrate.probe.found import Found
from nandlab.calibrate.probe.quantity import Quantity
from nandlab.listing import lists
from nandlab.writing.new_file import write_whole
from nandlab.writing.toml_text import toml_value

WIDTH = 118
BASE = "generic"
RULES = {"timing": {"read_transfer": "sectors"}}
"""Settings of the model behind the estimates."""


def write_profile(found: Found, path: str | os.PathLike[str]) -> None:
    """Writes the profile; raises OSError with a sentence."""
    write_whole(path, profile_text(found, Path(path).stem).encode())


def profile_text(found: Found, name: str) -> str:
    """A profile's text; `device.profile` takes its file's path."""
    text = next(each["doc"] for each in lists()["devices"] if each["name"] == BASE)
    tables = json.loads(toml_to_json(text, BASE))["tree"]
    given = _given(found)
    lines = [
        *_head(found, name),
        "",
        f"name = {json.dumps(name)}",
        f"description = {json.dumps(f'Probed with fio; other numbers as {BASE}')}",
        f"source = {json.dumps('nandlab calibrate --probe')}",
    ]
    for table in ("shape", "rules", "timing", "controller", "link"):
        values = {**tables.get(table, {}), **RULES.get(table, {}), **given.get(table, {})}
        if not values:
            continue
        lines += ["", f"[{table}]"]
        for key, value in values.items():
            source = "probed" if key in given.get(table, {}) else f"as {BASE}"
            if key in RULES.get(table, {}):
                source = "the model behind the estimates"
            pair = f"{key} = {toml_value(value)}"
            lines.append(f"{pair:<40}    # {source}")
    return "\n".join(lines) + "\n"


def _given(found: Found) -> dict[str, dict[str, Any]]:
    """The known numbers by table and key."""
    known = {each.name: each.value for each in found.quantities if each.value is not None}
    tables: dict[str, dict[str, Any]] = {
        table: {} for table in ("shape", "rules", "timing", "controller", "link")
    }
    if "channels" in known:
        channels = round(known["channels"])
        tables["shape"] |= {
            "channels": channels,
            "dies_per_channel": round(known["dies"]) // channels,
            "page_bytes": round(known["page size"]),
            # The rate is for user data.
            "spare_bytes": 0,
        }
    for name, table, key in (
        ("read time", "timing", "read_us"),
        ("command time", "timing", "transfer_command_us"),
        ("program time", "timing", "program_us"),
        ("time outside flash", "controller", "latency_us"),
        ("link, reads", "link", "read_mb_s"),
        ("link, writes", "link", "write_mb_s"),
    ):
        if name in known:
            tables[table][key] = float(f"{known[name]:.5g}")
    if "channel rate" in known:
        tables["timing"]["transfer_ns_per_byte"] = float(f"{1000 / known['channel rate']:.5g}")
    if "pages at once" in known:
        tables["timing"]["program_pages"] = round(known["pages at once"])
    if "write buffer" in known:
        tables["controller"]["write_buffer_bytes"] = round(known["write buffer"])
        if found.drive is not None and found.drive.protected:
            tables["controller"]["write_buffer_protected"] = True
    if found.drive is not None and found.drive.read_types_us:
        bits = len(found.drive.read_types_us)
        tables["rules"] |= {"bits_per_cell": bits, "program_order": "ascending_dense"}
        times = [float(f"{each:.5g}") for each in found.drive.read_types_us]
        tables["timing"]["page_types"] = {"read_us": times}
    return tables


def interval_text(quantity: Quantity) -> str:
    """Its interval for people; empty for a count and for the unknown."""
    if quantity.low is None or quantity.low == quantity.high:
        return ""
    return f"{value_text(quantity, quantity.low)} to {value_text(quantity, quantity.high)}"


def value_text(quantity: Quantity, value: float | None) -> str:
    """A value of the quantity for people, without its unit.

    >>> value_text(Quantity("write buffer", "B"), 2**20), value_text(Quantity("read time", "us"), 48.796)
    ('1,048,576', '48.8')
    """
    if value is None:
        return "cannot be known from these jobs"
    if quantity.unit in ("B", "MB/s") or (not quantity.unit and value == round(value)):
        return f"{value:,.0f}"
    if not quantity.unit:
        return f"{100 * value:.1f} %"
    return f"{value:.4g}"


def _head(found: Found, name: str) -> Iterator[str]:
    yield from _comment(f"{name}: numbers estimated from fio's results by `nandlab calibrate` ({version()}).")
    yield from _comment(f"Results: {', '.join(found.results.files)}.")
    yield "#"
    for each in found.quantities:
        interval = interval_text(each)
        parts = [f"{each.name}: {value_text(each, each.value)}"]
        if each.value is not None:
            parts.append(f"{each.unit}")
        text = " ".join(part for part in parts if part)
        more = "; ".join(part for part in (interval, each.why) if part)
        yield from _comment(f"{text} ({more})" if more else text, "  ")
    yield from _comment(
        "Over-provisioning is not in a profile: set device.over_provisioning in an experiment."
    )


def _comment(text: str, indent: str = "") -> Iterator[str]:
    for line in textwrap.wrap(text, WIDTH - 2 - len(indent), break_long_words=False, break_on_hyphens=False):
        yield f"# {indent}{line}"
