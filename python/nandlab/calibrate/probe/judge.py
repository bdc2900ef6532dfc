"""Draws drives, runs the probe's jobs on them, and compares true and found numbers.

`python -m nandlab.calibrate.probe.judge --seed 7` draws five drives. The probe sees only the files that the
simulated jobs wrote. The exit status is 1 if a judged number is unknown, or off by more than 5 %.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nandlab.calibrate.probe.drawn import draw
from nandlab.calibrate.probe.found import Found, probe
from nandlab.calibrate.probe.jobs import write_jobs
from nandlab.calibrate.probe.model import Drive
from nandlab.calibrate.probe.quantity import Quantity
from nandlab.calibrate.probe.simulated import simulate

VAGUE = ("program time", "write buffer")
"""Numbers with only an interval if flushes are answered at once and dies program several pages at once."""
MOST = 0.05
"""Largest relative error of a judged number."""
JUDGED = ("read time", "program time", "channel rate", "write buffer", "over-provisioning")
EXACT = ("page size", "dies", "channels", "pages at once")
"""Counts, which must be right."""
HIDDEN = ("program time", "pages at once", "write buffer", "over-provisioning")
"""Numbers that may be unknown on a drive that answers flushes at once."""


@dataclass(frozen=True)
class Verdict:
    """A true number beside a found one."""

    drive: int
    true: float
    found: Quantity
    is_protected: bool = False
    is_vague: bool = False
    """Whether only the interval must hold the true number."""

    @property
    def error(self) -> float | None:
        """Found over true, less 1."""
        return None if self.found.value is None else self.found.value / self.true - 1

    @property
    def passes(self) -> bool:
        """Whether it is known and near enough; numbers that are not judged pass."""
        name = self.found.name
        if self.found.value is None and self.is_protected and name in HIDDEN:
            return True
        if self.is_vague and self.found.low is not None and self.found.high is not None:
            return self.found.low <= self.true <= self.found.high
        most = 0.0 if name in EXACT else MOST if name in JUDGED else float("inf")
        return most == float("inf") or (self.error is not None and abs(self.error) <= most)


def truths(drive: Drive, over_provisioning: float) -> dict[str, float]:
    """A drive's numbers by the quantities' names."""
    return {
        "page size": drive.page_bytes,
        "dies": drive.channels * drive.dies,
        "channels": drive.channels,
        "read time": drive.read_us,
        "command time": drive.command_us,
        "channel rate": drive.channel_mb_s,
        "link, reads": drive.link_mb_s,
        "time outside flash": drive.latency_us + drive.read_command_us,
        # Without waiting flushes only the rate of a page shows.
        "program time": drive.program_us / (drive.program_pages if drive.protected else 1),
        "pages at once": drive.program_pages,
        "link, writes": drive.link_write_mb_s,
        "write buffer": drive.buffer_bytes,
        "over-provisioning": over_provisioning,
    }


def judged(seed: int, count: int, jobs: int | None = None) -> Iterator[tuple[Drive, list[Verdict], float]]:
    """Drives from a seed, with the verdicts and the seconds for jobs and probe."""
    source = random.Random(seed)  # noqa: S311 - no secret
    for number in range(1, count + 1):
        drive, start = draw(source), time.monotonic()
        experiment = drive.built(source.randrange(2**32))
        with tempfile.TemporaryDirectory() as folder:
            simulate(experiment, folder, write_jobs(folder, True, "/dev/drive"), jobs=jobs)
            found: Found = probe(folder, jobs)
        true = truths(drive, float(experiment.inspect()["device"]["over_provisioning"]))
        vague = VAGUE if drive.protected and drive.program_pages > 1 else ()
        verdicts = [
            Verdict(number, true[each.name], each, drive.protected, each.name in vague)
            for each in found.quantities
        ]
        yield drive, verdicts, time.monotonic() - start


def kinds(drive: Drive) -> str:
    """What sets a drive apart from a plain one, in words."""
    types = len(drive.read_types_us)
    found = [
        "capacitors" if drive.protected else "",
        f"{types} page types" if types else "",
        "command time" if drive.command_us else "",
        f"{drive.program_pages} pages at once" if drive.program_pages > 1 else "",
    ]
    return ", ".join(each for each in found if each) or "plain"


def _cells(verdict: Verdict) -> list[str]:
    found, error = verdict.found, verdict.error
    interval = "" if found.low is None else f"{found.low:.4g} to {found.high:.4g}"
    return [
        str(verdict.drive),
        f"{found.name} {found.unit and f'({found.unit})'}".strip(),
        f"{verdict.true:.5g}",
        "unknown" if found.value is None else f"{found.value:.5g}",
        interval,
        "" if error is None else f"{100 * error:+.1f} %",
        "" if verdict.passes else "FAILS",
    ]


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Lines with columns of equal width; the first two columns are left-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a row for each drive and quantity; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drives", type=int, default=5)
    parser.add_argument("--jobs", type=int, help="simulated runs at once")
    given = parser.parse_args(arguments)
    rows, failed = [], 0
    for drive, verdicts, seconds in judged(given.seed, given.drives, given.jobs):
        rows += [_cells(verdict) for verdict in verdicts]
        failed += sum(not verdict.passes for verdict in verdicts)
        print(f"drive {verdicts[0].drive}: {kinds(drive)}; {seconds:.0f} s", file=sys.stderr)
    print(_table([["drive", "quantity", "true", "found", "interval", "error", ""], *rows]))
    print(f"\nseed {given.seed}: {failed} of {len(rows)} numbers fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
