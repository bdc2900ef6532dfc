"""What commands print on a terminal, and what a short command loads."""

import contextlib
import io
import os
import pty
import re
import subprocess
import sys

import pytest
import rich.box
import rich.console
import rich.table

from nandlab.cli.output import lines


def on_a_terminal(*arguments, columns):
    """What Python with these arguments prints on a terminal of so many columns."""
    master, slave = pty.openpty()
    command = [sys.executable, *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "dumb"}
    with subprocess.Popen(command, stdout=slave, stderr=subprocess.DEVNULL, env=environment):
        os.close(slave)
        printed = b""
        # The other side of a terminal that was closed gives an error on Linux.
        with contextlib.suppress(OSError):
            while chunk := os.read(master, 4096):
                printed += chunk
    os.close(master)
    return printed.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 120])
def test_columns_stand_apart_on_every_terminal(small, columns):
    printed = on_a_terminal("-m", "nandlab", "run", small, columns=columns)
    assert re.search(r"^requests +20,000  20,000 writes *$", printed, re.MULTILINE), printed
    assert max(map(len, printed.splitlines()[1:])) <= columns
    printed = on_a_terminal("-m", "nandlab", "compare", small, "--vary", "seed=1,2", columns=columns)
    assert re.search(r"^1 +\d\.\d{3} +[\d,]+ ", printed, re.MULTILINE), printed


HEAVY = {"vl_convert", "altair", "great_tables", "polars", "rich", "asyncio", "nandlab.report"}
AIDS = {
    "dataclasses",
    "decimal",
    "difflib",
    "hashlib",
    "random",
    "shutil",
    "subprocess",
    "tempfile",
    "textwrap",
}


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["list", "ftls", "--json"], HEAVY | {"nandlab.experiment"}),
        (["run"], HEAVY | AIDS | {"nandlab.experiment.tables"}),
        (["run", "--json"], HEAVY | AIDS | {"nandlab.experiment.tables", "nandlab.figures"}),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("terminal", [False, True])
def test_a_short_command_loads_nothing_heavy(small, arguments, unwanted, terminal):
    """`list` must answer in 0.4 s; a clock would fail on busy machines, so what is loaded is checked."""
    arguments = [*arguments, str(small)] if arguments[0] == "run" else arguments
    code = (
        "import sys\nfrom nandlab.cli import group\n"
        f"group.main({arguments!r}, standalone_mode=False)\n"
        "print(*sys.modules)"
    )
    if terminal:
        printed = on_a_terminal("-c", code, columns=120)
    else:
        command = [sys.executable, "-c", code]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    loaded = printed.splitlines()[-1].split()
    assert "nandlab._native" in loaded
    assert unwanted & set(loaded) == set()


@pytest.mark.parametrize("titles", [(), ("name", "of two\nlines", "\u65e5\u672c")])
@pytest.mark.parametrize("width", [1000, 31, 24])
def test_a_table_stands_as_rich_sets_it(titles, width):
    """Another program's tables: the same columns and gaps, for letters of every width."""
    rows = [
        ["a", "1,234", "x  y"],
        ["511 \u00b5s", "two\nlines", ""],
        ["\u65e5\u672c", ""],
        ["e\u0301", " ", "\u2014"],
    ]
    table = rich.table.Table(
        box=rich.box.SIMPLE_HEAD if titles else None,
        show_header=bool(titles),
        show_edge=False,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for at in range(3):
        table.add_column(
            titles[at] if titles else "", justify="right" if at == 1 else "left", no_wrap=at == 1
        )
    for row in rows:
        table.add_row(*row)
    console = rich.console.Console(file=io.StringIO(), width=width, highlight=False)
    console.print(table)
    expected = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert lines(rows, titles, [1], width=width) == expected


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_no_number_and_no_name_is_cut_on_a_terminal(small, columns):
    """What is printed on a terminal holds every cell of what is printed into a pipe, whole."""
    command = [sys.executable, "-m", "nandlab", "compare", str(small), "--vary", "ftl=page,fast,block"]
    command += ["--vary", "device.over_provisioning=0.25,0.5", "--seeds", "2"]
    piped = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    lines = on_a_terminal(*command[1:], columns=columns).splitlines()
    end = next(at for at, line in enumerate(lines) if line.startswith("Times are simulated"))
    assert all(len(line) <= columns for line in lines[:end])
    table = piped[: piped.index("\n\n")] if "\n\n" in piped else piped
    words = set(re.findall(r"[0-9][0-9.,]*", table))
    assert words
    missing = {word for word in words if not any(word in line for line in lines)}
    assert missing == set()
    assert all(any(name in line for line in lines) for name in ("page", "fast", "block"))
