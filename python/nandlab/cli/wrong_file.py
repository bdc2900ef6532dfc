"""What is said where a trace stands in the place of an experiment."""

from __future__ import annotations

from pathlib import Path

import click


def refuse_trace(path: str) -> None:
    """Refuses a file that is no TOML, with an experiment for it where it is a trace.

    Raises:
        click.UsageError: It is no experiment.

    """
    from nandlab import _native, trace_file

    try:
        _native.toml_to_json(Path(path).read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError, _native.NandlabError):
        pass
    else:
        return
    try:
        found = trace_file.head(path, ["side_by_side=true"], {"count": 1})
    except _native.NandlabError as error:
        raise click.UsageError(
            f"{path} is no experiment, which is a TOML file; and as a trace: {error}"
        ) from None
    lines = [
        "[workload.trace]",
        f"path = {_quoted(path)}",
        'addresses = "compact"',
        "side_by_side = true",
        "",
        "[ftl.page]",
        "",
        "[device]",
        'capacity = "1 GiB"',
    ]
    raise click.UsageError(
        f"{path} is a trace (format {found['format']}), not an experiment, which is a file such as this:\n\n"
        + "\n".join(lines)
        + f"\n\n`nandlab trace info {path}` says what the trace holds"
    )


def _quoted(path: str) -> str:
    from nandlab.toml_text import toml_value

    return toml_value(path)
