"""Shared by several tests: the command line as a user calls it, and small experiments."""

import ctypes
import functools
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from commands import Server, run_here

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
"""The folder with published traces; we may not distribute them, so it is no part of the project."""

MEASUREMENTS = os.environ.get("NANDLAB_MEASUREMENTS")
"""The folder with measurements on real drives."""

PEERS = os.environ.get("NANDLAB_PEERS")
"""A folder with checkouts: MQSim, SimpleSSD, SimpleSSD-Standalone, FEMU, nvmevirt and flashsim."""


def without_scripts(page):
    """A report without its scripts' text, where addresses are names; test_browser.py sees what it loads."""
    return re.sub(r"(<script[^>]*>).*?</script>", r"\1</script>", page, flags=re.DOTALL)


def begins(item):
    """The slowest tests come first, so that shared runs end together: paper files, then large ones."""
    return not item.path.name.startswith("test_paper"), -item.path.stat().st_size, item.path


def pytest_collection_modifyitems(config, items):
    """Leaves out tests nobody asked for: long ones, and tests on files that are no part of the project."""
    folders = {"traces": TRACES, "measurements": MEASUREMENTS, "peers": PEERS}
    asked = {"long": IS_LONG} | {marker: folder is not None for marker, folder in folders.items()}
    missing = [marker for marker, is_asked in asked.items() if not is_asked]
    left_out = [item for item in items if any(map(item.get_closest_marker, missing))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    if config.getoption("share") is not None:
        items.sort(key=begins)


def pytest_addoption(parser):
    parser.addoption(
        "--share",
        type=Path,
        help="A folder in which runs of pytest beside one another mark the files that they take.",
    )


class Share:
    """Leaves out test files already taken by a parallel run."""

    def __init__(self, folder):
        self.folder = folder
        self.is_ours = functools.cache(self.take)

    def take(self, file):
        try:
            (self.folder / file.replace("/", "+")).mkdir()
        except FileExistsError:
            return False
        return True

    def has(self, item):
        return self.is_ours(item.nodeid.partition("::")[0])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if self.has(item):
            # Fixtures end if the next test in this run does not need them.
            behind = item.session.items[item.session.items.index(item) + 1 :] if nextitem else []
            after = next((each for each in behind if self.has(each)), None)
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            runtestprotocol(item, nextitem=after)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True


def pytest_configure(config):
    if config.getoption("share") is not None:
        config.pluginmanager.register(Share(config.getoption("share")))


def without_privilege():
    """Makes a forked child obey file rights: root has a capability to ignore them."""
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
        """Its output, one JSON document."""
        assert self.out, self.err
        return json.loads(self.out)


DRAW = {"--report", "--plots"}
"""Options for commands that draw. They run here, with the drawing packages loaded: a separate process
takes three times as long to load them and start the JavaScript engine as to draw a report."""

SHARED = {"choose", "reproduce"}
"""Commands with the same experiments in several tests; here they are `shared_runs`."""


def call(*arguments, cwd=None, env=None, first=None, alone=False):
    """Runs `nandlab` with these arguments, after `first()`; whatever happens, it prints no traceback.

    `alone`: a fresh process with nothing loaded, as for a user. Each drawing command runs so once.
    """
    words = [str(each) for each in arguments]
    if alone or env is not None or first is not None:
        done = subprocess.run(
            [sys.executable, "-m", "nandlab", *words],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=cwd,
            env=env,
            check=False,
            preexec_fn=first,  # noqa: PLW1509 - no test has threads
        )
        ended = Ended(done.returncode, done.stdout, done.stderr)
    elif words[0] in SHARED or DRAW & set(words):
        ended = Ended(*run_here(words, cwd or Path.cwd()))
    else:
        ended = Ended(*command_server().run(words, str(cwd or Path.cwd())))
    assert "Traceback" not in ended.err
    return ended


@functools.cache
def command_server():
    return Server()


@pytest.fixture(scope="session", autouse=True)
def shared_runs():
    """Commands that measure a paper or choose run an experiment once, however many tests ask for it.

    Other tests check that a result depends on nothing but its experiment.
    """
    from nandlab import choosing
    from nandlab.reproduce import measure, searching
    from nandlab.running.batch import run_all

    known = {}

    def run_once(experiments, jobs=None, progress=None):
        keys = [experiment.fingerprint() for experiment in experiments]
        new = {key: each for key, each in zip(keys, experiments, strict=True) if key not in known}
        outcomes, stopped = run_all(list(new.values()), jobs, progress)
        if stopped:
            return outcomes, stopped
        known.update(zip(new, outcomes, strict=True))
        return [known[key] for key in keys], False

    with pytest.MonkeyPatch.context() as patch:
        for module in (choosing, measure, searching):
            patch.setattr(module, "run_all", run_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def shared_drawings():
    """Equal specifications are drawn once, except by a test with `drawn_anew`."""
    import vl_convert

    known = {}

    def once(draw):
        def drawn(spec, **options):
            key = json.dumps([draw.__name__, spec, options])
            if key not in known:
                known[key] = draw(spec, **options)
            return known[key]

        return drawn

    with pytest.MonkeyPatch.context() as patch:
        for draw in (vl_convert.vegalite_to_svg, vl_convert.vegalite_to_png):
            patch.setattr(vl_convert, draw.__name__, once(draw))
        yield known


@pytest.fixture
def drawn_anew(shared_drawings):
    """Forgets every drawing; called, it does so again."""
    shared_drawings.clear()
    return shared_drawings.clear


@pytest.fixture
def nandlab_command():
    return call


@pytest.fixture
def small(tmp_path):
    """A small experiment's path."""
    return write(tmp_path / "small.toml", SMALL)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="session")
def small_result(tmp_path_factory):
    """A small experiment's result."""
    import nandlab

    path = write(tmp_path_factory.mktemp("session") / "small.toml", SMALL)
    return nandlab.Experiment.from_toml(path).run()
