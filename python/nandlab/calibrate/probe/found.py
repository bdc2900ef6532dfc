"""All quantities of a probed drive."""

from __future__ import annotations

from dataclasses import dataclass

from nandlab._native import NandlabError
from nandlab.calibrate.fit import require_scipy
from nandlab.calibrate.probe.model import Drive
from nandlab.calibrate.probe.quantity import Quantity
from nandlab.calibrate.probe.reads import estimate_reads
from nandlab.calibrate.probe.repeat import Repeat, repeated
from nandlab.calibrate.probe.results import Results, read_results
from nandlab.calibrate.probe.settled import drive_of
from nandlab.calibrate.probe.spare import estimate_spare
from nandlab.calibrate.probe.writes import estimate_writes


@dataclass(frozen=True)
class Found:
    """What the jobs say."""

    quantities: tuple[Quantity, ...]
    results: Results
    repeats: tuple[Repeat, ...] = ()
    """The measured jobs beside the found drive; empty if too little is known."""
    unrepeated: str = ""
    """Why there are no repeats, or why only of reads."""
    drive: Drive | None = None
    """The found drive; None if the times are unknown."""

    def value(self, name: str) -> float | None:
        """A quantity's value; None if it is unknown."""
        return next(each.value for each in self.quantities if each.name == name)


def probe(folder: str, jobs: int | None = None) -> Found:
    """Reads fio's results from a folder, and estimates every quantity.

    Args:
        folder: It has the results of the job files.
        jobs: Simulated runs at once; one for each processor by default.

    Raises:
        ConfigError: With the file and the job.
        NandlabError: scipy is not installed.
        OSError: A file cannot be read.

    """
    require_scipy()
    results = read_results(folder)
    reads = estimate_reads(results, jobs)
    writes = estimate_writes(results, reads.times, jobs)
    dies = None if reads.times is None else reads.times.shape.dies
    spare = estimate_spare(results, writes.buffer_bytes, dies)
    quantities = (*reads.quantities, *writes.quantities, spare)
    if reads.times is None:
        return Found(quantities, results, unrepeated="The jobs cannot be repeated: the times are unknown.")
    plain = writes.drive is None
    drive = writes.drive or drive_of(reads.times)
    why = "Only read jobs were repeated: program time or buffer is unknown." if plain else ""
    try:
        repeats = repeated(results, drive, not plain, jobs)
    except NandlabError as error:
        return Found(
            quantities, results, unrepeated=f"The found drive cannot run the jobs: {error}", drive=drive
        )
    return Found(quantities, results, repeats, why, drive)
