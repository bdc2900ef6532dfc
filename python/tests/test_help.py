"""`--help` of every command begins with an example that works, and fits one screen."""

import shlex
from collections.abc import Iterator

import click
import pytest

from nandlab.cli import group

COLUMNS, LINES = 80, 50


def commands(
    command: click.Command = group, words: tuple[str, ...] = ("nandlab",), above: click.Context | None = None
) -> Iterator[click.Context]:
    """The command and all below it, each with its context."""
    context = click.Context(command, info_name=words[-1], parent=above, terminal_width=COLUMNS)
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*words, name), context)


ALL = list(commands())
GROUPS = [each for each in ALL if isinstance(each.command, click.Group)]


def by_path(context):
    return context.command_path


def found(words):
    """The command that a line runs, and its arguments."""
    command, context = group, click.Context(group, info_name="nandlab")
    while words and isinstance(command, click.Group):
        below = command.get_command(context, words[0])
        assert below is not None, words[0]
        command, context, words = below, click.Context(below, info_name=words[0], parent=context), words[1:]
    return context, words


def example_of(context):
    """The command behind `Example:`, which comes right after the usage."""
    first = context.get_help().split("\n\n")[1].strip()
    assert first.startswith("Example: nandlab "), first
    return " ".join(first.removeprefix("Example: ").replace("\\\n", "").split())


def test_there_are_all_commands():
    assert len(ALL) >= 34


@pytest.mark.parametrize("context", ALL, ids=by_path)
def test_a_help_begins_with_an_example_of_the_command(context):
    example = example_of(context)
    assert example.startswith(context.command_path.split()[0])
    if isinstance(context.command, click.Group):
        assert found(shlex.split(example)[1:])[0].command is not context.command
    else:
        assert example.startswith(context.command_path)


@pytest.mark.parametrize("context", ALL, ids=by_path)
def test_the_command_takes_its_example(context):
    own, words = found(shlex.split(example_of(context))[1:])
    given, left, _ = own.command.make_parser(own).parse_args(words)
    needed = [each.name for each in own.command.get_params(own) if each.required]
    assert not left
    assert [name for name in needed if not given.get(name)] == []


@pytest.mark.parametrize("context", ALL, ids=by_path)
def test_a_help_fits_one_screen(context):
    lines = context.get_help().splitlines()
    assert len(lines) <= LINES
    assert [line for line in lines if len(line) > COLUMNS] == []
    options = [each for each in context.command.params if isinstance(each, click.Option)]
    assert [each.name for each in options if not each.help] == []


@pytest.mark.parametrize("context", GROUPS, ids=by_path)
def test_a_list_of_commands_has_a_whole_line_for_each(context):
    """Neither cut off nor wrapped."""
    listed = context.get_help().partition("Commands:\n")[2].splitlines()
    assert len(listed) == len(context.command.list_commands(context))
    assert not any(line.endswith("...") for line in listed)
