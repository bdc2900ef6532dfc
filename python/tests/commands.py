"""The command line as a user calls it, from a process with it loaded already.

A command is its own process, forked from one with every command's imports: two thirds of
a short command's time is the interpreter's start and the imports.
"""

import atexit
import importlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

TIMEOUT_S = 120

LOADED = (
    "altair",
    "rich.console",
    "rich.progress",
    "rich.table",
    "nandlab.explaining",
    "nandlab.sweeping",
    *(
        f"nandlab.cli.{name}"
        for name in ("compare", "disk", "explain", "list", "profile", "reproduce", "run", "sweep", "trace")
    ),
)
"""Modules loaded before the fork: most imports of the most frequent commands. Packages with threads, such as
polars, are left to the commands: a fork would lose the threads."""


class Server:
    """The process from which commands are forked."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        ours, theirs = socket.socketpair()
        self.socket = ours
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], pass_fds=(theirs.fileno(),)
        )
        theirs.close()
        ours.settimeout(TIMEOUT_S)
        self.answers = ours.makefile()
        atexit.register(self.close)

    def run(self, arguments: list[str], cwd: str) -> tuple[int, str, str]:
        """Runs a command in a folder: its status, what it prints, and its errors."""
        out, err = self.folder / "out", self.folder / "err"
        request = {
            "arguments": arguments,
            "cwd": cwd,
            "env": dict(os.environ),
            "out": str(out),
            "err": str(err),
        }
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        status = int(self.answers.readline())
        return status, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")

    def close(self) -> None:
        """Ends the process."""
        self.answers.close()
        self.socket.close()
        self.process.wait()
        shutil.rmtree(self.folder)


def run_here(arguments: list[str], cwd: str | Path) -> tuple[int, str, str]:
    """Runs a command in this process, as the command line's `main` does: status, output, and errors.

    Every forked command shows that `main` ends a process with this status.
    """
    import pytest

    from nandlab.cli import _guarded, background

    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["nandlab", *arguments])
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.chdir(cwd)
            status = _guarded(arguments, None)
            background.remove_unfinished()
            background.unfinished.clear()
    finally:
        for number, handler in signals.items():
            signal.signal(number, handler)
    for stream in (out, err):
        stream.flush()
    return status, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()


def serve(descriptor: int) -> None:
    """Answers requests until nobody asks any more."""
    for module in LOADED:
        importlib.import_module(module)

    with socket.socket(fileno=descriptor) as asked:
        for line in asked.makefile():
            request = json.loads(line)
            child = os.fork()
            if child == 0:
                command(request)
            _, status = os.waitpid(child, 0)
            asked.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def command(request: dict) -> None:
    """Becomes the command; it ends the process."""
    for name, target in (("out", 1), ("err", 2)):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), target)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["nandlab", *request["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # It answers Ctrl-C while loading, as in its own process.
    from nandlab.__main__ import main

    main()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
