"""Progress on stderr: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import bisect
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from nandlab.writing.units import duration_s
from nandlab.writing.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")

FIRST_S = 0.4
"""Work that ends sooner shows nothing."""
LINE_EVERY_S = 10.0
"""Without a terminal; the second line comes as soon as the time left is known ..."""
SECOND_S = 1.5
"""... but not sooner than this behind the first."""


ENOUGH_S, ENOUGH = 1.0, 0.03
"""For so long and so far something must have gone before it tells how long it still takes ..."""
LONG_S, LITTLE = 10.0, 0.002
"""... or for so long and so far."""


class Known:
    """Progress over time, and the time left.

    >>> known = Known()
    >>> known.add(100.0, 0.0), known.add(104.0, 0.5), known.add(105.0, 0.4), known.left_s()
    (0.0, 0.5, 0.5, 5.0)
    """

    def __init__(self) -> None:
        self._times: list[float] = []
        self._shares: list[float] = []
        self._now, self._share = 0.0, 0.0

    def add(self, now: float, share: float) -> float:
        """Takes the share at a moment; returns the share to show, which never goes back."""
        self._now, self._share = now, max(share, self._share)
        if not self._shares or self._share >= self._shares[-1] + 0.001:
            self._times.append(now)
            self._shares.append(self._share)
        return self._share

    def left_s(self) -> float | None:
        """Seconds to the end at the pace in the second half of the time so far; None while not known."""
        if not self._times:
            return None
        start, first = self._times[0], self._shares[0]
        lasted, gone = self._now - start, self._share - first
        if not (lasted >= ENOUGH_S and gone >= ENOUGH or lasted >= LONG_S and gone >= LITTLE):
            return None
        # The first half is often faster: the device is empty then.
        half = bisect.bisect_right(self._times, start + lasted / 2) - 1
        pace = (self._share - self._shares[half]) / (self._now - self._times[half])
        return (1 - self._share) / pace if pace > 0 else None


class Waiting:
    """Shows how far something is and how long it still takes, once it has lasted a moment."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._bar: Progress | None = None
        self._next_line = self._start + FIRST_S
        # When the first line with the time left may come.
        self._next_known: float | None = None
        self._terminal = sys.stderr.isatty()
        self._phase, self._known = "", Known()

    def __enter__(self) -> Waiting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, phase: str, share: float | None, detail: str) -> None:
        """Takes the work's name, the share done (0 to 1, None if unknown), and figures."""
        now = time.monotonic()
        if phase != self._phase:
            if self._phase:
                # The next phase is shown soon, too.
                self._next_line = min(self._next_line, now + SECOND_S)
            self._phase, self._known = phase, Known()
        if share is not None:
            share = self._known.add(now, share)
        seconds = self._known.left_s()
        told = seconds is not None and self._next_known is not None and now >= self._next_known
        if now < self._next_line and not told:
            return
        left = "time left not known yet" if seconds is None else f"{duration_s(seconds)} left"
        if self._terminal:
            self._draw(visible(phase), share, visible(detail), left)
        else:
            done = "" if share is None else f" {share * 100:.0f} %"
            print(f"{phase}{done}, {detail}, {left}", file=sys.stderr, flush=True)
            self._next_line = now + LINE_EVERY_S
            self._next_known = now + SECOND_S if seconds is None else None

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


def reading(work: Callable[[Callable[[int], object]], T]) -> T:
    """The result of `work`, which reads a trace and tells the function given how many records it has read."""
    from nandlab.cli.background import interruptible

    read = 0

    def take(records: int) -> None:
        nonlocal read
        read = records

    with Waiting() as waiting:
        return interruptible(
            lambda: work(take), lambda: waiting.update("reading", None, f"{read:,} records of the trace read")
        )


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    from nandlab.cli.output import terminal

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[detail]}, {task.fields[left]}", markup=False),
        console=Console(file=terminal(sys.stderr)),
        transient=True,
    )
