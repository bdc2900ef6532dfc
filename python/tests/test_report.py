"""Reports: one file that needs nothing else, and holds what was measured."""

import json
import re
from html.parser import HTMLParser

import pytest
from conftest import SMALL, without_scripts, write

import nandlab
from nandlab.report import compared, course, html, theme
from nandlab.report.comparison import Runs, comparison_page
from nandlab.report.run import run_page
from nandlab.writing import new_file, units
from nandlab.writing.toml_text import toml_text

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Collects tags, what they refer to, and text; refuses tags that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.references, self.words, self._open = [], [], [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.references += [
            value
            for name, value in attrs
            if name in ("src", "href", "xlink:href", "data", "srcset", "poster")
        ]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def pages(small_result):
    pairs = [({"OP": f"{at} %", "page": "4 KiB"}, small_result) for at in range(10)]
    return [
        run_page(small_result, "nandlab run small.toml"),
        comparison_page(pairs, "nandlab compare small.toml"),
    ]


def test_a_report_loads_nothing(pages):
    """A script comes with the page; test_browser.py sees that it asks for nothing either."""
    for text in pages:
        page = Page(text)
        assert not {"link", "img", "iframe", "object", "embed"} & set(page.tags)
        assert [reference for reference in page.references if not reference.startswith("#")] == []
        still = without_scripts(text)
        assert not re.search(r"url\(|@import", still)
        # Names of XML languages are no addresses.
        assert set(re.findall(r"https?://[^\"'\s<]+", still)) <= {"http://www.w3.org/2000/svg"}


def charts_of(text):
    """The specifications in a page."""
    found = re.findall(r'<script type="application/json" class="chart">(.*?)</script>', text, re.DOTALL)
    return [json.loads(each) for each in found]


def test_a_report_has_every_chart_still_and_live_and_the_library_once(pages):
    for text in pages:
        assert len(charts_of(text)) == text.count("<figure>") > 5
        assert without_scripts(text).count("<svg ") == text.count("<figure>")
        assert text.count("window.vegaEmbed=") == 1
    assert "<script" not in html.page("no charts", "", [html.paragraph("none")])


def test_no_name_ends_the_script_it_stands_in(small_result):
    name = "</script><script>alert(1)</script><!--"
    text = comparison_page([({"n": name}, small_result), ({"n": "b"}, small_result)], None)
    assert "alert(1)</script>" not in text
    assert "<script>alert" not in text
    charts = charts_of(text)
    assert charts and all(name in json.dumps(chart) for chart in charts)
    # Each script ends where it should: the library, the page's own, the look, and the charts.
    assert Page(text).tags.count("script") == len(charts) + 3


def test_a_page_with_charts_has_the_licences_of_its_script(pages):
    for text in pages:
        before = text.partition("window.vegaEmbed=")[0]
        # What BSD-3-Clause, ISC and MIT ask a copy to have: the holder, the conditions, the disclaimer.
        for words in (
            "University of Washington Interactive Data Lab",
            "Redistributions of source code must retain the above copyright",
            "Neither the name of the copyright holder nor the names",
            "Mike Bostock",
            "provided that the above copyright notice",
            "Joachim Wester",
            "The above copyright notice and this permission notice shall be",
        ):
            assert words in before, words
        assert text.count("== Vega-Embed ==") == 1
    assert "Interactive Data Lab" not in html.page("no charts", "", [html.paragraph("none")])


def test_a_report_is_small(pages):
    assert all(len(text.encode()) < 2_000_000 for text in pages)


def test_a_report_holds_the_figures(small_result, pages):
    for text in map(Page, pages):
        assert units.ratio(small_result.waf) in text.text
        assert units.count(small_result.flash.erases) in text.text
        assert f"nandlab {small_result.version}" in text.text
        assert "seed 3" in text.text
        assert "over_provisioning = 0.25" in text.text
    assert "nandlab run small.toml" in pages[0]
    assert "nandlab compare small.toml" in pages[1]


def test_every_quantity_has_a_unit(pages):
    run = Page(pages[0]).text
    for title in (
        "simulated time (s)",
        "throughput (MB/s)",
        "WAF (ratio)",
        "free blocks (of ",
        "P/E cycles of a block",
        "valid pages of a block in use",
        "memory (KiB)",
        "requests (%)",
        "latency (simulated time)",
        "share of requests that took longer (%)",
        "write amplification (flash programs / host writes)",
    ):
        assert title in run


def test_charts_take_their_colours_from_the_page(pages):
    style = pages[0].split("<style>")[1].split("</style>")[0]
    for text in pages:
        used = set(re.findall(r"var\((--\w+)\)", text))
        assert used - {f"--{html.MARK}"} <= set(re.findall(r"(--\w+):", style))
        drawn = text.split("</style>", 1)[1]
        assert set(re.findall(r"(?:fill|stroke)=\"(#\w+|black|white)\"", drawn)) == set()


def test_twenty_lines_differ_in_colour_or_dashes():
    names = [f"design {at}" for at in range(20)]
    rows = [
        {"requests": x, "value": 1 + x / 10 + at, "line": name, "panel": "all"}
        for at, name in enumerate(names)
        for x in range(3)
    ]
    drawn = compared.over_time(rows, names, "design", ["all"], "WAF (ratio)").svg()
    lines = re.findall(r"<path aria-label=\"host requests: [^>]*>", drawn)
    looks = {tuple(re.findall(r"(?:stroke|stroke-dasharray)=\"([^\"]*)\"", line)) for line in lines}
    assert len(lines) == len(looks) == 20
    # What is told apart by colour alone is told apart well: the two browns are not.
    dashes = {name: theme.DASHES[at % len(theme.DASHES)] for at, name in enumerate(names)}
    assert dashes["design 1"] != dashes["design 4"]


def contrast(one, other):
    """Contrast of two colours after WCAG 2.2."""

    def luminance(colour):
        parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_and_charts_stand_out_in_every_theme(pages):
    style = pages[0].split("<style>")[1].split("</style>")[0]
    blocks = [
        dict(re.findall(r"(--\w+): (#\w{6})", block)) for block in re.findall(r":root \{[^}]*\}", style)
    ]
    assert len(blocks) == 3
    # Pictures that leave the page have the colours of its themes.
    assert [theme.colours("light"), theme.colours("dark")] == blocks[:2]
    for colours in blocks:
        assert contrast(colours["--ink"], colours["--paper"]) > 7
        assert contrast(colours["--soft"], colours["--paper"]) > 4.5
        for at in range(len(theme.COLOURS)):
            assert contrast(colours[f"--c{at}"], colours["--paper"]) > 2.2


def test_names_of_files_are_escaped(nandlab_command, tmp_path):
    path = write(tmp_path / "a<b>&.toml", SMALL)
    ended = nandlab_command("compare", path, "--report", tmp_path / "report.html")
    assert ended.status == 0
    text = (tmp_path / "report.html").read_text()
    assert "a&lt;b&gt;&amp;" in text
    assert "a<b>" not in text
    Page(text)


def test_run_and_compare_write_reports(nandlab_command, small, tmp_path):
    ended = nandlab_command("run", small, "--report", tmp_path / "run.html", alone=True)
    assert ended.status == 0
    assert f"nandlab run {small} --report" in Page((tmp_path / "run.html").read_text()).text
    ended = nandlab_command(
        "compare", small, "--vary", "seed=1,2", "--report", tmp_path / "compare.html", alone=True
    )
    assert ended.status == 0
    assert "2 runs compared" in Page((tmp_path / "compare.html").read_text()).text


def uniform(requests, **tables):
    usual = {"ftl": {"page": {}}, "device": {"capacity": "16 MiB", "over_provisioning": 0.25}}
    return nandlab.Experiment(workload={"uniform": {"requests": requests}}, **{**usual, **tables})


@pytest.fixture(scope="module")
def stopped_result():
    """A run that was stopped before its end."""
    run = uniform(2_000_000_000).start()
    while run.progress()[1] == 0:
        run.wait(0.05)
    run.cancel()
    assert run.wait(30)
    return run.result()


def test_runs_that_failed_or_were_stopped_keep_their_row(small_result, stopped_result):
    text = comparison_page(
        [
            ({"OP": "7 %", "FTL": "page"}, "no block is left, after 17 requests"),
            ({"OP": "14 %", "FTL": "page"}, small_result),
            ({"OP": "28 %", "FTL": "page"}, stopped_result),
        ],
        None,
    )
    Page(text)
    assert "3 runs compared" in text
    assert "1 of 3 runs has no result. 1 was stopped before the end" in text
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", text, re.DOTALL)
    (failed,) = [row for row in rows if "no block is left, after 17 requests" in row]
    assert units.NO_VALUE in failed
    partial = [row for row in rows if "stopped" in row]
    done = stopped_result.host.requests
    assert any(f"partial: stopped after {done} requests" in row for row in partial)
    assert "OP 28 %, page (partial)" in text


def test_compare_reports_what_failed(nandlab_command, tmp_path):
    path = write(tmp_path / "trace.toml", '[workload.trace]\npath = "a.csv"\n[ftl.page]\n')
    write(tmp_path / "a.csv", "time_us,op,sector,sectors,origin\n0,W,0,8,database\n")
    report = tmp_path / "report.html"
    arguments = ("compare", path, "--vary", "workload.trace.path=a.csv,absent.csv", "--report", report)
    ended = nandlab_command(*arguments, cwd=tmp_path)
    assert ended.status == 2
    assert "error: absent: " in ended.err
    assert re.search(r"^absent .*failed$", ended.out, re.MULTILINE)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", report.read_text(), re.DOTALL)
    assert [row for row in rows if ">absent<" in row and "no such file" in row]


def test_without_any_result_there_is_no_report_and_that_is_said(nandlab_command, tmp_path):
    path = write(tmp_path / "trace.toml", '[workload.trace]\npath = "absent.csv"\n[ftl.page]\n')
    ended = nandlab_command("compare", path, "--report", tmp_path / "report.html")
    assert ended.status == 2
    assert "no report was written" in ended.err
    assert list(tmp_path.iterdir()) == [path]


def test_one_run_is_not_runs(small_result):
    assert "<h1>One run: page-op7</h1>" in comparison_page([({"experiment": "page-op7"}, small_result)], None)


def test_a_report_says_why_a_run_was_stopped():
    device = nandlab.Device(capacity="16 MiB", over_provisioning=0.25, faults={"erase_failure_rate": 0.05})
    worn = uniform(2_000_000, device=device)
    with pytest.raises(nandlab.DeviceFull) as caught:
        worn.run()
    result = caught.value.result
    for text in (run_page(result, None), comparison_page([({"n": "1"}, result)], None)):
        assert f"stopped {result.stopped.message}" in Page(text).text
    assert "the device is worn out" in result.stopped.message


def test_what_a_buffer_did_stands_in_tables_and_reports(small_result, nandlab_command, small):
    result = uniform(1000, buffer=nandlab.buffer.pass_through()).run()
    assert "write buffer 0 % hits 1,000 missed" in Page(run_page(result, None)).text
    compared = comparison_page([({"n": "1"}, result), ({"n": "2"}, small_result)], None)
    assert "buffer hits" in compared
    assert "buffer hits" not in comparison_page([({"n": "2"}, small_result)], None)
    ended = nandlab_command("run", small, "--set", "buffer=pass_through")
    assert re.search(r"write buffer +0 % hits +20,000 missed", ended.out)


def test_a_workload_has_its_own_panel(small_result):
    other = uniform(3000).run()
    pairs = [({"n": n, "FTL": ftl}, run) for n, run in (("x", small_result), ("y", other)) for ftl in "ab"]
    runs = Runs(pairs)
    assert (runs.panels, runs.designs) == (["x", "y"], ["a", "b"])
    same = Runs([({"n": n, "FTL": ftl}, small_result) for n in "xy" for ftl in "ab"])
    assert (same.panels, same.designs) == ([""], ["x, a", "x, b", "y, a", "y, b"])


def test_a_run_that_erased_nothing_has_words_for_its_wear():
    result = uniform(100).run()
    assert result.wear.max == 0
    for text in (run_page(result, None), comparison_page([({"n": "1"}, result)], None)):
        assert "No block was erased." in text
        assert ">P/E cycles of a block" not in text


def test_a_last_short_sample_is_no_spike():
    # The last sample covers a single request, which had to wait for a whole collection.
    series = [(1000 * n, 8000 * n, 2.0) for n in range(1, 200)] + [(199_001, 199 * 8000 + 8, 60.0)]
    drawn = course.windows(series)
    assert len(drawn) <= 80
    assert drawn[-1][0] == 199_001
    assert max(waf for _, waf in drawn) < 2.1
    # All that was programmed is in some window.
    ends = [0, *(requests for requests, _ in drawn)]
    written = {requests: sectors for requests, sectors, _ in [(0, 0, 0), *series]}
    spans = [written[end] - written[start] for start, end in zip(ends, ends[1:], strict=False)]
    programmed = sum(waf * span for (_, waf), span in zip(drawn, spans, strict=True))
    assert programmed == pytest.approx(2 * 199 * 8000 + 60 * 8)


def test_what_may_be_wide_scrolls_in_its_own_box(pages):
    for text in map(without_scripts, pages):
        wide = len(re.findall(r"<table|<svg ", text))
        assert wide == len(re.findall(r'<div class="scroll(?: broad)?"[^>]*>(?:<table|<svg )', text))


def test_a_report_replaces_an_older_one(small_result, tmp_path):
    path = write(tmp_path / "report.html", "old")
    small_result.report(path)
    assert path.read_text().startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [path]


def test_write_whole_cleans_up_after_an_error(tmp_path, monkeypatch):
    def full(_descriptor):
        raise OSError(28, "No space left on device")

    path = write(tmp_path / "report.html", "old")
    monkeypatch.setattr(new_file.os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write .*report\.html: no space left on device"):
        new_file.write_whole(path, b"new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


BOARD = """\
[workload.uniform]
requests = 10

[ftl.{ftl}]

[device]
profile = "jasmine"
capacity = "256 MiB"
over_provisioning = 1.0
"""


def of_controller(ended):
    """The line about the controller in what a run prints."""
    return [" ".join(line.split()) for line in ended.out.splitlines() if line.startswith("controller")]


def test_memory_is_set_beside_that_of_the_controller(nandlab_command, tmp_path):
    """The board of the sector map has 96 KiB of SRAM; 8,192 entries of DFTL take 160."""
    fits = write(tmp_path / "fits.toml", BOARD.format(ftl="superpage"))
    ended = nandlab_command("run", fits, "--report", tmp_path / "fits.html")
    ram = nandlab_command("run", fits, "--json").document["ram"]
    used = sum(ram["sram"].values()), sum(ram["dram"].values())
    assert ram["controller"] == {
        "sram_bytes": 96 * 1024,
        "dram_bytes": 64 * 2**20,
        "used_sram_bytes": used[0],
        "used_dram_bytes": used[1],
    }
    sizes = f"{units.size(used[0])} of 96 KiB, {units.size(used[1])} of 64 MiB"
    line = f"controller SRAM {units.percent(used[0] / 98304, 0)}, DRAM under 1 % {sizes}"
    assert of_controller(ended) == [line]
    page = Page((tmp_path / "fits.html").read_text(encoding="utf-8")).text
    assert f"Of the controller's memory: SRAM 4 %, DRAM under 1 % ({sizes})." in page
    exceeds = write(tmp_path / "exceeds.toml", BOARD.format(ftl="dftl"))
    (line,) = of_controller(nandlab_command("run", exceeds))
    least = 20 * 8192 - 98304
    missing = re.search(r"; ([\d.]+) KiB of SRAM are missing$", line)
    assert missing is not None and float(missing[1]) * 1024 >= least - 52, line


def test_a_profile_of_ones_own_may_name_the_controller(nandlab_command, tmp_path, small):
    """And one that names none has no line."""
    assert of_controller(nandlab_command("run", small)) == []
    text = nandlab_command("run", small, "--json").document["experiment"]["device"]
    shape = {**text["shape"], "blocks_per_plane": 64}
    tables = {"shape": shape, "rules": text["rules"], "timing": text["timing"]}
    head = {"name": "mine", "description": "a chip", "source": "none"}
    own = write(tmp_path / "own.toml", SMALL + 'profile = "./mine.toml"\n')
    for controller, words in (
        ({"sram_bytes": 1000}, r"DRAM is not given, and [\d.]+ KiB are needed$"),
        ({"sram_bytes": 1000, "dram_bytes": 0}, r"KiB of DRAM are missing$"),
    ):
        write(tmp_path / "mine.toml", toml_text({**head, **tables, "controller": controller}))
        (line,) = of_controller(nandlab_command("run", own))
        assert line.startswith("controller SRAM ") and " of 1,000 B; " in line
        assert re.search(words, line) and ("missing" in line) == ("dram_bytes" in controller), line
    write(tmp_path / "mine.toml", toml_text({**head, **tables, "controller": {"sram_bytes": 0}}))
    ended = nandlab_command("run", own)
    assert ended.status == 2
    assert "mine.toml, line " in ended.err and "controller.sram_bytes: 0 is no size of a memory" in ended.err


def test_a_design_without_a_lifetime_is_named_with_its_reason():
    untold = nandlab.Experiment(
        workload=nandlab.workload.zipf(requests=20_000),
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(capacity="32 MiB", over_provisioning=0.2, model="counting"),
    ).run()
    assert untold.lifetime.even is None and "never erased" in untold.lifetime.too_short
    page = comparison_page([({"design": "new"}, untold), ({"design": "blank"}, untold)], None)
    assert f"new: {untold.lifetime.too_short}" in " ".join(Page(page).text.split())
    assert f"blank: {untold.lifetime.too_short}" in " ".join(Page(page).text.split())


def test_a_name_with_control_characters_is_drawn(nandlab_command, small, tmp_path):
    name = 'b<i>"\x1b[31m\x01'
    other = write(tmp_path / f"{name}.toml", SMALL.replace("seed = 3", "seed = 4"))
    done = nandlab_command("compare", small, other, "--report", tmp_path / "r.html")
    assert done.status == 0, done.err
    text = (tmp_path / "r.html").read_text()
    assert "b&lt;i&gt;" in text
    assert 'b<i>"' not in text
    assert not set("\x1b\x01") & set(text.partition("<svg")[2].partition("</svg>")[0])
