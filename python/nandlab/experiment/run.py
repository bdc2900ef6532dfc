"""A running experiment."""

from __future__ import annotations

import json
import sys
import time
import warnings

from nandlab import _native, policy
from nandlab.experiment.result import Result

POLL_S = 0.05
LONG_CALL_S = 60.0
"""A policy's call that lasts longer is told."""
STOP_S = 0.8
"""How long a stop may take before an unresponsive run is given up."""


class Run:
    """An experiment under way; made by `Experiment.start()`."""

    def __init__(
        self,
        text: _native.Text,
        op_log: str | None,
        folder: str | None = None,
        save_state: str | None = None,
        timeline: str | None = None,
        timeline_window: str | None = None,
    ) -> None:
        self._job = _native.Job(text, op_log, save_state, timeline, timeline_window)
        self._folder = folder
        self._has_told = False
        self._job.start()

    def progress(self) -> tuple[str, int, int]:
        """The phase, the requests done in it, and the requests in all, 0 if unknown."""
        return self._job.progress()

    def share(self) -> float | None:
        """The share done over all its phases, 0 to 1; None while not known.

        It stands still in the phase "saving state"; `progress()` tells this phase's own share.
        """
        return self._job.share()

    def wait(self, seconds: float) -> bool:
        """Waits at most so long for the end; says whether it has come."""
        has_ended = self._job.wait(seconds)
        if not has_ended and not self._has_told:
            self._tell_of_a_long_call()
        return has_ended

    def _tell_of_a_long_call(self) -> None:
        call = _native.policy_call()
        if call is None or call[1] < LONG_CALL_S:
            return
        import traceback

        thread, seconds, name = call
        frame = sys._current_frames().get(thread)  # noqa: SLF001 - there is no other way
        place = traceback.extract_stack(frame)[-1] if frame is not None else None
        at = "" if place is None else f", now at {place.filename}:{place.lineno} in {place.name}"
        self._has_told = True
        message = f"policy {name}: one call has lasted {seconds:.0f} s{at}; Ctrl-C ends it"
        warnings.warn(message, RuntimeWarning, stacklevel=3)

    def cancel(self) -> None:
        """Asks it to stop; `result()` then has the figures so far, marked partial."""
        self._job.cancel()

    def stop(self) -> None:
        """Cancels it, and waits until it has removed its files in a real directory, if it made any."""
        self._job.cancel()
        end_policy_call()
        end = time.monotonic() + STOP_S
        while not self._job.wait(POLL_S) and (time.monotonic() < end or self.cleans_up()):
            pass

    def cleans_up(self) -> bool:
        """Whether it is removing its files in a real directory; this is worth waiting for."""
        return self.progress()[0] == "cleaning up"

    def result(self) -> Result:
        """The result, once `wait()` has reported the end.

        Raises:
            DeviceFull: Too few good blocks are left, or the index or the file system is full; its `result`
                has the figures until then.
            NandlabError: The index or file system lost a page to bit errors, or this machine refused
                an operation in a real directory; with a `result` too.

        """
        return unless_it_failed(self.partial_result())

    def partial_result(self) -> Result:
        """As `result()`, but a run that cannot go on, or has no room left, is no error: `stopped` says so."""
        try:
            text = self._job.result()
        except _native.PolicyError as error:
            raise policy.ended(error) from error.__cause__
        return Result(json.loads(text), self._folder)


def end_policy_call() -> None:
    """Raises KeyboardInterrupt in the policy under way, if there is one: its run ends with it."""
    call = _native.policy_call()
    if call is not None:
        import ctypes

        interrupt = ctypes.py_object(KeyboardInterrupt)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(call[0]), interrupt)


def unless_it_failed(result: Result) -> Result:
    """The result; raises as `Run.result` if the run cannot go on."""
    stopped = result.stopped
    if stopped is not None and stopped.why != "cancelled":
        failed = stopped.why in ("unreadable", "fs_failed", "firmware_failed")
        error = _native.NandlabError if failed else _native.DeviceFull
        raised = error(stopped.message)
        raised.result = result
        raise raised
    return result
