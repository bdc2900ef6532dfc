"""Work in the compiled module; Ctrl-C must not wait for it."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


class _Worker(threading.Thread, Generic[T]):
    """A thread that keeps its work's outcome; the process ends without it."""

    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self.value: T | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Does the work."""
        try:
            self.value = self._work()
        except BaseException as error:  # noqa: BLE001 - handed to the main thread
            self.error = error


def interruptible(work: Callable[[], T], each: Callable[[], object] = lambda: None) -> T:
    """The result of `work`, done in its own thread, so that Ctrl-C ends the command at once.

    Args:
        work: The work.
        each: Called ten times a second meanwhile.

    """
    worker = _Worker(work)
    worker.start()
    while worker.is_alive():
        worker.join(0.1)
        each()
    if worker.error is not None:
        raise worker.error
    return worker.value  # type: ignore[return-value] # set where there is no error


def load_what_draws(*pictures: object) -> None:
    """Loads the drawing packages beside a run, if any pictures are wanted: loading takes longer than drawing.

    An error comes again when they are drawn.
    """
    if all(each is None for each in pictures):
        return

    def load() -> None:
        with contextlib.suppress(Exception):
            importlib.import_module("nandlab.report.run")

    def start_engine() -> None:
        with contextlib.suppress(Exception):
            from nandlab.report.theme import svg

            svg({"mark": "point", "data": {"values": [{"x": 1}]}, "encoding": {"x": {"field": "x"}}})

    # The JavaScript engine starts outside Python's lock, so both take one processor each.
    _Worker(start_engine).start()
    _Worker(load).start()


unfinished: set[Path] = set()
"""Files a command may leave half-written if somebody presses Ctrl-C again while it stops."""


def remove_unfinished() -> None:
    """Removes them, and folders with all their files: for the process's end."""
    for path in unfinished:
        with contextlib.suppress(OSError):
            if path.is_dir():
                import shutil

                shutil.rmtree(path)
            else:
                path.unlink()
