"""An experiment that runs."""

from __future__ import annotations

import json
import time

from nandlab import _native
from nandlab.experiment.result import Result

POLL_S = 0.05
STOP_S = 0.8
"""How long a stop may take before what has not answered is given up."""


class Run:
    """An experiment under way; made by `Experiment.start()`."""

    def __init__(
        self,
        text: _native.Text,
        op_log: str | None,
        folder: str | None = None,
        save_state: str | None = None,
    ) -> None:
        self._job = _native.Job(text, op_log, save_state)
        self._folder = folder
        self._job.start()

    def progress(self) -> tuple[str, int, int]:
        """The phase, the requests done in it, and the requests in all, 0 where that is unknown."""
        return self._job.progress()

    def share(self) -> float | None:
        """The part of all its phases that is done, 0 to 1; None while that is not known.

        It stands still in the phase "saving state", whose own part `progress()` tells.
        """
        return self._job.share()

    def wait(self, seconds: float) -> bool:
        """Waits at most so long for the end; says whether it has come."""
        return self._job.wait(seconds)

    def cancel(self) -> None:
        """Asks it to stop; `result()` is then what it has come to, marked partial."""
        self._job.cancel()

    def stop(self) -> None:
        """Cancels it, and waits until it has removed what it made in a real directory, if it did."""
        self._job.cancel()
        end = time.monotonic() + STOP_S
        while not self._job.wait(POLL_S) and (time.monotonic() < end or self.cleans_up()):
            pass

    def cleans_up(self) -> bool:
        """Whether it removes what it made in a real directory, which is worth waiting for."""
        return self.progress()[0] == "cleaning up"

    def result(self) -> Result:
        """The result, once `wait()` has said that the end has come.

        Raises:
            DeviceFull: Too few good blocks are left, or the index or the file system is full; its `result` is
                what was measured until then.
            NandlabError: A page of the index or file system was lost to bit errors, or this machine refused
                an operation in a real directory; with a `result` too.

        """
        return unless_it_failed(self.partial_result())

    def partial_result(self) -> Result:
        """As `result()`, but what cannot go on, or has no room left, is no error: `stopped` says so."""
        return Result(json.loads(self._job.result()), self._folder)


def unless_it_failed(result: Result) -> Result:
    """The result; raises as `Run.result` where what was run cannot go on."""
    stopped = result.stopped
    if stopped is not None and stopped.why != "cancelled":
        failed = stopped.why in ("unreadable", "fs_failed")
        error = _native.NandlabError if failed else _native.DeviceFull
        raised = error(stopped.message)
        raised.result = result
        raise raised
    return result
