"""Policies as objects in a sweep."""

import html
import os
import subprocess
import sys

from conftest import SMALL, write

import nandlab
from nandlab import policy


class Emptied(policy.Victim):
    """As greedy collection chooses, ties included: the first block with the fewest valid pages."""

    def pick(self, blocks):
        return blocks.valid.argmin()


class Eldest(policy.Replacement):
    def start(self, known):
        self.pages = {}

    def insert(self, page):
        self.pages[page] = None

    def victim(self):
        return next(iter(self.pages))

    def evicted(self, page):
        self.pages.pop(page, None)

    forget = evicted


def test_objects_in_a_sweep_give_the_figures_of_their_own_runs():
    page = nandlab.Experiment(
        workload=nandlab.workload.zipf(requests=4000),
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(capacity="16 MiB", over_provisioning=0.3),
    )
    own = nandlab.ftl.page(victim=Emptied())
    buffers = [
        nandlab.buffer.lru(size="256 KiB"),
        nandlab.buffer.python(size="256 KiB", policy=Eldest()),
    ]
    for vary, single in (
        ({"ftl.page.victim": ["greedy", Emptied()]}, page.replace(ftl=own)),
        ({"ftl": [nandlab.ftl.page(victim="greedy"), own]}, page.replace(ftl=own)),
        ({"buffer": buffers}, page.replace(buffer=buffers[1])),
    ):
        found = nandlab.sweep(page, vary, goals=["waf"]).frame["waf"].to_list()
        assert len(found) == 2 and found[1] == single.run().waf, vary


class AgeWeighted(policy.Victim):
    def __init__(self, power=0.5, *, floor=0):
        self.power, self.floor = power, floor

    def pick(self, blocks):
        valid = blocks.valid.astype(float) ** self.power
        valid[blocks.states != 0] = float("inf")
        return valid.argmin()


def small_page():
    return nandlab.Experiment(
        workload=nandlab.workload.zipf(requests=4000),
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(capacity="16 MiB", over_provisioning=0.3),
    )


def test_a_policy_is_named_by_its_class_and_options_in_reports(tmp_path):
    """In a sweep's table, headlines and pictures, and in a search's; defaults are left out."""
    policies = ["greedy", AgeWeighted(power=0.25), AgeWeighted(floor=2), AgeWeighted()]
    vary = {"ftl.page.victim": policies, "seed": [1, 2]}
    sweep = nandlab.sweep(small_page(), vary, goals=["waf"])
    sweep.report(tmp_path / "sweep.html")
    free = {"ftl.page.victim": policies[:3]}
    nandlab.search(small_page(), free, goals="waf", budget=3).report(tmp_path / "search.html")
    for name in ("sweep", "search"):
        page = html.unescape((tmp_path / f"{name}.html").read_text(encoding="utf-8"))
        for words in ("AgeWeighted(power=0.25)", "AgeWeighted(floor=2)"):
            assert f">{words}<" in page, (name, words)
    compared = nandlab.compare(
        {"greedy": small_page(), "own": small_page().replace(ftl=nandlab.ftl.page(victim=policies[1]))}
    )
    assert compared.results["own"].waf == sweep.points[2].result.waf
    assert repr(sweep.points[2]).startswith("<Point ftl.page.victim=AgeWeighted(power=0.25), seed=1: ")


def test_the_words_of_a_policy():
    words = policy.words

    kept = policy.keep(AgeWeighted(power=0.75))
    assert words(f'{{ python = "{kept}" }}') == "AgeWeighted(power=0.75)"
    assert words(f'{{ page = {{ victim = {{ python = "{kept}" }} }} }}') == (
        "{ page = { victim = { python = AgeWeighted(power=0.75) } } }"
    )
    assert words("{ python = \"a.b:Outer.Inner(x=1, y='z')\" }") == "Inner(x=1, y='z')"
    assert words('{ lru = { size = "1 MiB" } }') == '{ lru = { size = "1 MiB" } }'


def test_an_option_of_whichever_buffer_is_there(nandlab_command, small):
    """`buffer.size` beside `buffer`: the same figures as with the buffer's own key."""
    page = small_page()
    buffers = ["lru", "arc"]
    found = nandlab.sweep(page, {"buffer.size": "256 KiB,512 KiB", "buffer": buffers}, goals=["waf"])
    expected = [
        page.replace(buffer={name: {"size": size}}).run().waf
        for size in ("256 KiB", "512 KiB")
        for name in buffers
    ]
    assert found.frame["waf"].to_list() == expected and len(set(expected)) > 1
    own = [nandlab.buffer.python(size="1 MiB", policy=Eldest()), nandlab.buffer.lru()]
    of_own = nandlab.sweep(page, {"buffer": own, "buffer.size": "256 KiB,512 KiB"}, goals=["waf"])
    assert of_own.frame["waf"].to_list()[2:] == [expected[0], expected[2]]
    based = page.replace(buffer=nandlab.buffer.lru())
    assert nandlab.search(based, {"buffer.size": ["256 KiB", "512 KiB"]}, budget=2).best
    done = nandlab_command(
        "compare", small, "--vary", "buffer=lru,arc", "--vary", "buffer.size=1 MiB", "--json"
    )
    assert done.status == 0, done.err
    refused = nandlab_command("compare", small, "--vary", "buffer=lru,arc", "--vary", "buffer.sise=1 MiB")
    assert refused.status == 2 and "sise" in refused.err


def test_without_numpy_a_policy_names_the_extra(tmp_path):
    fake = tmp_path / "numpy"
    fake.mkdir()
    absent = "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n"
    (fake / "__init__.py").write_text(absent, encoding="utf-8")
    policy_file = "from nandlab import policy\nclass Mine(policy.Victim):\n    def pick(self, blocks):\n"
    (tmp_path / "mine.py").write_text(f"{policy_file}        return blocks.valid[0]\n", encoding="utf-8")
    text = SMALL.replace("[ftl.page]", '[ftl.page]\nvictim = { python = "mine:Mine" }')
    path = write(tmp_path / "x.toml", text)
    command = [sys.executable, "-m", "nandlab", "run", path, "--policies"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "need numpy: pip install 'nandlab[policies]'" in done.stderr, done.stderr
