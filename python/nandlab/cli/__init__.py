"""The command `nandlab`.

docs/outputs.md lists how a command ends. Results go to stdout, as a table or with `--json` as one JSON
document; progress and errors go to stderr.
"""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO

import click

from nandlab.cli import background
from nandlab.cli.example import example
from nandlab.writing.visible import Visible

COMMANDS = (
    "run",
    "compare",
    "fairness",
    "sweep",
    "search",
    "explain",
    "reproduce",
    "calibrate",
    "choose",
    "disk",
    "mount",
    "prove",
    "firmware",
    "trace",
    "profile",
    "list",
    "import",
    "check",
    "examples",
    "demo",
    "bench",
)
MODULES = {"import": "importing"}
"""Modules that cannot have their command's name, since it is a word of Python."""


DONE, FAILED, WRONG_INPUT = 0, 1, 2
INTERRUPTED = 130
"""Ctrl-C ended the command under `disk try`: a shell gives the same status."""


class Commands(click.Group):
    """The commands, each imported when it is used: start-up stays short."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in help text order."""
        # The module of the command `list` hides the name of the type here.
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command by its name."""
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(f"nandlab.cli.{MODULES.get(cmd_name, cmd_name)}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name if there is no such command."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from nandlab import __version__

        click.echo(f"nandlab {__version__}")
        ctx.exit()


@example("nandlab run experiment.toml --report report.html")
@click.command(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def group() -> None:
    """Run workloads on flash designs, and measure what they cost.

    `nandlab COMMAND --help` explains a command.
    """


def main(stop: Callable[[int, FrameType | None], NoReturn] | None = None) -> NoReturn:
    """Runs the command line and ends the process.

    Args:
        stop: The handler for Ctrl-C before and after a command, if it has one.

    """
    # A shell may have closed them (`>&-`); they stay open as long as the process.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stdout, sys.stderr = _visible(sys.stdout), _visible(sys.stderr)
    try:
        status = _guarded(sys.argv[1:], stop)
    except KeyboardInterrupt:
        # One more Ctrl-C, while the one before was being answered.
        status = FAILED
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    background.remove_unfinished()
    # Stopping threads in the compiled module must not hold up the end.
    _flush_quietly()
    os._exit(status)


def _visible(stream: TextIO) -> TextIO:
    """The stream for text in which names from files may stand."""
    return Visible(stream) if isinstance(stream, io.TextIOWrapper) else stream


def _guarded(arguments: list[str], stop: Callable[[int, FrameType | None], NoReturn] | None) -> int:
    """A command's exit status; whatever happens, its error is a sentence."""
    try:
        # Batch systems send SIGTERM: it ends a run as Ctrl-C does, with a partial result.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if stop is not None and signal.getsignal(signal.SIGINT) is stop:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        status = group.main(arguments, prog_name="nandlab", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return WRONG_INPUT
    except click.ClickException as error:
        click.echo(f"error: {_sentence(error)}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("stopped", err=True)
        return FAILED
    except BrokenPipeError:
        return FAILED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except BaseException as error:  # noqa: BLE001 - a traceback must never reach a user
        return _failed(error)
    return status if isinstance(status, int) else DONE


def _sentence(error: click.ClickException) -> str:
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return error.format_message()
    if (
        isinstance(error, click.BadParameter)
        and not isinstance(error, click.MissingParameter)
        and error.param
    ):
        is_argument = isinstance(error.param, click.Argument)
        named = (error.param.metavar or str(error.param.name).upper()) if is_argument else error.param.opts[0]
        return f"{named}: {error.message}"
    said = error.format_message().rstrip(".")
    # Click ends a hint with a question mark and a full stop.
    end = "" if said.endswith("?") else "."
    return f"{said}{end} `{error.ctx.command_path} --help` shows what it takes."


def _failed(error: BaseException) -> int:
    try:
        from nandlab._native import NandlabError
    except ImportError:
        click.echo(
            f"error: the compiled part of nandlab cannot be loaded ({error}); build it with `make`", err=True
        )
        return FAILED
    if isinstance(error, NandlabError):
        from nandlab.running.varied import as_typed

        if error.__cause__ is not None:
            import traceback

            # A policy in Python failed: its author looks for the line.
            traceback.print_exception(error.__cause__)
        click.echo(f"error: {as_typed(str(error))}", err=True)
        return status_of(error)
    if isinstance(error, OSError):
        # nandlab's own sentences have no errno, and a nameless system error is about the output.
        where = f"{error.filename}: " if error.filename else "stdout: " if error.errno else ""
        click.echo(f"error: {where}{(error.strerror or str(error))}", err=True)
        return FAILED
    if os.environ.get("NANDLAB_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    click.echo(
        f"internal error: {type(error).__name__}: {error}. This is a bug of nandlab, please report it; "
        "with NANDLAB_TRACEBACK=1 it says where.",
        err=True,
    )
    return FAILED


def status_of(error: BaseException) -> int:
    """The exit status for an error in a run or its input."""
    from nandlab._native import ConfigError, TraceError

    return WRONG_INPUT if isinstance(error, ConfigError | TraceError) else FAILED


def _flush_quietly() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # The reader is gone, or the disk is full and an error has said so.
            continue
