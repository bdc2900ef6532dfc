"""Runs the program `nandlab-prove`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "lib"
"""`nandlab-prove`, `libnandlab` and `include/nandlab.h`, put here by the build."""

Findings = dict[str, Any]
"""The prover's report: `name`, `files`, `scripts`, `cases`, `seconds`, `findings`."""

WRONG_INPUT = 2


def prove(request: dict[str, Any], progress: Callable[[str], None] | None = None) -> Findings:
    """The report for a request in the words of `nandlab::prove::Request`.

    Args:
        request: `firmware` is its shared object; the other keys have defaults.
        progress: Called with a line after each script.

    Raises:
        ValueError: The request, with the prover's sentence.
        OSError: The prover is not there, or it ended without a report.

    """
    program = FOLDER / "nandlab-prove"
    words = {"library": str(FOLDER / "libnandlab.so"), **request}
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(json.dumps(words))
        running.stdin.close()
        last = ""
        for line in running.stderr:
            last = line.strip()
            if progress is not None and last.startswith("script "):
                progress(last)
        text = running.stdout.read()
    if running.returncode == WRONG_INPUT:
        raise ValueError(last.removeprefix("error "))
    if not text:
        raise OSError(f"nandlab-prove ended with the status {running.returncode}: {last}")
    report: Findings = json.loads(text)
    return report
