"""The message for a trace, or another program's file, in place of an experiment."""

from __future__ import annotations

import json
import re
import shlex

import click

from nandlab import reading

IMPORTS = {
    "mqsim": "mqsim {} workload.xml",
    "mqsim's workload": "mqsim ssdconfig.xml {}",
    "simplessd": "simplessd {}",
    "flashsim": "flashsim {}",
    "femu": "femu {}",
    "nvmevirt": "nvmevirt {}",
}
"""How each simulator's configuration is imported."""
TABLES = {"workload", "ftl", "device", "fs", "index", "buffer"}
"""Of an experiment; a file with none of them is another one's."""
JOB = re.compile(r"^\s*\[.+\]\s*$.*^\s*(rw|readwrite|ioengine)\s*=", re.MULTILINE | re.DOTALL)
"""A job file of fio: a section, and below it a key that nearly every job has."""


def refuse_trace(path: str) -> None:
    """Refuses a file that is no TOML, and shows how a trace or another simulator's file becomes one.

    Raises:
        click.UsageError: It is no experiment.

    """
    from nandlab import _native
    from nandlab.traces import trace_file

    try:
        tables = json.loads(_native.toml_to_json(reading.text(path), path))
    except (OSError, UnicodeDecodeError, _native.NandlabError):
        tables = None
    if tables is None or not TABLES & tables.keys():
        # A file of sections and a header, whose lines begin with #, can be TOML too.
        _refuse_configuration(path)
        _refuse_jobs(path)
    if tables is not None:
        return
    try:
        found = trace_file.head(path, ["side_by_side=true"], {"count": 1})
    except _native.TraceError as error:
        if error.proposal is None:
            raise click.UsageError(_neither(path, error)) from None
        block, command = error.proposal.split("\n\n")
        raise click.UsageError(
            f"{path} is no experiment, which is a TOML file such as the one below. If it is a trace, it "
            f"is of no known format: check units and operations.\n\n{_replay(path)}\n{block}\n\n"
            f"What it then holds is said by\n\n{command}\n\nwhich reads it in the same way"
        ) from None
    except _native.NandlabError as error:
        raise click.UsageError(_neither(path, error)) from None
    raise click.UsageError(
        f"{path} is a trace (format {found['format']}), not an experiment, which is a file such as this:\n\n"
        + _replay(path)
        + f"\n\n`nandlab trace info {path}` says what the trace holds"
    )


def _refuse_configuration(path: str) -> None:
    from nandlab.importing import simulator_of
    from nandlab.importing.read import has_flows

    simulator = simulator_of(path)
    if simulator is not None:
        kind = "mqsim's workload" if has_flows(path) else simulator
        command = IMPORTS[kind].format(shlex.quote(path))
        raise click.UsageError(
            f"{path} is a configuration of {simulator}; `nandlab import {command} --output experiment.toml` "
            "makes an experiment from it"
        )


def _refuse_jobs(path: str) -> None:
    try:
        jobs = JOB.search(reading.text(path))
    except (OSError, UnicodeDecodeError):
        return
    if jobs is not None:
        experiment = _experiment({"workload.fio": [f"path = {_quoted(path)}"]})
        raise click.UsageError(
            f"{path} is a job file of fio, not an experiment, which is a file such as this:\n\n{experiment}"
            "\n\nA variable in the jobs gets its value from the environment, or from workload.fio.variables"
        )


def _neither(path: str, error: Exception) -> str:
    return f"{path} is no experiment, which is a TOML file; and as a trace: {error}"


def _experiment(workload: dict[str, list[str]]) -> str:
    """An experiment with this table as its last one."""
    lines = ["[ftl.page]", "", "[device]", 'capacity = "1 GiB"']
    for table, keys in workload.items():
        lines += ["", f"[{table}]", *keys]
    return "\n".join(lines)


def _replay(path: str) -> str:
    """An experiment to replay the trace."""
    keys = [f"path = {_quoted(path)}", 'addresses = "compact"', "side_by_side = true"]
    return _experiment({"workload.trace": keys})


def _quoted(path: str) -> str:
    from nandlab.writing.toml_text import toml_value

    return toml_value(path)
