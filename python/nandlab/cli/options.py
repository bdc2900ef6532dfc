"""Options and arguments shared by commands."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nandlab.reading import STANDARD_INPUT
from nandlab.running.varied import Pair, override
from nandlab.writing.new_file import check_writable

if TYPE_CHECKING:
    from nandlab.experiment import Experiment

T = TypeVar("T")


class RegularFile(click.Path):
    """An existing regular file: opening a pipe waits for its other end, and a device never ends."""

    def __init__(self, *, allow_dash: bool = False) -> None:
        super().__init__(exists=True, dir_okay=False, readable=True, allow_dash=allow_dash)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click's
        """The path.

        Raises:
            click.BadParameter: There is no such file, or it is a pipe, a socket or a device.

        """
        path = os.fsdecode(super().convert(value, param, ctx))
        if not (self.allow_dash and path == STANDARD_INPUT) and not Path(path).is_file():
            self.fail(f"{path} is no regular file", param, ctx)
        return path


class ExperimentFile(RegularFile):
    """An experiment's file, or `-`; given a trace, the error shows an experiment to replay it."""

    def __init__(self) -> None:
        super().__init__(allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click's
        """The path."""
        path = super().convert(value, param, ctx)
        if path != STANDARD_INPUT and not str(path).endswith((".toml", ".json")):
            from nandlab.cli.wrong_file import refuse_trace

            refuse_trace(str(path))
        return path


EXPERIMENT = ExperimentFile()


def _sets(_ctx: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> list[Pair]:
    return [split(text, "key=value, as in device.over_provisioning=0.28") for text in given]


def split(text: str, form: str) -> Pair:
    """A key and its value; `form` shows an example in the error."""
    key, separator, value = (part.strip() for part in text.partition("="))
    if not separator or not key:
        raise click.BadParameter(f"{text!r} is not of the form {form}")
    return key, value


def _report(_ctx: click.Context, _parameter: click.Parameter, path: str | None) -> str | None:
    if path is not None:
        writable(path)
        from nandlab.report.theme import require_vl_convert

        require_vl_convert()
    return path


def values_by_key(form: str) -> Callable[..., dict[str, str]]:
    """A callback for `KEY=VALUES` given several times: the values by key; `form` shows one in errors."""

    def read_all(_ctx: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
        found: dict[str, str] = {}
        for text in given:
            key, values = split(text, form)
            if key in found:
                raise click.BadParameter(f"{key} is given twice")
            found[key] = values
        return found

    return read_all


def written(what: str, *endings: str, also: tuple[str, ...] = ()) -> Callable[..., str | None]:
    """A callback for a file to write: `what` it is, with an ending; one in `also` is taken, but not told."""

    def check(_ctx: click.Context, _parameter: click.Parameter, path: str | None) -> str | None:
        if path is not None:
            writable(path)
            if endings and not path.endswith(endings + also):
                *others, last = endings
                listed = f"{', '.join(others)} or {last}" if others else last
                raise click.BadParameter(f"{path}: {what} is a {listed} file")
            if path.endswith(".parquet"):
                from nandlab.writing.parquet import require_polars

                require_polars()
        return path

    return check


def folder_for_pictures(ctx: click.Context, parameter: click.Parameter, folder: str | None) -> str | None:
    """As `folder_for_files`, and refuses one without the packages that draw."""
    if folder is not None:
        from nandlab.report.theme import require_vl_convert

        require_vl_convert()
    return folder_for_files(ctx, parameter, folder)


def folder_for_files(_ctx: click.Context, _parameter: click.Parameter, folder: str | None) -> str | None:
    """Refuses a folder into which nothing can be written, before any work is done."""
    if folder is not None:
        from nandlab.report.plots import check_folder

        try:
            check_folder(folder)
        except OSError as error:
            raise click.BadParameter(str(error)) from None
    return folder


def writable(path: str) -> None:
    """Refuses an unwritable path, before any work is done."""
    try:
        check_writable(path)
    except OSError as error:
        raise click.BadParameter(str(error)) from None


def refuse_overwriting(outputs: Mapping[str, str | None], inputs: Iterable[Path]) -> None:
    """Refuses an output that is also an input or another output, and a report that is no page."""
    taken = {Path(path).resolve(): "what this run reads" for path in inputs}
    for option, path in outputs.items():
        if path is None:
            continue
        real = Path(path).resolve()
        if real in taken:
            raise click.UsageError(f"{option} {path} would overwrite {taken[real]}")
        taken[real] = f"the file of {option}"
    report = outputs.get("--report")
    if report is not None and Path(report).suffix not in ("", ".html", ".htm"):
        raise click.UsageError(f"--report {report}: a report is a .html file")


sets_option = click.option(
    "--set",
    "sets",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_sets,
    help="Change a key, as in ftl.page.victim=greedy. buffer=none leaves a table out. Repeatable.",
)


ALLOWED = "nandlab.policies"
"""Where a command keeps whether policies in Python may run."""


def _allow(ctx: click.Context, _parameter: click.Parameter, allowed: bool) -> bool:
    ctx.meta[ALLOWED] = allowed
    return allowed


policies_option = click.option(
    "--policies",
    is_flag=True,
    expose_value=False,
    callback=_allow,
    help="Allow Python policies and C firmware in the experiment. Without it they are refused.",
)


def allows_code() -> bool:
    """Whether the command was given `--policies`."""
    return bool(click.get_current_context().meta.get(ALLOWED, False))


def read(file: str, sets: Sequence[Pair]) -> Experiment:
    """The experiment in a file with its overrides; `--policies` allows its policies in Python."""
    from nandlab.experiment import Experiment

    return Experiment.from_toml(file, [override(pair, file) for pair in sets], allow_code=allows_code())


def state_option(command: Callable[..., T]) -> Callable[..., T]:
    """Adds `--from-state`, another name for an override, to a command with `sets_option`."""

    @functools.wraps(command)
    def with_state(*given: Any, sets: list[Pair], from_state: str | None, **options: Any) -> T:  # noqa: ANN401
        if from_state is None:
            return command(*given, sets=sets, **options)
        from nandlab._native import ConfigError

        try:
            return command(*given, sets=[*sets, ("precondition.from_state", from_state)], **options)
        except ConfigError as error:
            # The message names the state as the user gave it; the override starts from the experiment's
            # folder.
            override = rf"--set precondition\.from_state=.*?{re.escape(Path(from_state).name)}: "
            words = re.sub(override, lambda _: f"--from-state {from_state}: ", str(error), count=1)
            renamed = ConfigError(words)
            vars(renamed).update(vars(error))
            raise renamed from None

    return click.option(
        "--from-state",
        metavar="FILE",
        help="Begin with a device from `run --save-state`.",
    )(with_state)


def together(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Several options as one decorator; help lists them in this order."""

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


change_options = together(sets_option, policies_option, state_option)
"""What changes an experiment from a file."""


def jobs_option_of(at_once: str) -> Callable[..., Any]:
    """The option `--jobs`; `at_once` bounds how many runs there are at once."""
    return click.option(
        "--jobs",
        metavar="N",
        type=click.IntRange(min=1),
        help=f"Runs at once{at_once}; default: one for each processor.",
    )


def number_option(
    names: str, kind: click.IntRange | click.FloatRange, default: float, told: str
) -> Callable[..., Any]:
    """An option for a number, with spaces between its names; help shows its default."""
    return click.option(*names.split(), metavar="N", type=kind, default=default, show_default=True, help=told)


def choice_option(name: str, choices: Sequence[str], told: str) -> Callable[..., Any]:
    """An option for one of some words; the first is the default, which help shows."""
    kind = click.Choice(choices)
    return click.option(name, type=kind, default=choices[0], show_default=True, help=told)


seed_option = number_option("--seed", click.IntRange(0, 2**32 - 1), 1, "Seed of the search.")
jobs_option = jobs_option_of("")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document, not a table.")


def report_option_of(default: str | None) -> Callable[..., Any]:
    """The option `--report`, with a file name for a command that always writes one."""
    return click.option(
        "--report",
        metavar="FILE.html",
        callback=_report,
        default=default,
        show_default=default is not None,
        help="Write a self-contained HTML report.",
    )


report_option = report_option_of(None)


def experiment_argument(**settings: Any) -> Callable[..., Any]:  # noqa: ANN401 - as click's
    """A command's argument FILE."""
    return click.argument("file", metavar="FILE", type=EXPERIMENT, **settings)
