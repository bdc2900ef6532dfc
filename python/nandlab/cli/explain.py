"""`nandlab explain RESULT`: why a run cost so much, and the change to help."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from nandlab import reading
from nandlab.cli import DONE, FAILED
from nandlab.cli.example import example
from nandlab.cli.optimum import optimum_option
from nandlab.cli.options import RegularFile, allows_code, json_option, number_option, policies_option
from nandlab.cli.output import echo_wrapped, print_json, say

if TYPE_CHECKING:
    from nandlab.running.batch import Stage


@example("nandlab explain result.json")
@click.command("explain")
@click.argument("file", metavar="RESULT", type=RegularFile(allow_dash=True))
@click.option(
    "--less",
    type=click.Choice(["time", "erases"]),
    help="What should shrink; by default the time, if the run kept it.",
)
@number_option("--tries", click.IntRange(min=0), 4, "Changes to run at most.")
@click.option(
    "--base",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Folder where the experiment's paths start; looked for beside RESULT and here by default.",
)
@optimum_option
@policies_option
@json_option
def command(  # noqa: PLR0913 - one for each option
    file: str,
    less: Any,  # noqa: ANN401 - a Measure
    tries: int,
    base: str | None,
    optimum: bool,
    as_json: bool,
) -> int:
    """Explain why a run cost what it did, and try what would help.

    RESULT is the output of `nandlab run --json`, or `-` for standard input. The changes with the largest
    possible savings run one after the other, until none of the others could save more. The command prints
    what each change gains and loses.

    Ctrl-C stops the runs. The command then prints the finished part, with exit status 1.
    """
    from nandlab.cli.progress import Waiting
    from nandlab.explaining import explain, folder_of

    record = _record(file)
    with Waiting() as waiting:

        def show(what: str, stage: Stage | None) -> None:
            if stage is not None:
                waiting.update(f"trying {what}", stage.share, f"{stage.done:,} requests")

        found = explain(
            record,
            base=base or folder_of(record, file),
            less=less,
            tries=tries,
            name=file,
            progress=show,
            allow_code=allows_code(),
            optimum=optimum,
        )
    if as_json:
        print_json(found.to_dict())
    else:
        echo_wrapped(found.text())
    if found.stopped:
        say("stopped before every change was run that could have helped")
    return FAILED if found.stopped else DONE


def _record(path: str) -> dict[str, Any]:
    from nandlab._native import ConfigError

    if path.endswith(".toml"):
        raise ConfigError(
            f"{path} is an experiment: `nandlab run {path} --json > result.json` makes a record of it"
        )
    try:
        record = json.loads(reading.whole(path).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{path}, line {error.lineno}, column {error.colno}: this is no JSON ({error.msg.lower()}); "
            "expected what `nandlab run --json` prints"
        ) from None
    except RecursionError:
        raise ConfigError(f"{path}: tables and lists are nested too deeply") from None
    if not isinstance(record, dict):
        raise ConfigError(f"{path} is no record of a run: expected the JSON that `nandlab run --json` prints")
    return record
