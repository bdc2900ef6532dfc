"""`nandlab list KIND`: everything to choose from."""

from __future__ import annotations

import re
from typing import Any

import click

from nandlab.cli.example import example
from nandlab.cli.options import json_option
from nandlab.cli.output import echo_wrapped, print_json, print_table

KINDS = (
    "ftls",
    "indexes",
    "buffers",
    "file-systems",
    "workloads",
    "traces",
    "devices",
    "memories",
    "victims",
    "tables",
)


@example("nandlab list ftls page")
@click.command("list")
@click.argument("kind", metavar="[KIND]", required=False)
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--all", "every", is_flag=True, help="Also options that one paper alone needs.")
@json_option
def command(kind: str | None, name: str | None, every: bool, as_json: bool) -> None:
    """List FTLs, devices and all other parts, or describe one.

    KIND is ftls, indexes, buffers, file-systems, workloads, traces, devices, memories, victims or tables: the
    other tables of an experiment, host, precondition and device. A NAME alone is enough, as in `nandlab list
    page` or `nandlab list host`; if several kinds have the name, all are shown. The table of an experiment is
    a name, too, as in `nandlab list buffer.lru`.
    """
    from nandlab.listing import lists

    if kind is None:
        _print_kinds(lists(), as_json)
        return
    table, point, entry = kind.partition(".")
    if point and name is None and TABLES.get(table) in KINDS:
        # As an experiment has it: buffer.python.
        kind, name = TABLES[table], entry
    if kind not in KINDS:
        _print_named(lists(), kind, name, every=every, as_json=as_json)
        return
    key = kind.replace("-", "_")
    entries = lists()[key]
    if name is not None:
        entries = [_find(entries, name, kind)]
    if as_json:
        print_json({key: entries})
    elif name is not None:
        _print_one(entries[0], every=every)
    elif not entries:
        click.echo(f"this version has no {kind.replace('-', ' ')}")
    elif key == "victims":
        _print_victims(entries)
    else:
        _print_all(entries)


def _print_named(
    found: dict[str, list[dict[str, Any]]], name: str, more: str | None, *, every: bool, as_json: bool
) -> None:
    """All entries with this name, in any kind."""
    by_kind = {kind: found[kind.replace("-", "_")] for kind in KINDS}
    own = {kind: [entry for entry in each if entry["name"] == name] for kind, each in by_kind.items()}
    own = {kind: entries for kind, entries in own.items() if entries}
    if not own or more is not None:
        import difflib

        names = {entry["name"] for entries in by_kind.values() for entry in entries}
        near = (
            []
            if own
            else difflib.get_close_matches(name, KINDS, 1)
            or difflib.get_close_matches(name, sorted(names), 1)
        )
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(KINDS)}"
        raise click.UsageError(f"there is no list of {name!r}; {hint}")
    if as_json:
        print_json({kind.replace("-", "_"): entries for kind, entries in own.items()})
        return
    for at, (kind, entries) in enumerate(own.items()):
        for entry in entries:
            click.echo(f"{'' if at == 0 else chr(10)}{name}, one of the {kind.replace('-', ' ')}")
            _print_one({**entry, "doc": entry["summary"]} if entry.get("options") else entry, every=every)
            if entry.get("options"):
                click.echo(f"\nhow it works: nandlab list {kind} {name}")


TABLES = {
    "ftl": "ftls",
    "index": "indexes",
    "buffer": "buffers",
    "fs": "file-systems",
    "workload": "workloads",
    "trace": "traces",
}
"""The table of an experiment with one entry of a kind."""
OF_LOGS = "Of log blocks: "


def _print_victims(entries: list[dict[str, Any]]) -> None:
    """Policies for any block, then policies for log blocks: some have the same name."""
    logs = [entry for entry in entries if entry["summary"].startswith(OF_LOGS)]
    click.echo("among all blocks that are full, of FTLs that map pages or sectors\n")
    _print_all([entry for entry in entries if entry not in logs])
    click.echo("\namong log blocks\n")
    plain = [(entry, entry["summary"].removeprefix(OF_LOGS)) for entry in logs]
    _print_all([{**entry, "summary": f"{words[0].upper()}{words[1:]}"} for entry, words in plain])


def _print_kinds(found: dict[str, list[dict[str, Any]]], as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    for kind in KINDS:
        names = ", ".join(entry["name"] for entry in found[kind.replace("-", "_")])
        click.echo(f"{kind:14}{names or '(none in this version)'}")


def _find(entries: list[dict[str, Any]], name: str, kind: str) -> dict[str, Any]:
    names = [entry["name"] for entry in entries]
    if name in names:
        return entries[names.index(name)]
    import difflib

    near = difflib.get_close_matches(name, sorted(names), 1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(names) or 'none'}"
    raise click.UsageError(f"there is no {name!r} among the {kind}; {hint}")


def _print_all(entries: list[dict[str, Any]]) -> None:
    keys = [
        key
        for key in dict.fromkeys(key for entry in entries for key in entry)
        if key not in ("doc", "options", "source") and any(_is_plain(entry.get(key)) for entry in entries)
    ]
    # The summary is the longest and stands last.
    keys.sort(key=lambda key: key == "summary")
    numbers = [
        at
        for at, key in enumerate(keys)
        if all(isinstance(entry.get(key, 0), int | float) for entry in entries)
    ]
    rows = [[_cell(entry.get(key), key) for key in keys] for entry in entries]
    print_table(rows, [key.replace("_", " ") for key in keys], right=numbers)


def _is_plain(value: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, str | int | float) and value != ""


def _cell(value: Any, key: str) -> str:  # noqa: ANN401 - JSON
    if key.endswith("_bytes") and isinstance(value, int):
        from nandlab.writing.units import size

        return size(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if _is_plain(value) else ""


def _print_one(entry: dict[str, Any], *, every: bool) -> None:
    from nandlab.listing import all_options, paper_of

    echo_wrapped((entry.get("doc") or entry.get("summary") or entry["name"]).strip())
    facts = [
        [key.replace("_", " "), _cell(value, key)]
        for key, value in entry.items()
        if key not in ("doc", "options") and value != entry.get("doc")
    ]
    click.echo()
    print_table([fact for fact in facts if fact[1]])
    options = all_options(entry.get("options") or {})
    papers = {} if every else {name: paper_of(spec) for name, spec in options.items()}
    of_papers = {name: paper for name, paper in papers.items() if paper is not None}
    options = {name: spec for name, spec in options.items() if name not in of_papers}
    if options:
        rows = [
            [
                name,
                _plain_type(spec["type"]),
                _unset(entry["name"], name, spec),
                spec["doc"],
            ]
            for name, spec in options.items()
        ]
        print_table(rows, ["option", "type", "default", "meaning"])
    if of_papers:
        named = " and ".join(sorted(set(of_papers.values())))
        click.echo(f"\nleft out, options of one paper ({named}): {', '.join(of_papers)}; --all shows them")


OF_PROFILE = ("shape", "rules", "timing", "energy", "controller", "link")
"""Tables of a device that its profile has, too: what an experiment leaves out is the profile's."""


def _unset(table: str, option: str, spec: dict[str, Any]) -> str:
    """What counts if an option is left out."""
    if table == "device" and option.split(".")[0] in OF_PROFILE:
        return "the profile's"
    return "needed" if spec["required"] else _default(spec["default"])


def _plain_type(annotation: str) -> str:
    """A Python annotation as words: a choice's values stand for themselves."""
    words = re.sub(
        r"Literal\[([^]]*)\]", lambda found: found[1].replace("'", "").replace(", ", " | "), annotation
    )
    return words.replace("Mapping[str, Any]", "table")


def _default(value: Any) -> str:  # noqa: ANN401 - JSON
    import json

    return (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, str | int | float | bool | list | dict)
        else ""
    )
