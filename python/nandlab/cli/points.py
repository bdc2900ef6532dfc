"""What `compare`, `sweep` and `search` share: their options, and how they tell of many points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nandlab.cli.options import (
    Pair,
    change_options,
    folder_for_files,
    jobs_option_of,
    json_option,
    read,
    refuse_overwriting,
    report_option,
    together,
    values_by_key,
    written,
)
from nandlab.cli.output import as_command, print_json, say, say_path

if TYPE_CHECKING:
    from nandlab.experiment import Experiment
    from nandlab.searching import Search
    from nandlab.sweeping import Point, Progress, Sweep

T = TypeVar("T")


def _executor(_ctx: click.Context, _parameter: click.Parameter, name: str) -> str:
    from nandlab.sweeping.engines import check_name

    check_name(name)
    return name


def vary_option(*, required: bool) -> Callable[..., Any]:
    """The option `--vary`: values by key."""
    return click.option(
        "--vary",
        metavar="KEY=VALUES",
        multiple=True,
        required=required,
        callback=values_by_key("key=values, as in seed=1..5"),
        help="a,b,c; FROM..TO:N; FROM..TO:N:log; FROM..TO (whole numbers). Several --vary make every "
        "combination. ftl=page,fast takes FTLs by name.",
    )


goal_option = click.option(
    "--goal",
    "goals",
    metavar="NAME[:max]",
    multiple=True,
    default=("waf",),
    show_default=True,
    help="A figure that should be small, or large with :max. Several have a Pareto front.",
)


def shared_options(at_once: str = "") -> Callable[..., Any]:
    """The options that the three share; `Given` takes their values."""
    return together(change_options, jobs_option_of(at_once), report_option, json_option)


def kept_options(point: str, points: str, goes_on: str) -> Callable[..., Any]:
    """The options `--output` and `--fresh`.

    Args:
        point: What the command calls one of its points.
        points: What it calls several.
        goes_on: When the same command goes on from a file.

    """
    return together(
        click.option(
            "--output",
            metavar="FILE.parquet",
            callback=written("a file of points", ".parquet"),
            help=f"Keep every {point} as it ends, to go on {goes_on}.",
        ),
        click.option("--fresh", is_flag=True, help=f"Begin anew where --output holds {points}."),
    )


executor_option = click.option(
    "--executor",
    metavar="KIND",
    default="threads",
    show_default=True,
    callback=_executor,
    help="threads, processes, dask (on this machine) or dask=ADDRESS.",
)


def folder_option(name: str, text: str) -> Callable[..., Any]:
    """An option for a folder that takes files."""
    return click.option(
        name, metavar="DIR", type=click.Path(file_okay=False), callback=folder_for_files, help=text
    )


@dataclass(frozen=True)
class Given:
    """The values of the shared options."""

    sets: Sequence[Pair] = ()
    jobs: int | None = None
    report: str | None = None
    as_json: bool = False
    output: str | None = None
    fresh: bool = False
    executor: str = "threads"
    optimum: bool = False

    def read(self, file: str, varied: Iterable[str]) -> Experiment:
        """The experiment in a file with its overrides; a key that varies has none."""
        self.refuse_twice(varied)
        return read(file, self.sets)

    def refuse_twice(self, varied: Iterable[str]) -> None:
        """Refuses a key with an override and values."""
        keys = {key for key, _ in self.sets}
        for key in varied:
            if key in keys:
                raise click.UsageError(f"{key} is given twice")

    def refuse_overwriting(self, inputs: Iterable[Path]) -> None:
        """Refuses outputs that a run reads."""
        refuse_overwriting({"--report": self.report, "--output": self.output}, inputs)

    def how(self) -> dict[str, Any]:
        """How points run, as the fields of a plan."""
        return {"executor": self.executor, "jobs": self.jobs, "output": self.output, "fresh": self.fresh}

    def show(self, document: Callable[[], Any], table: Callable[[], object]) -> None:
        """Prints the result as it was asked for."""
        if self.as_json:
            print_json(document())
        else:
            table()

    def draw(self, found: Sweep | Search) -> None:
        """Writes the report."""
        if self.report is not None:
            found.report(self.report, as_command())
            say_path(self.report, self.as_json)


def require_drawing(*outputs: str | None) -> None:
    """Says what drawing needs, before any run."""
    if any(output is not None for output in outputs):
        from nandlab.sweeping.charts import require_altair

        require_altair()


def carried_out(carry_out: Callable[[T, Progress], Any], planned: T, phase: str, points: str) -> Any:  # noqa: ANN401 - what it returns
    """Carries a plan out, and shows how far it is."""
    from nandlab.cli.progress import Waiting

    with Waiting() as waiting:

        def show(done: int, total: int, share: float) -> None:
            waiting.update(phase, share, f"{done:,} of {points.format(f'{total:,}')} done")

        return carry_out(planned, show)


def say_twins(named: Iterable[tuple[object, str]], more: str = "") -> None:
    """Reports equal experiments, each with its name: their rows do not differ."""
    first: dict[object, str] = {}
    for one, name in named:
        if one in first:
            say(f"note: {name} is the same experiment as {first[one]}{more}")
        first.setdefault(one, name)


def state_of(result: Any, error: object) -> str:  # noqa: ANN401 - a Result, imported late
    """Why a row lacks figures, or has those of a part; empty for a whole run."""
    if result is None:
        return "not run" if error is None else "failed"
    return "PARTIAL" if result.partial else ""


def goal_documents(found: Sweep | Search) -> list[dict[str, Any]]:
    """The goals as JSON data."""
    return [{"name": goal.name, "maximise": goal.maximise} for goal in found.goals]


def point_document(found: Sweep | Search, point: Point, on_front: bool | None) -> dict[str, Any]:
    """A point as JSON data."""
    return {
        "values": point.values,
        "goals": dict(zip((goal.name for goal in found.goals), found.figures(point), strict=True)),
        "front": on_front,
        "result": point.record,
        "error": point.error,
    }


def say_end(found: Sweep | Search, points: str, total: int, output: str | None) -> None:
    """Reports points from an earlier run, and after Ctrl-C what is kept of `total` points."""
    done = sum(point.record is not None for point in found.points)
    total = total if found.stopped else len(found.points)
    say_kept(done, total, points, found.reused, found.stopped, output)


def say_kept(  # noqa: PLR0913 - what there is to tell
    done: int, total: int, points: str, reused: int, stopped: bool, output: str | None
) -> None:
    """Reports what an earlier run had finished, and after Ctrl-C what this one keeps."""
    if reused:
        say(f"{reused} of {total} {points} were finished before, and did not run again")
    if not stopped:
        return
    if not done:
        say(f"stopped before the first of {total} {points} was done: nothing is kept")
        return
    kept = (
        f"are kept in {output}.journal; the same command goes on after them"
        if output is not None
        else "are printed; with --output they are kept, and the same command goes on after them"
    )
    say(f"stopped: {done} of {total} {points} are done and {kept}")
