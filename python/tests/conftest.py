"""What several tests need: the command line as a user calls it, and small experiments."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

# A shell starts jobs in the background with SIGINT ignored, and so would every command under test be.
signal.signal(signal.SIGINT, signal.default_int_handler)

SMALL = """\
seed = 3

[workload.uniform]
requests = 20000

[ftl.page]

[device]
capacity = "16 MiB"
over_provisioning = 0.25
"""


IS_LONG = bool(os.environ.get("NANDLAB_LONG"))


TRACES = os.environ.get("NANDLAB_TRACES")
"""The folder of published traces; they are not ours to distribute, so it is no part of the project."""


def pytest_collection_modifyitems(config, items):
    """Leaves out what was not asked for: long tests, and those of published traces."""
    asked = {"long": IS_LONG, "traces": TRACES is not None}
    missing = [marker for marker, is_asked in asked.items() if not is_asked]
    left_out = [item for item in items if any(map(item.get_closest_marker, missing))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def without_privilege():
    """Makes what is called after a fork obey the rights of files: root ignores them by a capability."""
    prctl_drop, override = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE of Linux
    if os.geteuid() == 0:
        dropped = ctypes.CDLL(None).prctl(prctl_drop, override, 0, 0, 0)
        assert dropped == 0


@dataclass
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self):
        """What it printed, which is one JSON document."""
        assert self.out, self.err
        return json.loads(self.out)


def call(*arguments, cwd=None, env=None, first=None):
    """Runs `nandlab` with these arguments, after `first()`; whatever happens, it prints no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "nandlab", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env=env,
        check=False,
        preexec_fn=first,  # noqa: PLW1509 - no test has threads
    )
    assert "Traceback" not in done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def nandlab_command():
    return call


@pytest.fixture
def small(tmp_path):
    """The path of a small experiment."""
    return write(tmp_path / "small.toml", SMALL)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="session")
def small_result(tmp_path_factory):
    """The result of a small experiment."""
    import nandlab

    path = write(tmp_path_factory.mktemp("session") / "small.toml", SMALL)
    return nandlab.Experiment.from_toml(path).run()
