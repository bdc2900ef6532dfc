"""The command line as a user calls it, from a process that has loaded it before.

A command is a process of its own, forked from one that has imported what every command imports: two thirds of
the time of a short command is the start of the interpreter and the imports.
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
"""What commands are forked with: most of what the most frequent ones import. What holds threads, such as
polars, is left to the commands: a fork would lose them."""


class Server:
    """The process that commands are forked from."""

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
    """Runs a command in this process, as `main` of the command line does: status, what it prints, and errors.

    That `main` ends a process with this status is shown by every command that is a process.
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
    """Becomes the command, which ends the process."""
    for name, target in (("out", 1), ("err", 2)):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), target)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["nandlab", *request["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # It answers Ctrl-C while it is loaded, as it does in a process of its own.
    from nandlab.__main__ import main

    main()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
