"""A finding's case as a program in C, which needs the firmware and `libnandlab` alone."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

HEADERS = ("dlfcn.h", "inttypes.h", "setjmp.h", "stdarg.h", "stdio.h", "stdlib.h", "string.h")


def program_of(report: dict[str, Any], finding: dict[str, Any], firmware: str, chip: dict[str, Any]) -> str:
    """The program's text.

    Args:
        report: The prover's report.
        finding: One of its findings.
        firmware: The shared object's path.
        chip: The chip in the numbers of `nl_config`; the others have their defaults.

    """
    kind = "files" if report["files"] else "block"
    parts = [_data(report, finding, firmware, chip)]
    parts += [_part("common"), _part(kind), _part("main")]
    return "".join(parts)


def _part(name: str) -> str:
    return resources.files("nandlab.firmware.case").joinpath(f"{name}.c").read_text(encoding="utf-8")


def _data(report: dict[str, Any], finding: dict[str, Any], firmware: str, chip: dict[str, Any]) -> str:
    steps, faults, cuts = _words(finding["replay"])
    head = [
        f"/* A case of {_comment(report['name'])}: {finding['kind']}, {_comment(finding['sentence'])}",
        " *",
        f" * {_comment(finding['replay'])}",
        " *",
        " * Build:  cc -g -o case case.c $(nandlab firmware) -ldl",
        " * Run:    ./case [FIRMWARE]; the status is 1 with a finding, 0 without, 2 if the case cannot run",
        " *",
        " * The program plays the script, loses power, and loads the firmware anew. Then it mounts, compares",
        " * with a plain model, writes a whole device, and mounts and compares again. */",
        '#include "nandlab.h"',
        *(f"#include <{name}>" for name in HEADERS),
        "",
        f"#define FIRMWARE {_text(str(Path(firmware).resolve()))}",
        "",
        "static void set_chip(nl_config *config)",
        "{",
        *(f"    config->{name} = {value!r};" for name, value in chip.items()),
        "}",
        "",
        "static const struct step {",
        "    const char *what, *path, *to;",
        "    uint32_t number;",
        "} steps[] = {",
        *(
            f"    {{{_text(what)}, {_text(path)}, {_text(to)}, {number}}},"
            for what, path, to, number in steps
        ),
        "    {NULL, NULL, NULL, 0},",
        "};",
        "",
        "static const struct fault {",
        "    const char *what;",
        "    uint64_t number;",
        "} faults[] = {",
        *(f"    {{{_text(what)}, {number}}}," for what, number in faults),
        "    {NULL, 0},",
        "};",
        "",
        "/* The first cut counts from the start, each further one from the cut before. */",
        "static const struct cut {",
        "    uint64_t nth;",
        "    const char *form;",
        "} cuts[] = {",
        *(f"    {{{nth}, {_text(form)}}}," for nth, form in cuts),
        "    {0, NULL},",
        "};",
    ]
    return "\n".join(head) + "\n"


Steps = list[tuple[str, str, str, int]]


def _words(replay: str) -> tuple[Steps, list[tuple[str, int]], list[tuple[int, str]]]:
    """The steps, the faults and the cuts in a replay text.

    >>> _words("bad:3 w7 put:d/a:20 move:a:d/b s cut:9:torn_page")[0]
    [('w', '', '', 7), ('put', 'd/a', '', 20), ('move', 'a', 'd/b', 0), ('s', '', '', 0)]
    >>> _words("bad:3 w7 cut:9:torn_page")[1:]
    ([('bad', 3)], [(9, 'torn_page')])
    """
    steps: Steps = []
    faults, cuts = [], []
    for word in replay.split():
        what, *rest = word.split(":")
        if what == "cut":
            cuts.append((int(rest[0]), rest[1]))
        elif what in ("bad", "fail_program", "fail_erase"):
            faults.append((what, int(rest[0])))
        elif what == "move":
            steps.append((what, rest[0], rest[1], 0))
        elif rest:
            steps.append((what, rest[0], "", int(rest[1]) if len(rest) > 1 else 0))
        else:
            steps.append((what[0], "", "", int(what[1:] or 0)))
    return steps, faults, cuts


def _text(text: str) -> str:
    r"""A C string; quotes and bytes beyond ASCII in octal, which ends after three digits.

    >>> print(_text('a"b'), _text("é"))
    "a\042b" "\303\251"
    """
    plain = (
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in text.encode()
    )
    return f'"{"".join(plain)}"'


def _comment(text: str) -> str:
    """Words for a comment, which they cannot end."""
    return (
        "".join(letter if letter.isprintable() else " " for letter in text)
        .replace("*/", "* /")
        .replace("/*", "/ *")
    )
