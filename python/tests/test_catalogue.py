"""Published traces through the command line, where `NANDLAB_TRACES` names their folder.

They are not ours to distribute, so they cannot be part of the project; `.ci/run` names the folder. The counts
are those of the catalogue, listed once, in `crates/lab/tests/all/catalogue.rs`. The short form runs some of
the traces, NANDLAB_LONG=1 all of them, with time kept and a report written.
"""

import re
from pathlib import Path

import pytest
from conftest import IS_LONG, TRACES, write

SOURCE = Path(__file__).parents[2] / "crates" / "lab" / "tests" / "all" / "catalogue.rs"
SHORT = 11_000
"""Requests of a trace that the short form runs."""

pytestmark = pytest.mark.traces


def listed():
    """Files and requests as the catalogue has them."""
    text = SOURCE.read_text(encoding="utf-8")
    found = {
        file: sum(int(part.replace("_", "")) for part in count.split("+"))
        for file, count in re.findall(r"listed\(\"([^\"]+)\", FormatName::\w+, ([\d_ +]+),", text)
    }
    # No line is missed by the pattern.
    assert len(found) == text.count('listed("')
    return found


def test_the_list_is_read():
    assert len(listed()) == 25
    assert listed()["umass/Financial_mini.spc"] == 949


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, marks=pytest.mark.long if requests > SHORT else ())
        for file, requests in listed().items()
    ],
)
def test_a_trace_runs_end_to_end_on_the_page_map(nandlab_command, tmp_path, file):
    requests = listed()[file]
    path = write(
        tmp_path / "trace.toml",
        f'[workload.trace]\npath = "{TRACES}/{file}"\naddresses = "fold"\nside_by_side = true\n'
        '[ftl.page]\n[device]\ncapacity = "2 GiB"\n',
    )
    own = ("--set", "workload.trace.action=D") if file.endswith("wiscsee/blkparse-output.txt") else ()
    report = ("--report", tmp_path / "report.html") if IS_LONG else ()
    model = "timed" if IS_LONG else "counting"
    ended = nandlab_command("run", path, *own, *report, "--set", f"device.model={model}", "--json")
    assert ended.status == 0, ended.err
    record = ended.document
    assert record["host"]["requests"] == requests
    assert record["host"]["unreadable"] == 0
    assert sum(cell["programs"] for cell in record["matrix"]) == record["flash"]["programs"]
    assert record["blocks"]["free"] <= record["device"]["blocks"]
    if IS_LONG:
        assert "latency (simulated time)" in (tmp_path / "report.html").read_text()


SEPARATED = {
    # Trace, MiB of capacity, times that it is played.
    "flashsim2010/fin1.trace": (122, 20),
    "biotracer/log225_MusicTwitter.txt": (185, 18),
    "cloudphysics/cloudPhysicsIO.vscsi": (1052, 10),
    "disksim-ssd/ssd-iozone-aligned2-100K.trace": (1060, 8),
}


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, marks=pytest.mark.long if mib > 1000 else ())
        for file, (mib, _) in SEPARATED.items()
    ],
)
def test_sepbit_writes_less_than_greedy_on_recorded_traces(nandlab_command, tmp_path, file):
    """Published of SepBIT (Wang et al., FAST 2022): below greedy, with and without a frontier for survivors.

    The table of docs/validation.md, made by this.
    """
    mib, times = SEPARATED[file]
    path = write(
        tmp_path / "separated.toml",
        f'[workload.trace]\npath = "{TRACES}/{file}"\naddresses = "compact"\nrepeat = {times}\n'
        f'[precondition]\nfill = "sequential"\nwarm_up = {listed()[file] * times // 2}\n'
        f'[ftl.page]\n[device]\nmodel = "counting"\ncapacity = "{mib} MiB"\nover_provisioning = 0.15\n'
        "[device.shape]\nchannels = 1\ndies_per_channel = 1\npage_bytes = 4096\npages_per_block = 64\n",
    )
    waf = {}
    for placement in ("one", "two", "dac", "sepbit"):
        ended = nandlab_command("run", path, "--set", f"ftl.page.placement={placement}", "--json")
        assert ended.status == 0, ended.err
        waf[placement] = ended.document["waf"]
    assert waf["sepbit"] < waf["two"] < waf["one"]
