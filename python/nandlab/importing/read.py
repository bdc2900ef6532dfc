"""The simulators, and the marks by which a file shows its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nandlab._native import ConfigError, TraceError
from nandlab.importing.imported import Imported
from nandlab.importing.lines_file import is_there
from nandlab.importing.request import Request
from nandlab.one_line import one_line
from nandlab.reading import STANDARD_INPUT, regular, whole


def _mqsim(request: Request) -> Imported:
    from nandlab.importing.mqsim_import import imported

    return imported(request)


def _simplessd(request: Request) -> Imported:
    from nandlab.importing.simplessd import imported

    return imported(request)


def _flashsim(request: Request) -> Imported:
    from nandlab.importing.flashsim import imported

    return imported(request)


def _femu(request: Request) -> Imported:
    from nandlab.importing.femu import imported

    return imported(request)


def _nvmevirt(request: Request) -> Imported:
    from nandlab.importing.nvmevirt import imported

    return imported(request)


SIMULATORS: dict[str, Callable[[Request], Imported]] = {
    "mqsim": _mqsim,
    "simplessd": _simplessd,
    "flashsim": _flashsim,
    "femu": _femu,
    "nvmevirt": _nvmevirt,
}


def import_files(simulator: str, request: Request) -> Imported:
    """The experiment for a simulator's files.

    Raises:
        OSError: A file cannot be read.
        ConfigError: A file is cut or another kind, has an unknown key or an impossible value, or needs
            something nandlab lacks.

    """
    try:
        found = SIMULATORS[simulator](request)
    except ConfigError as error:
        # A damaged file's bytes stand in the sentence.
        raise ConfigError(one_line(str(error))) from None
    known = {row.key.rpartition(" ")[2].rpartition(".")[2] for row in found.rows}
    for key in request.instead:
        if key not in known:
            raise ConfigError(f"--instead {key}: there is no such key among those read")
    _check(found, request.folder)
    ends = [path for path in request.files if simulator in LINE_BY_LINE and _ends_in_a_line(path)]
    return replace(found, notes=(*found.notes, *map(UNFINISHED.format, ends)))


LINE_BY_LINE = ("flashsim", "simplessd", "femu")
"""Simulators whose files have no closing mark, so a cut one can look whole."""
UNFINISHED = "{} ends within a line: if it was cut there, the last value is short and keys are missing."


def _ends_in_a_line(path: str) -> bool:
    return (path == STANDARD_INPUT or is_there(path)) and not whole(path).endswith(b"\n")


def _check(found: Imported, folder: str) -> None:
    """Refuses sizes before a run, and names the other simulator's keys."""
    from nandlab.experiment import Experiment

    tree = found.tree
    try:
        Experiment(**tree, base=folder).inspect()
    except (ConfigError, TraceError) as error:
        key = getattr(error, "key", None)
        theirs = sorted({row.key for row in found.rows if key and key in row.here})
        names = f" ({', '.join(theirs)})" if theirs else ""
        raise ConfigError(f"{found.sources[0]}: as an experiment this does not fit{names}: {error}") from None


MARKS = {
    "<Execution_Parameter_Set": "mqsim",
    "<MQSim_IO_Scenarios": "mqsim",
    "SSD_SIZE ": "flashsim",
    "PLANE_SIZE ": "flashsim",
    "[pal]": "simplessd",
    "[icl]": "simplessd",
    "[generator]": "simplessd",
    "-device femu": "femu",
    "BASE_SSD ==": "nvmevirt",
}
"""Words in only one simulator's files."""
LARGEST = 1 << 20


def simulator_of(path: str) -> str | None:
    """The simulator with such a configuration; None if there is none.

    Raises:
        OSError: The file cannot be read.

    """
    text = _head(path)
    return next((name for mark, name in MARKS.items() if mark in text), None)


def has_flows(path: str) -> bool:
    """Whether it is MQSim's second file, which has a workload and no device.

    Raises:
        OSError: The file cannot be read.

    """
    return "<MQSim_IO_Scenarios" in _head(path)


def _head(path: str) -> str:
    with regular(path).open("rb") as file:
        return file.read(LARGEST).decode("utf-8", "replace")
