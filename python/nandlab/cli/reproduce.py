"""`nandlab reproduce [PAPER]`: measures a paper's claims."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nandlab._native import NandlabError
from nandlab.cli import DONE, FAILED, WRONG_INPUT
from nandlab.cli.example import example
from nandlab.cli.open_values import Searches, refuse_with_search, search_options
from nandlab.cli.options import jobs_option, json_option, refuse_overwriting, report_option, written
from nandlab.cli.output import as_command, print_json, print_table, say, say_path

if TYPE_CHECKING:
    from nandlab.reproduce import Judged, Paper, Reproduction
    from nandlab.running.batch import State


@example("nandlab reproduce btree --report btree.html")
@click.command("reproduce")
@click.argument("paper", metavar="[PAPER]", required=False)
@click.option("--full", is_flag=True, help="Run all points and seeds of the paper's file; slow.")
@click.option(
    "--seeds",
    metavar="N",
    type=click.IntRange(1, 1000),
    help="Seeds of each run; an order is a finding from 5 on.",
)
@report_option
@click.option(
    "--bundle",
    metavar="FILE.zip",
    callback=written("a bundle", ".zip"),
    help="Keep the paper's file, experiments, records, figures and report together.",
)
@click.option(
    "--traces",
    metavar="DIR",
    envvar="NANDLAB_TRACES",
    type=click.Path(exists=True, file_okay=False),
    help="Replay recorded traces in DIR; the pages of docs/papers name the files.",
)
@jobs_option
@click.option("--all", "take_all", is_flag=True, help="Measure every paper, as without PAPER.")
@search_options
@json_option
def command(  # noqa: C901, PLR0913 - one for each option
    paper: str | None,
    full: bool,
    seeds: int | None,
    report: str | None,
    bundle: str | None,
    traces: str | None,
    jobs: int | None,
    take_all: bool,
    searches: Searches | None,
    as_json: bool,
) -> int:
    """Measure the claims of a paper, beside the printed values.

    PAPER is the name of a bundled paper, or the path of a file of the same kind. Without PAPER every bundled
    paper is measured. A claim that differs from its paper is a result, not a failure.

    If the file names a number that the records lack, or a formula has no value, the other claims are printed,
    and the exit status is 2.

    Ctrl-C stops the runs. The command then prints the claims measured so far, with exit status 1.
    """
    if take_all and paper is not None:
        raise click.UsageError(
            f"--all takes every paper, and {paper} is one of them: expected one or the other"
        )
    if searches is not None:
        refuse_with_search(
            {"--full": full, "--report": report, "--bundle": bundle, "--traces": _asked(traces)}
        )
        return searches.run(paper, seeds, jobs, as_json)
    from nandlab.reproduce import bundled, load, write_bundle, write_reproduction

    own = [Path(paper)] if paper is not None and paper.endswith(".toml") else []
    refuse_overwriting({"--report": report, "--bundle": bundle}, own)
    papers = [load(name) for name in ([paper] if paper is not None else bundled())]
    if traces is not None:
        papers = [_with_traces(one, Path(traces)) for one in papers]
    found = _measured(papers, seeds, full, jobs)
    if as_json:
        documents = [each.to_dict() for each in found]
        print_json(documents[0] if paper is not None else {"papers": documents})
    else:
        for one in found:
            _print(one)
    remade = as_command()
    if report is not None:
        write_reproduction(found, report, remade)
        say_path(report, as_json)
    if bundle is not None:
        write_bundle(found, bundle, remade)
        click.echo(f"bundle: {bundle}", err=as_json)
    return _ended(found) if len(found) == len(papers) else max(_ended(found), FAILED)


def _asked(traces: str | None) -> str | None:
    """The folder in `--traces`, unless the environment names it."""
    named = click.get_current_context().get_parameter_source("traces")
    return traces if named is ParameterSource.COMMANDLINE else None


def _ended(found: list[Reproduction]) -> int:
    """Reports a file's errors, and the failed runs; the exit status."""
    mistakes = [claim.mistake for one in found for claim in one.claims if claim.mistake is not None]
    for mistake in mistakes:
        say(str(mistake))
    for one in found:
        for why in dict.fromkeys(one.records.failed.values()):
            say(f"{one.paper.name}: a run {why}")
    if any(one.records.stopped for one in found):
        say("stopped; claims without a verdict were not measured")
    if mistakes:
        return WRONG_INPUT
    return DONE if all(one.complete for one in found) else FAILED


def _with_traces(paper: Paper, folder: Path) -> Paper:
    """The paper with the traces in a folder.

    A paper without traces stays as it is; so does every paper if the folder has none of its traces
    and the environment names it.
    """
    if not paper.traces:
        return paper
    try:
        return paper.with_traces(folder)
    except NandlabError:
        if _asked(str(folder)) is not None:
            raise
        return paper


def _measured(papers: list[Paper], seeds: int | None, full: bool, jobs: int | None) -> list[Reproduction]:
    """Every paper until somebody stops."""
    from nandlab.cli.progress import Waiting
    from nandlab.reproduce import reproduce

    found: list[Reproduction] = []
    with Waiting() as waiting:
        for paper in papers:

            def show(state: State, name: str = paper.name) -> None:
                waiting.update(
                    f"measuring {name}", state.share(), f"{state.finished:,} of {state.total:,} runs"
                )

            found.append(reproduce(paper, seeds, full, jobs, show))
            if found[-1].records.stopped:
                break
    return found


TITLES = ("claim", "published", "measured", "off", "tolerance", "verdict", "true units", "verdict there")


def _print(found: Reproduction) -> None:
    from nandlab.reproduce import counted, folded
    from nandlab.reproduce.records import caption, lines

    paper = found.paper
    click.echo(f"{paper.title}\n{paper.source}\n")
    click.echo(f"{counted(found.claims)}.")
    # A stopped reproduction concludes from its measurements alone.
    drawn = [each for each in found.conclusions if each.stands is not None or not found.records.stopped]
    for each in drawn:
        click.echo(f"  {each.label + ':':<12}{each.text}")
    if len(drawn) < len(found.conclusions):
        click.echo(f"  of {len(found.conclusions)} conclusions {len(drawn)} rest on what was measured")
    click.echo()
    for line in paper.workloads_in_words():
        click.echo(_wrapped(line))
    if paper.traces:
        click.echo()
    rows = [_row(claim) for claim in found.claims]
    # If every claim is in true units, there is nothing beside them.
    width = len(TITLES) if paper.readings else len(TITLES) - 2
    print_table([row[:width] for row in rows], TITLES[:width], right=(1, 2, 3, 6))
    _print_readings(paper)
    for grid in paper.grids:
        click.echo(f"\n{grid.title}\n{_wrapped(caption(found.records, grid))}\n")
        titles = ["", *(grid.labels.get(column, column) for column in grid.columns)]
        print_table(lines(found.records, grid), titles, right=range(1, len(titles)))
    for group in folded(found.claims):
        if group[0].verdict is not None or not found.records.stopped:
            _print_reason(group)


def _print_readings(paper: Paper) -> None:
    """What the paper's sentences may mean, one below the other."""
    from nandlab.reproduce.reading_words import readings_table

    if paper.meanings:
        click.echo("\nHow the paper is read\n")
    for name, kind, what, chosen, others, claims in readings_table(paper):
        click.echo(_wrapped(f"{name} ({kind}): {what}. Read as {chosen}, or as {others}; decides {claims}."))


def _print_reason(group: list[Judged]) -> None:
    """The reasons behind the verdict on some claims, shared by all."""
    names = ", ".join(each.claim.id for each in group)
    click.echo(f"\n{names}: {(group[0].verdict or 'no verdict').replace('_', ' ')}")
    if len(group) == 1:
        click.echo(_wrapped(f"{group[0].claim.statement}: {group[0].why}."))
        return
    if group[0].reason:
        click.echo(_wrapped(f"{group[0].reason}."))
    for each in group:
        click.echo(_wrapped(f"{each.claim.id}, {each.claim.statement}: {each.found}."))


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="  ", break_long_words=False)


def _row(judged: Judged) -> list[str]:
    claim = judged.claim
    return [
        claim.id,
        _figure(claim.published),
        _figure(judged.measured) if judged.measured is not None else _held(judged.held),
        judged.off,
        claim.tolerance,
        judged.verdict or "no verdict",
        _figure(judged.true_units) if judged.true_units is not None else _held(judged.true_held),
        judged.true_verdict or "no verdict",
    ]


def _figure(value: float | None) -> str:
    from nandlab.reproduce.verdict import short

    return "" if value is None else short(value)


def _held(held: list[Any]) -> str:
    return "" if not held else "holds" if all(each.holds for each in held) else "does not hold"
