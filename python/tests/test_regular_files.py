"""Whatever a command reads is a regular file: opening a pipe waits for its other end, a device has no end."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from conftest import SMALL, write
from programs import process

import nandlab

READ_TWICE = "expected a file, not a pipe or a device"
NAMED = {
    "trace": ('[workload.trace]\npath = "IT"\n[ftl.page]\n', READ_TWICE),
    "fio job": ('[workload.fio]\npath = "IT"\n[ftl.page]\n', READ_TWICE),
    "included fio job": ('[workload.fio]\ntext = "include IT"\n[ftl.page]\n', READ_TWICE),
    "trace of keys": ('[workload.keys]\npath = "IT"\n[index.btree]\n[ftl.page]\n', READ_TWICE),
    "profile": ('[workload.uniform]\n[ftl.page]\n[device]\nprofile = "IT.toml"\n', "it is no regular file"),
    "state": (
        "[workload.uniform]\n[ftl.page]\n"
        '[device]\ncapacity = "16 MiB"\nover_provisioning = 0.25\n[precondition]\nfrom_state = "IT"\n',
        "it is no regular file",
    ),
}
"""What an experiment names: its text with the place of the file, and the reason."""


@pytest.fixture(params=["pipe", "socket", "device"])
def it(request, tmp_path):
    """The path of something that is there, and is no regular file."""
    path = tmp_path / "it"
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    else:
        path.symlink_to("/dev/zero")
    (tmp_path / "it.toml").symlink_to(path)
    return path


@pytest.mark.parametrize("named", NAMED)
def test_what_an_experiment_names(nandlab_command, tmp_path, it, named):
    text, says = NAMED[named]
    path = write(tmp_path / "x.toml", text.replace("IT", "./it"))
    ended = nandlab_command("run", path)
    assert ended.status == 2, ended.err
    assert says in " ".join(ended.err.split())


def test_a_policy(nandlab_command, tmp_path, it):
    (tmp_path / "mine.py").symlink_to(it)
    path = write(
        tmp_path / "x.toml", SMALL.replace("[ftl.page]", '[ftl.page]\nvictim = { python = "mine:Mine" }')
    )
    ended = nandlab_command("run", path, "--policies")
    assert ended.status == 2, ended.err
    assert "mine" in ended.err


@pytest.mark.parametrize("simulator", ["mqsim", "simplessd", "flashsim", "femu", "nvmevirt"])
def test_a_configuration_of_another_simulator(nandlab_command, it, simulator):
    ended = nandlab_command("import", simulator, it)
    assert ended.status != 0
    assert f"{it}: this is no regular file" in ended.err


def test_a_paper(nandlab_command, it):
    ended = nandlab_command("reproduce", it.parent / "it.toml")
    assert ended.status != 0
    assert "this is no regular file" in ended.err


def test_regions(nandlab_command, tmp_path, it):
    image = created(tmp_path, "ftl=page")
    ended = nandlab_command("disk", "serve", image, "--nbd", tmp_path / "s", "--regions", it)
    assert ended.status == 2
    assert "this is no regular file" in ended.err


def test_from_python(it):
    with pytest.raises(OSError, match="this is no regular file"):
        nandlab.Experiment.from_toml(it)


LONG = SMALL.replace("20000", "2000000000")
WORKS = {
    "run": ["run", "FILE"],
    "compare": ["compare", "FILE", "--vary", "seed=1,2"],
    "sweep": ["sweep", "FILE", "--vary", "seed=1,2", "--output", "DIR/out.parquet"],
    "search": [
        "search",
        "FILE",
        "--free",
        "device.over_provisioning=0.2..0.3",
        "--output",
        "DIR/out.parquet",
    ],
    "explain": ["explain", "RESULT"],
}
"""Commands at work for far longer than any test."""
STOPS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)


@STOPS
@pytest.mark.parametrize("command", WORKS)
def test_what_works_for_long_ends(nandlab_command, tmp_path, number, command):
    path, result = write(tmp_path / "long.toml", LONG), tmp_path / "result.json"
    places = {"FILE": str(path), "RESULT": str(result)}
    if command == "explain":
        # Its runs are as long as the one that it explains.
        record = nandlab_command("run", write(tmp_path / "x.toml", SMALL), "--json").document
        result.write_text(json.dumps(record).replace("20000", "2000000000"))
    words = [places.get(word, word.replace("DIR", str(tmp_path))) for word in WORKS[command]]
    with subprocess.Popen(
        [sys.executable, "-m", "nandlab", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        time.sleep(3)
        assert started.poll() is None, started.stderr.read()
        check_end(started, number, 1)


@STOPS
@pytest.mark.parametrize("command", ["serve", "mount", "record"])
def test_what_serves_ends(tmp_path, number, command):
    image = created(tmp_path, "fs=fat" if command == "mount" else "ftl=page")
    (tmp_path / "dir").mkdir()
    serve = ("disk", "serve", image, "--nbd", tmp_path / "sock")
    with contextlib.ExitStack() as stack:
        if command == "record":
            stack.enter_context(process(*serve, says="Ctrl-C ends it"))
        arguments = {
            "serve": serve,
            "mount": ("mount", image, tmp_path / "dir"),
            "record": ("disk", "record", image, "--output", tmp_path / "t.nltr"),
        }[command]
        started = stack.enter_context(process(*arguments, says="Ctrl-C ends it"))
        # The line comes before the wait.
        time.sleep(0.5)
        check_end(started, number, 0)


def created(folder, kind):
    image = folder / "my.img"
    sets = [part for one in (kind, "ftl=page", "device.capacity=64MiB") for part in ("--set", one)]
    made = [sys.executable, "-m", "nandlab", "disk", "create", str(image), *sets]
    subprocess.run(made, check=True, capture_output=True)
    return image


def check_end(started, number, status):
    before = time.monotonic()
    started.send_signal(number)
    _, err = started.communicate(timeout=30)
    assert started.returncode == status, err
    assert "Traceback" not in err
    # A second is the promise; a busy machine gets some more.
    assert time.monotonic() - before < 5
