"""Progress on stderr: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from nandlab.units import duration_s

if TYPE_CHECKING:
    from rich.progress import Progress

FIRST_S = 0.4
"""What ends sooner shows nothing."""
LINE_EVERY_S = 10.0


class Waiting:
    """Shows how far something is and how long it still takes, once it has lasted a moment."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._bar: Progress | None = None
        self._next_line = self._start + FIRST_S
        self._terminal = sys.stderr.isatty()
        self._phase, self._phase_start = "", self._start

    def __enter__(self) -> Waiting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, phase: str, share: float | None, detail: str) -> None:
        """Takes what is being done, the part of it that is done (0 to 1, None where unknown), and figures."""
        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._phase_start = phase, now
        if now < self._next_line:
            return
        left = _left(now - self._phase_start, share)
        if self._terminal:
            self._draw(phase, share, detail, left)
        else:
            done = "" if share is None else f" {share * 100:.0f} %"
            print(f"{phase}{done}, {detail}, {left}", file=sys.stderr, flush=True)
            self._next_line = now + LINE_EVERY_S

    def _draw(self, phase: str, share: float | None, detail: str, left: str) -> None:
        # In thousandths.
        total, done = (None, 0) if share is None else (1000, round(1000 * share))
        if self._bar is None:
            self._bar = _bar()
            self._bar.add_task(phase, total=total, completed=done, detail=detail, left=left)
            self._bar.start()
            return
        task = self._bar.task_ids[0]
        self._bar.update(task, description=phase, total=total, completed=done, detail=detail, left=left)


def _left(elapsed: float, share: float | None) -> str:
    if not share:
        return "time left not known yet"
    return f"{duration_s(elapsed * (1 - share) / share)} left"


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[detail]}, {task.fields[left]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
