"""`nandlab prove FIRMWARE`: power cuts at every flash operation of a firmware in C."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from nandlab.cli import FAILED
from nandlab.cli.example import example
from nandlab.cli.options import (
    RegularFile,
    jobs_option,
    json_option,
    number_option,
    refuse_overwriting,
    report_option,
    writable,
)
from nandlab.cli.output import as_command, print_json, print_table, say, say_path


@example("nandlab prove ./firmware.so --report findings.html")
@click.command("prove")
@click.argument("firmware", type=RegularFile())
@click.option(
    "--device",
    metavar="PROFILE|FILE",
    help="The chip: a profile, or an experiment's [device].",
)
@click.option(
    "--nor", type=click.Choice(["w25q128", "stm32l476"]), help="A NOR chip in place of NAND, with its times."
)
@number_option("--blocks", click.IntRange(1), 16, "Blocks of the chip; each case writes them all.")
@click.option("--script", metavar="TEXT", help='Steps of your own, such as "w2 s w7 m t3".')
@click.option("--replay", metavar="TEXT", help='A case, such as "w2 s w7 cut:9:torn_page".')
@number_option("--scripts", click.IntRange(1), 15, "Scripts to draw.")
@number_option("--seed", click.IntRange(0), 1, "Seed of the scripts.")
@click.option("--form", "forms", metavar="FORM", multiple=True, help="A form of a cut; all forms by default.")
@click.option("--double", is_flag=True, help="Cut a second time, in the mount and the first writes after it.")
@click.option("--faults", is_flag=True, help="Add bad blocks and failing operations to every second script.")
@jobs_option
@number_option("--limit", click.FloatRange(0.01, 3600), 1.0, "CPU seconds until a call counts as a hang.")
@click.option(
    "--c",
    "program",
    metavar="FILE.c",
    help="Write the first finding as a program in C.",
)
@report_option
@json_option
def command(  # noqa: PLR0913 - as many outputs
    firmware: str,
    program: str | None,
    report: str | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - as click gives them
) -> None:
    """Prove a firmware in C against power cuts.

    FIRMWARE is a shared object. The command runs scripts on it, and cuts the power at every flash operation
    in every form. After each cut it mounts, compares with a plain model, and writes a whole device. A finding
    is shrunk to the shortest script; its text replays it. The exit status is 1 if there is a finding.
    """
    from nandlab.firmware import prove

    refuse_overwriting({"--c": program, "--report": report}, [Path(firmware)])
    if program is not None:
        writable(program)
    is_shown = sys.stderr.isatty()
    request = _request(firmware, options)
    try:
        found = prove(request, lambda line: click.echo(line, err=True) if is_shown else None)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        print_json(found)
    else:
        _print(found)
    _write(found, request, options, program, report, as_json)
    if found["findings"]:
        raise SystemExit(FAILED)


def _write(  # noqa: PLR0913 - what was found, and where it goes
    found: dict[str, Any],
    request: dict[str, Any],
    options: dict[str, Any],
    program: str | None,
    report: str | None,
    as_json: bool,
) -> None:
    """Writes the case and the report that were asked for."""
    from nandlab.firmware import program_of, write_report
    from nandlab.writing.new_file import write_whole

    if program is not None and found["findings"]:
        text = program_of(found, found["findings"][0], request["firmware"], request["device"])
        write_whole(program, text.encode())
        say(f"case: {program}")
    elif program is not None:
        say("no case was written: there is no finding")
    if report is not None:
        given = {name: options[name] for name in ("device", "nor", "blocks")}
        chip = [f"--{name}={value}" for name, value in given.items() if value is not None]
        write_report(found, request, chip, report, as_command())
        say_path(report, as_json)


def _request(firmware: str, options: dict[str, Any]) -> dict[str, Any]:
    if options["script"] is not None and options["replay"] is not None:
        raise click.UsageError("--script explores a script, and --replay runs one case: give one of them")
    if options["replay"] is not None and "cut:" not in options["replay"]:
        raise click.BadParameter("a case has a cut, such as cut:9:torn_page; --script explores a script")
    if options["script"] is not None and "cut:" in options["script"]:
        raise click.BadParameter("a script has no cut; --replay runs one case")
    return {
        "firmware": firmware,
        "device": _chip(options["device"], options["nor"], options["blocks"]),
        "script": options["replay"] or options["script"],
        "scripts": options["scripts"],
        "seed": options["seed"],
        "forms": list(options["forms"]),
        "depth": 2 if options["double"] else 1,
        "faults": options["faults"],
        "jobs": options["jobs"] or os.cpu_count() or 1,
        "limit_s": options["limit"],
    }


def _chip(device: str | None, nor: str | None, blocks: int) -> dict[str, Any]:
    from nandlab.firmware import nor_numbers, numbers

    if nor is not None:
        if device is not None:
            raise click.UsageError("--device is a NAND chip, and --nor a NOR chip: give one of them")
        return nor_numbers(nor, blocks)
    return {"blocks": blocks} if device is None else numbers(device, blocks)


def _print(report: dict[str, Any]) -> None:
    rate = report["cases"] / max(report["seconds"], 1e-9)
    scripts = "1 script" if report["scripts"] == 1 else f"{report['scripts']} scripts"
    click.echo(f"{report['name']}: {report['cases']:,} cases of {scripts}, {rate:,.0f} a second")
    if not report["findings"]:
        click.echo("no findings")
        return
    rows = [[found["kind"], found["sentence"], found["replay"]] for found in report["findings"]]
    print_table(rows, ["finding", "what happened", "replay"])
