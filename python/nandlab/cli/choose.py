"""`nandlab choose`: the best file system for a flash."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from nandlab.cli import DONE, FAILED
from nandlab.cli.example import example
from nandlab.cli.options import (
    Pair,
    allows_code,
    jobs_option,
    json_option,
    policies_option,
    refuse_overwriting,
    report_option,
    sets_option,
)
from nandlab.cli.output import as_command, echo_wrapped, print_json, print_table, say, say_path

if TYPE_CHECKING:
    from nandlab.choosing import Advice
    from nandlab.cli.progress import Waiting
    from nandlab.running.batch import State


class Size(click.ParamType):
    """Bytes, such as 32M or 32 MiB, or 32 MB of 1,000,000."""

    name = "size"

    def convert(self, value: Any, _parameter: click.Parameter | None, _ctx: click.Context | None) -> int:  # noqa: ANN401
        """The bytes.

        >>> Size().convert("32M", None, None), Size().convert("8 MB", None, None)
        (33554432, 8000000)
        """
        if isinstance(value, int):
            return value
        from nandlab.writing.sizes import byte_count

        # A letter alone is a power of 1,024, as in mkfs and dd.
        unit = re.fullmatch(r"([\d.]+)\s*([KMGT])", value.strip(), re.IGNORECASE)
        try:
            return byte_count(f"{unit[1]} {unit[2].upper()}iB" if unit else value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None


@example("nandlab choose --flash 32M --workload phone --ram 64K")
@click.command("choose")
@click.option("--flash", type=Size(), required=True, help="Size of the flash, such as 32M.")
@click.option("--workload", required=True, help="A workload of files, such as phone.")
@click.option("--ram", type=Size(), help="RAM for tables; no limit by default.")
@click.option("--nvram", type=Size(), default=0, help="NVRAM; none by default.")
@click.option(
    "--daily", type=Size(), default="1M", show_default=True, help="File data written in a day, such as 10M."
)
@click.option("--years", type=float, default=5, show_default=True, help="How long the device must last.")
@click.option("--device", default="k9f5608", show_default=True, help="Profile of the chip, or FILE.toml.")
@click.option("--transactions", metavar="N", type=click.IntRange(min=1), help="Length of the workload.")
@sets_option
@policies_option
@report_option
@jobs_option
@json_option
def command(  # noqa: PLR0913 - one for each option
    flash: int,
    workload: str,
    ram: int | None,
    nvram: int,
    daily: int,
    years: float,
    device: str,
    transactions: int | None,
    sets: list[Pair],
    report: str | None,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Recommend a file system for a flash and a workload.

    The candidates are each file system on bare flash, and FAT over each FTL. The recommended one is the
    fastest of those that fit and last long enough. Each figure is measured; a life is not known if too few
    blocks were erased.
    """
    from nandlab.choosing import Wish, choose
    from nandlab.cli.progress import Waiting

    refuse_overwriting({"--report": report}, [])
    options = {} if transactions is None else {"transactions": transactions}
    wish = Wish(
        {_known(workload): options}, flash, device, ram, nvram, daily, years, tuple(sets), allows_code()
    )
    with Waiting() as waiting:
        advice = choose(wish, jobs, _Rounds(waiting))
    if advice is None:
        say("stopped; without all candidates there is no advice")
        return FAILED
    if as_json:
        print_json(advice.to_dict())
    else:
        _print(advice)
    if report is not None:
        from nandlab.choosing.page import write_choice

        write_choice(advice, report, as_command())
        say_path(report, as_json)
    return DONE


class _Rounds:
    """Shows the candidates' runs; candidates that need a longer run begin again, in their own round."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self._round, self._finished = 1, 0

    def __call__(self, state: State) -> None:
        self._round += state.finished < self._finished
        self._finished = state.finished
        phase = "candidates" if self._round == 1 else f"candidates, round {self._round}"
        self._waiting.update(phase, state.share(), f"{state.finished} of {state.total} done")


def _known(workload: str) -> str:
    """A file workload's name."""
    import difflib

    from nandlab.listing import lists

    known = [each["name"] for each in lists()["workloads"] if each["asks"] == "files"]
    if workload not in known:
        near = difflib.get_close_matches(workload, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise click.BadParameter(
            f"there is no workload of files {workload!r}; {hint}", param_hint="--workload"
        )
    return workload


def _print(advice: Advice) -> None:
    from nandlab.choosing.page import MEANS, SHORT, lines, refused

    heads = [title.replace(" ", "\n") for title in SHORT]
    print_table(lines(advice), heads, right=range(2, len(SHORT)))
    for heading, sentences in (
        ("", advice.why),
        ("What does not fit", refused(advice)),
        ("What the columns mean", MEANS),
    ):
        if sentences:
            click.echo(f"\n{heading}".removesuffix("\n"))
        for sentence in sentences:
            echo_wrapped(sentence)
