"""`nandlab calibrate --probe-jobs` and `--probe`: jobs that tell about a drive, and their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nandlab.cli import DONE, FAILED
from nandlab.cli.options import EXPERIMENT, refuse_overwriting
from nandlab.cli.output import as_command, print_json, print_table, say, say_path
from nandlab.reading import regular

if TYPE_CHECKING:
    from nandlab.calibrate.probe.found import Found

T = TypeVar("T")

TARGET = "/dev/nvme9n9"


def probe_options(command: Callable[..., T]) -> Callable[..., T]:
    """The options of both modes."""
    for option in reversed(
        (
            click.option(
                "--probe-jobs",
                metavar="DIR",
                type=click.Path(file_okay=False),
                help="Write fio jobs that show a drive's inside. They only read.",
            ),
            click.option(
                "--writes",
                is_flag=True,
                help="With --probe-jobs: also jobs that write. THEY DESTROY ALL DATA ON THE DRIVE.",
            ),
            click.option(
                "--target",
                metavar="DEVICE",
                help=f"With --probe-jobs: the drive, in place of {TARGET}.",
            ),
            click.option(
                "--simulate",
                metavar="EXPERIMENT.toml",
                type=EXPERIMENT,
                help="With --probe-jobs: run the jobs on a simulated drive, as fio would.",
            ),
            click.option(
                "--probe",
                metavar="DIR",
                type=click.Path(exists=True, file_okay=False),
                help="Estimate a drive from fio's results in DIR.",
            ),
        )
    ):
        command = option(command)
    return command


def is_asked(options: dict[str, Any]) -> bool:
    """Whether one of the two modes is asked for; refuses options that belong to neither or to the other.

    Raises:
        click.UsageError: With the options.

    """
    for name in ("writes", "target", "simulate"):
        if options[name] and options["probe_jobs"] is None:
            raise click.UsageError(f"--{name} needs --probe-jobs DIR")
    if options["probe_jobs"] is not None and options["probe"] is not None:
        raise click.UsageError("--probe-jobs writes jobs, and --probe reads results: give one of them")
    return options["probe_jobs"] is not None or options["probe"] is not None


def write_jobs(options: dict[str, Any], jobs: int | None, as_json: bool) -> int:
    """Writes the job files, and with `--simulate` their results."""
    from nandlab.calibrate.probe.jobs import write_jobs as write
    from nandlab.cli.options import read

    folder, simulated = options["probe_jobs"], options["simulate"]
    target = options["target"] or TARGET
    # fio parts names at colons, ends values at ; and #, and fills in ${NAME}.
    if any(letter in ":;#$" or not letter.isprintable() for letter in target) or not target.strip():
        raise click.UsageError(
            f"--target {target!r}: expected a device or a file such as /dev/nvme0n1, without : ; # $"
        )
    experiment = None if simulated is None else read(simulated, [])
    if experiment is not None:
        _forget_simulated(Path(folder))
    files = write(folder, options["writes"], target)
    if experiment is not None and not _simulated(experiment, folder, files, jobs):
        say("stopped: no results were written")
        return FAILED
    if as_json:
        print_json(
            {
                "folder": folder,
                "target": target,
                "files": [
                    {"name": f"{file.name}.fio", "about": file.title, "destroys": file.destroys or None}
                    for file in files
                ],
                "results": simulated is not None,
            }
        )
        return DONE
    for file in files:
        click.echo(f"{folder}/{file.name}.fio: {file.title}")
        if file.destroys:
            click.echo(f"    DESTROYS DATA: {file.destroys}")
    if simulated is None:
        click.echo(f"{folder}/README.txt: how to run them. Then: nandlab calibrate --probe {folder}")
        if target == TARGET:
            click.echo(f"Put your drive in the place of {TARGET}, or give --target.")
    else:
        click.echo(f"results of {simulated} are beside them. Then: nandlab calibrate --probe {folder}")
    return DONE


def _forget_simulated(folder: Path) -> None:
    """Removes results of an earlier simulation, so that results of two drives never mix.

    Raises:
        click.UsageError: The folder has results of a real drive.

    """
    found = sorted(folder.glob("probe-*.json"))
    for path in found:
        if b"(nandlab " not in regular(path).read_bytes()[:200]:
            raise click.UsageError(f"--simulate: {path} has results of a drive; take another folder")
    for path in (*found, *folder.glob("probe-*.log")):
        path.unlink()


def _simulated(experiment: Any, folder: str, files: Any, jobs: int | None) -> bool:  # noqa: ANN401 - imported late
    from nandlab.calibrate.probe.simulated import simulate
    from nandlab.cli.progress import Waiting

    with Waiting() as waiting:
        return simulate(
            experiment, folder, files, lambda share: waiting.update("simulate", share, "fio's jobs"), jobs
        )


@dataclass(frozen=True)
class Outputs:
    """Files to write; None for none."""

    profile: str | None
    report: str | None


def show_probe(folder: str, outputs: Outputs, jobs: int | None, as_json: bool) -> int:
    """Prints a drive's numbers, and writes a profile and a report if asked."""
    from nandlab.calibrate.probe.found import probe
    from nandlab.calibrate.probe.jobs import FILES, LOG
    from nandlab.calibrate.probe.profile import write_profile

    inputs = [Path(folder) / name for name in (*(f"{file.name}.json" for file in FILES), LOG)]
    refuse_overwriting({"--output": outputs.profile, "--report": outputs.report}, inputs)
    found = probe(folder, jobs)
    if outputs.profile is not None:
        write_profile(found, outputs.profile)
    if as_json:
        print_json(_document(found, folder, outputs.profile))
    else:
        _print(found)
        if outputs.profile is not None:
            click.echo(f"\nprofile: {outputs.profile}")
    if outputs.report is not None:
        from nandlab.calibrate.probe.page import write_probe

        write_probe(found, outputs.report, folder, as_command())
        say_path(outputs.report, as_json)
    return DONE


def _document(found: Found, folder: str, profile: str | None) -> dict[str, Any]:
    from nandlab.calibrate.probe.repeat import WARNED, worst

    most = worst(found.repeats)
    return {
        "folder": folder,
        "profile": profile,
        "quantities": [
            {
                "name": each.name,
                "unit": each.unit,
                "value": each.value,
                "low": each.low,
                "high": each.high,
                "note": each.why or None,
            }
            for each in found.quantities
        ],
        "repeats": [{"job": each.job, **each.errors} for each in found.repeats],
        "worst": None
        if most is None
        else {"job": most[0], "figure": most[1], "error": most[2], "warning": abs(most[2]) > WARNED},
        "files": [str(Path(path)) for path in found.results.files],
    }


def _print(found: Found) -> None:
    from nandlab.calibrate.probe.profile import interval_text, value_text
    from nandlab.calibrate.probe.repeat import WARNED, sentence, worst

    known = [each for each in found.quantities if each.value is not None]
    rows = [[each.name, each.unit, value_text(each, each.value), interval_text(each)] for each in known]
    if rows:
        print_table(rows, ["quantity", "unit", "found", "interval"], right=(2, 3))
    unknown = [each for each in found.quantities if each.value is None]
    if rows and unknown:
        click.echo("")
    for each in unknown:
        click.echo(f"{each.name}: cannot be known from these jobs ({each.why})")
    notes = [f"{each.name}: {each.why}" for each in known if each.why]
    for at, note in enumerate(notes):
        click.echo(("\n" if at == 0 else "") + note)
    most = worst(found.repeats)
    if most is not None:
        warning = "warning: " if abs(most[2]) > WARNED else ""
        click.echo(f"\n{warning}{sentence(found.repeats)}")
    if found.unrepeated:
        click.echo(("" if most else "\n") + found.unrepeated)
