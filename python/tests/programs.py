"""Programs that are no part of nandlab, processes that serve an image to them, and scripts in no package."""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# mke2fs and e2fsck of some systems lie where only root looks.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
MISSING = [
    name for name in ("mke2fs", "e2fsck", "fuse2fs", "fusermount3") if not shutil.which(name, path=PATH)
]

# A mount needs the helper of FUSE and the kernel's device; .ci/run installs the first.
needs_fuse = pytest.mark.skipif(
    shutil.which("fusermount3") is None or not Path("/dev/fuse").exists(),
    reason="fusermount3 or /dev/fuse is not there",
)

# `disk try` refuses to run without them, so there is nothing to test; .ci/run installs them.
needs_disk_try = pytest.mark.skipif(
    bool(MISSING) or not Path("/dev/fuse").exists(), reason=f"{MISSING or 'FUSE'} is not there"
)


def script(path):
    """A script of the repository that is in no package, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(*arguments, cwd=None):
    """Runs a program that is no part of nandlab; a test without it is skipped and says so."""
    if shutil.which(arguments[0]) is None:
        pytest.skip(f"{arguments[0]} is not installed")
    done = subprocess.run(
        [*map(str, arguments)], capture_output=True, text=True, timeout=100, check=False, cwd=cwd
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextlib.contextmanager
def process(*arguments, says, first=None):
    """A command of nandlab in a process of its own, once it has printed `says`; killed at the end."""
    command = [sys.executable, "-m", "nandlab", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, preexec_fn=first, **pipes) as started:  # noqa: PLW1509 - no test has threads
        try:
            for line in started.stderr:
                if says in line:
                    break
            else:
                pytest.fail("it ended before it served")
            yield started
        finally:
            started.kill()
