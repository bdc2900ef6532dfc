"""A proof's report: what was proved, on what chip, and each finding with the command that replays it."""

from __future__ import annotations

import os
import shlex
from typing import Any

from nandlab.report import html
from nandlab.writing.new_file import write_page

MEANING = {
    "lost": "synced data is gone or older than its sync",
    "garbage": "data that nobody wrote, or a name that nobody made",
    "unreadable": "data cannot be read",
    "mount": "the mount failed",
    "refused": "a write, a trim or a sync failed",
    "rule": "the firmware broke a rule of the chip",
    "crash": "the firmware crashed, or ended its process",
    "hang": "the firmware did not come back",
}
"""The kinds of findings."""

NOT_PROVED = (
    "Scripts are drawn, and each is cut at every operation: a firmware without findings passed these cases, "
    "and no others. A call is never interrupted by another call."
)


def write_report(
    report: dict[str, Any],
    request: dict[str, Any],
    chip: list[str],
    path: str | os.PathLike[str],
    command: str,
) -> None:
    """Writes the report of a proof.

    Args:
        report: The prover's report.
        request: Its request, with the chip and the forms.
        chip: The command's options for the chip.
        path: The page.
        command: The command line of this proof.

    Raises:
        OSError: With a sentence; an older file at `path` is then as it was.

    """
    write_page(path, proof_page(report, request, chip, command))


def proof_page(report: dict[str, Any], request: dict[str, Any], chip: list[str], command: str) -> str:
    """The page as text; `chip` has the command's options for it."""
    findings = report["findings"]
    fields = [[name, f"{value:,}"] for name, value in request["device"].items()]
    kind = "files" if report["files"] else "sectors"
    return html.page(
        f"{report['name']}: {_count(len(findings), 'finding')}",
        f"A firmware with {kind}, its power cut at every flash operation.",
        [
            html.conclusions(_conclusions(report)),
            html.section("What was run", _tiles(report, request)),
            html.section("Findings", *(_finding(found, request, chip) for found in findings)),
            html.section(
                "The chip",
                html.table(["field of nl_config", "value"], fields, right=[1]),
                note="Other fields have their defaults.",
            ),
            html.section("What this does not prove", html.paragraph(NOT_PROVED)),
            html.section("Make it again", html.code(command)),
        ],
    )


def _count(number: int, noun: str) -> str:
    """A count with its noun.

    >>> _count(1, "case"), _count(2000, "case")
    ('1 case', '2,000 cases')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _conclusions(report: dict[str, Any]) -> list[str]:
    if not report["findings"]:
        cases = _count(report["cases"], "power cut")
        return [f"Every mount, comparison and later write was right after {cases}."]
    return [f"`{found['kind']}`: {found['sentence']}." for found in report["findings"]]


def _tiles(report: dict[str, Any], request: dict[str, Any]) -> str:
    rate = report["cases"] / max(report["seconds"], 1e-9)
    cuts = "two cuts in a row" if request["depth"] > 1 else "one cut each"
    return html.tiles(
        [
            ("cases", f"{report['cases']:,}", f"{cuts}; {rate:,.0f} a second"),
            (
                "scripts",
                f"{report['scripts']:,}",
                "given" if request["script"] else f"drawn from seed {request['seed']}",
            ),
            ("forms of a cut", ", ".join(request["forms"]) or "all", "that apply to the operation"),
            ("faults", "yes" if request["faults"] else "no", "bad blocks, failing programs and erases"),
        ]
    )


def _finding(found: dict[str, Any], request: dict[str, Any], chip: list[str]) -> str:
    rows = [
        ["what happened", found["sentence"]],
        ["meaning", MEANING[found["kind"]]],
        ["steps", str(found["steps"])],
        ["scripts with this kind", str(found["scripts"])],
    ]
    replay = shlex.join(["nandlab", "prove", request["firmware"], *chip, "--replay", found["replay"]])
    return html.titled(found["kind"], html.table([], rows) + html.code(replay))
