"""Ctrl-C that waits, and Ctrl-C that workers never hear."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

STOPS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def afterwards() -> Iterator[None]:
    """Answers stop signals only once the work inside is whole."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread answers signals.
        yield
        return
    waiting: list[int] = []
    # A mask would not do: another thread may take the signal, and this one then answers it.
    before = {number: signal.getsignal(number) for number in STOPS}
    ours = [number for number in STOPS if callable(before[number])]
    for number in ours:
        signal.signal(number, lambda given, _frame: waiting.append(given))
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])
    for each in waiting:
        signal.raise_signal(each)


@contextlib.contextmanager
def deaf_children() -> Iterator[None]:
    """Processes started meanwhile never get Ctrl-C: their parent answers it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
