"""The command `nandlab`, which `python -m nandlab` is too.

Ctrl-C while everything else is still being loaded ends the process with a word, not with a traceback. Before
that the interpreter itself is being started, where nothing here can answer; so this loads little.
"""

from __future__ import annotations

import gc
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    os.write(2, b"stopped\n")
    os._exit(1)


def main() -> NoReturn:
    """Runs the command line and ends the process."""
    # Loading makes thousands of objects that stay: looking for garbage among them is a tenth of the start.
    gc.set_threshold(50_000)
    from nandlab.cli import main as command_line

    command_line(_stop)


# A shell starts jobs in the background with SIGINT ignored, which then stays so.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _stop)

if __name__ == "__main__":
    main()
