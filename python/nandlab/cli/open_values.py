"""`nandlab reproduce PAPER --search`: a search over the paper's open values."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nandlab.cli import DONE, FAILED
from nandlab.cli.options import refuse_overwriting, written
from nandlab.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from nandlab.reproduce import Paper
    from nandlab.reproduce.search_found import Found
    from nandlab.running.batch import State

T = TypeVar("T")
BEST = 5
"""Most joint points to show."""
MOST = 20
"""Most mutually exclusive claim sets to show; JSON has all."""


@dataclass(frozen=True)
class Searches:
    """The values for a search's options."""

    points: int | None
    seed: int | None
    write: str | None

    def run(self, name: str | None, seeds: int | None, jobs: int | None, as_json: bool) -> int:
        """Runs the search, and prints its findings."""
        from nandlab.cli.progress import Waiting
        from nandlab.reproduce import load, search
        from nandlab.reproduce.search_file import csv_text
        from nandlab.writing.new_file import write_whole

        if name is None:
            raise click.UsageError("--search takes one paper: name it")
        refuse_overwriting({"--write": self.write}, [Path(name)] if name.endswith(".toml") else [])
        paper = self._asked(load(name), seeds)
        with Waiting() as waiting:

            def show(state: State) -> None:
                runs = f"{state.finished:,} of {state.total:,} runs"
                waiting.update(f"searching {paper.name}", state.share(), runs)

            found = search(paper, jobs=jobs, progress=show)
        if as_json:
            from nandlab.reproduce.search_words import search_document

            print_json(search_document(paper, found))
        else:
            _print(paper, found)
        for why in found.failed:
            say(f"{paper.name}: {why}")
        if found.stopped:
            unwritten = f"; {self.write} was not written" if self.write is not None else ""
            say(f"stopped; points of which a run is missing were not judged{unwritten}")
            return FAILED
        if self.write is not None:
            write_whole(self.write, csv_text(paper, found).encode())
            click.echo(f"search: {self.write}", err=as_json)
        return DONE

    def _asked(self, paper: Paper, seeds: int | None) -> Paper:
        asked = {"points": self.points, "seed": self.seed, "seeds": seeds}
        given: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
        return replace(paper, search=replace(paper.search, **given))


def refuse_with_search(options: Mapping[str, object]) -> None:
    """Refuses given options with no meaning for a search."""
    for option, value in options.items():
        if value:
            raise click.UsageError(f"{option} does not go with --search")


def search_options(command: Callable[..., T]) -> Callable[..., T]:
    """Adds `--search` and its options to a command; it receives `searches`."""

    @functools.wraps(command)
    def with_search(  # noqa: PLR0913 - one for each option
        *given: Any,  # noqa: ANN401
        is_search: bool,
        points: int | None,
        seed: int | None,
        write: str | None,
        **options: Any,  # noqa: ANN401
    ) -> T:
        for option, value in {"--points": points, "--seed": seed, "--write": write}.items():
            if value is not None and not is_search:
                raise click.UsageError(f"{option} goes with --search alone")
        return command(*given, searches=Searches(points, seed, write) if is_search else None, **options)

    for option in (
        click.option(
            "--write",
            metavar="FILE.csv",
            callback=written("a search", ".csv"),
            help="With --search: write every point.",
        ),
        click.option(
            "--seed", metavar="N", type=click.IntRange(min=1), help="With --search: the seed of the draws."
        ),
        click.option(
            "--points",
            metavar="N",
            type=click.IntRange(1, 1_000_000),
            help="With --search: points in which all values vary.",
        ),
        click.option(
            "--search",
            "is_search",
            is_flag=True,
            help="Vary what the paper leaves open, one value alone and all at once, and judge the claims.",
        ),
    ):
        with_search = option(with_search)
    return with_search


def _print(paper: Paper, found: Found) -> None:
    from nandlab.reproduce.search_words import points_in_words

    click.echo(f"{paper.title}\n{paper.source}\n")
    click.echo("What the paper leaves open, and what this file chose:\n")
    lines = [[each.name, each.text(each.chosen), _others(each), each.what] for each in paper.opens]
    print_table(lines, ("name", "chosen", "tried", "what"))
    if paper.meanings:
        click.echo("\nWhat the paper's sentences may mean, and how this file reads them:\n")
        lines = [
            [each.name, each.kind, each.text(each.chosen), _others(each), each.what]
            for each in paper.meanings
        ]
        print_table(lines, ("name", "kind", "read as", "or as", "what"))
    if found.chosen is None:
        return
    each = "1 seed" if found.seeds == 1 else f"{found.seeds} seeds"
    click.echo(f"\n{points_in_words(paper, found)}; each with {each}.\n")
    _print_claims(paper, found)
    _print_flips(paper, found)
    _print_best(paper, found)
    _print_exclusions(paper, found)


def _others(each: Any) -> str:  # noqa: ANN401 - an Open
    others = ("" if each.is_searched else "not searched: ") + ", ".join(map(each.text, each.alone))
    if each.range is None:
        return others
    scale = ", logarithmic" if each.range.is_log else ""
    unit = f" {each.unit}" if each.unit else ""
    return f"{others}; {each.range.low:g} to {each.range.high:g}{unit}{scale}"


def _print_claims(paper: Paper, found: Found) -> None:
    from nandlab.reproduce.search_words import flips, met_by
    from nandlab.reproduce.verdict import short

    assert found.chosen is not None
    flipped = {flip.claim for flip in flips(paper, found)}
    joint = len(found.of_kind("joint"))
    lines = []
    for claim in paper.searched_claims:
        one = found.chosen.seen[claim.id]
        is_number = claim.published is not None
        figures = [
            "" if value is None or not is_number else short(value)
            for value in (claim.published, one.measured)
        ]
        marks = ["fitted" if claim.fitted else "", "flips" if claim.id in flipped else ""]
        met = f"{met_by(found, claim.id):,} of {joint:,}"
        lines.append([claim.id, *figures, one.word.replace("_", " "), *marks, met])
    titles = (
        "claim",
        "published",
        "as chosen",
        "verdict",
        "in the file",
        "alone",
        "joint points that meet it",
    )
    print_table(lines, titles, right=(1, 2, 6))


def _print_flips(paper: Paper, found: Found) -> None:
    from nandlab.reproduce.search_words import flips, gains, unflipped, unmarked
    from nandlab.reproduce.verdict import short

    published = {claim.id: claim.published for claim in paper.claims}
    for words, changes in (
        ("Values that, changed alone, make a claim differ", flips(paper, found)),
        ("Values that, changed alone, make a claim come out", gains(paper, found)),
    ):
        if not changes:
            click.echo(f"\n{words}: none")
            continue
        click.echo(f"\n{words}:\n")
        lines = []
        for one in changes:
            is_number = published[one.claim] is not None and one.measured is not None
            figure = short(one.measured) if is_number and one.measured is not None else ""
            lines.append([f"{one.name} = {one.value}", one.claim, figure])
        print_table(lines, ("value", "claim", "measured"), right=(2,))
    for words, names in (
        ("Not fitted in the file, though a value changed alone flips them", unmarked(paper, found)),
        ("Fitted in the file, though no listed value alone flips them", unflipped(paper, found)),
    ):
        if names:
            click.echo("\n" + textwrap.fill(f"{words}: {', '.join(names)}.", 100, break_long_words=False))


def _print_best(paper: Paper, found: Found) -> None:
    from nandlab.reproduce.search_words import best, meets, values_in_words

    assert found.chosen is not None
    count = len(found.chosen.seen)
    click.echo(
        f"\nThe chosen values meet {meets(found.chosen)} of {count} claims. "
        "Points with other values that meet the most:"
    )
    for row in best(paper, found, BEST):
        lacking = [name for name, one in row.seen.items() if not one.is_met]
        without = f"; without {', '.join(lacking)}" if lacking else ""
        click.echo(_wrapped(f"{meets(row)} of {count}: {values_in_words(paper, row)}{without}"))


def _print_exclusions(paper: Paper, found: Found) -> None:
    from nandlab.reproduce.search_words import excluded_in_words, exclusions

    never = [
        claim.id
        for claim in paper.searched_claims
        if not any(row.seen[claim.id].is_met for row in found.rows)
    ]
    click.echo(f"\nClaims that no point meets: {', '.join(never) or 'none'}")
    sets = exclusions(paper, found)
    if not sets:
        click.echo("Claims that exclude each other: none")
        return
    click.echo(
        "Claims that exclude each other (some point meets each, none all of them), and the point\n"
        "that is nearest to all, by the claim that is farthest off, in half-widths of its tolerance:"
    )
    for names in sets[:MOST]:
        click.echo(_wrapped(excluded_in_words(paper, found, names)))
    if len(sets) > MOST:
        click.echo(f"  and {len(sets) - MOST:,} more sets: --json has them")


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    ", break_long_words=False)
