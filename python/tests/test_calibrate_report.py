"""Reports of `nandlab calibrate`, for a fit and for a probe; test_browser.py opens them."""

import json
import re

import pytest
from commands import run_here
from conftest import write
from test_calibrate import DRIVE
from test_probe import DRIVE as PROBED
from test_probe import simulated  # noqa: F401 - a fixture
from test_report import Page, charts_of

import nandlab
from nandlab.calibrate import calibrate, plan
from nandlab.calibrate.page import calibration_page
from nandlab.calibrate.probe.found import probe
from nandlab.calibrate.probe.page import probe_page

NAME = "</script><script>alert(1)</script>"
ROWS = f"""\
rw,bs,iodepth,iops,p99_us,name,hold_out
randread,4k,1,11000,98,"{NAME}",
randread,4k,16,70000,400,,
randread,4k,64,80000,,,yes
randread,16k,1,9000,,,
"""
FREE = {"device.timing.read_us": "30..90", "device.timing.erase_us": "1000..5000"}


def calibrated(folder):
    """A fit with a number that no row tells apart from another, and the profile's name."""
    rows = write(folder / "rows.csv", ROWS)
    experiment = nandlab.Experiment.from_toml(write(folder / "drive.toml", DRIVE))
    found = calibrate(plan(experiment, FREE, [rows], requests=300, budget=30))
    assert found is not None
    return found, "fit<b>.toml"


def probed(folder):
    """A probe of a simulated drive."""
    drive = write(folder / "probed.toml", PROBED)
    words = ["calibrate", "--probe-jobs", str(folder / "jobs"), "--writes", "--simulate", str(drive)]
    status, _, error = run_here(words, folder)
    assert status == 0, error
    return probe(str(folder / "jobs"))


def check(text):
    """A page that loads nothing, with every chart still and live; returns it."""
    page = Page(text)
    assert not {"link", "img", "iframe", "object", "embed"} & set(page.tags)
    assert [reference for reference in page.references if not reference.startswith("#")] == []
    assert len(charts_of(text)) == text.count("<figure>") > 0
    # The library, the page's own script, the look, and the charts.
    assert page.tags.count("script") == len(charts_of(text)) + 3
    assert len(text.encode()) < 2_000_000
    return page


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    return calibrated(tmp_path_factory.mktemp("fit"))


def test_a_fits_report_has_all_parts(fit):
    found, profile = fit
    text = calibration_page(found, profile, "nandlab calibrate <b>")
    page = check(text)
    for heading in (
        "Conclusions",
        "Free numbers",
        "Measured beside fitted",
        "Measured beside predicted",
        "What the rows cannot tell apart",
        "Over the queue depth",
        "Make it again",
    ):
        assert f"<h2>{heading}</h2>" in text
    assert "nandlab calibrate &lt;b&gt;" in text
    assert "fit&lt;b&gt;.toml" in text
    assert "alert(1)</script>" not in text
    for free, value in zip(found.plan.free, found.values, strict=True):
        assert free.key in page.text
        assert f"{value:g}" in page.text
    for line in (*found.lines, *found.predicted):
        assert f"{100 * line.error:+.1f} %" in page.text
    assert "simulated" in json.dumps(charts_of(text))
    assert "predicted" in json.dumps(charts_of(text))


def test_the_command_writes_the_report(nandlab_command, tmp_path):
    words = ["calibrate", write(tmp_path / "drive.toml", DRIVE), "--measured"]
    words += [write(tmp_path / "rows.csv", ROWS), "--requests", 200, "--budget", 8]
    words += [part for key, text in FREE.items() for part in ("--free", f"{key}={text}")]
    report = tmp_path / "fit.html"
    ended = nandlab_command(*words, "--output", tmp_path / "fit.toml", "--report", report, alone=True)
    assert ended.status == 0, ended.err
    assert f"report: {report}" in ended.out
    page = check(report.read_text())
    assert "nandlab calibrate" in page.text
    ended = nandlab_command(*words, "--output", tmp_path / "fit.toml", "--report", tmp_path / "rows.csv")
    assert ended.status == 2
    assert "rows.csv would overwrite" in ended.err


def test_a_probes_report_has_quantities_and_jobs(nandlab_command, simulated, tmp_path):  # noqa: F811
    report = tmp_path / "probe.html"
    ended = nandlab_command("calibrate", "--probe", simulated, "--report", report, "--json", alone=True)
    assert ended.status == 0, ended.err
    document = ended.document
    page = check(report.read_text())
    for each in document["quantities"]:
        assert each["name"] in page.text
    for each in document["repeats"]:
        assert each["job"] in page.text
        assert max(abs(each[name]) for name in each if name != "job") <= abs(document["worst"]["error"])
    assert not document["worst"]["warning"]
    said = re.search(r"The found drive repeats (\d+) jobs within [\d.]+ %", page.text)
    assert said is not None and int(said[1]) == len(document["repeats"]) > 40


def test_unknown_quantities_have_a_reason_in_the_report(simulated):  # noqa: F811
    found = probe(str(simulated))
    text = probe_page(found, "jobs<b>", None)
    assert "jobs&lt;b&gt;" in text
    assert "What cannot be known from these jobs" in text
    assert "it is too small to show" in text


def test_refused_with_jobs(nandlab_command, tmp_path):
    ended = nandlab_command("calibrate", "--probe-jobs", tmp_path / "jobs", "--report", tmp_path / "a.html")
    assert ended.status == 2
    assert "--report has no meaning with --probe-jobs" in ended.err
