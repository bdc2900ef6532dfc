"""Reports: one file that needs nothing else, and holds what was measured."""

import re
from html.parser import HTMLParser

import pytest
from conftest import SMALL, write

from nandlab import new_file, units
from nandlab.report import charts, html
from nandlab.report.comparison import comparison_page
from nandlab.report.run import run_page

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
    for text in pages:
        page = Page(text)
        assert not {"script", "link", "img", "iframe", "object", "embed"} & set(page.tags)
        assert [reference for reference in page.references if not reference.startswith("#")] == []
        assert not re.search(r"url\(|@import", text)
        # Names of XML languages are no addresses.
        assert set(re.findall(r"https?://[^\"'\s<]+", text)) <= {"http://www.w3.org/2000/svg"}


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
        "host requests",
        "WAF (ratio)",
        "P/E cycles of a block",
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
    themes = [
        dict(re.findall(r"(--\w+): (#\w{6})", block)) for block in re.findall(r":root \{[^}]*\}", style)
    ]
    assert len(themes) == 3
    for theme in themes:
        assert contrast(theme["--ink"], theme["--paper"]) > 7
        assert contrast(theme["--soft"], theme["--paper"]) > 4.5
        for at in range(len(charts.COLOURS)):
            assert contrast(theme[f"--c{at}"], theme["--paper"]) > 2.2


def test_names_of_files_are_escaped(nandlab_command, tmp_path):
    path = write(tmp_path / "a<b>&.toml", SMALL)
    ended = nandlab_command("compare", path, "--report", tmp_path / "report.html")
    assert ended.status == 0
    text = (tmp_path / "report.html").read_text()
    assert "a&lt;b&gt;&amp;" in text
    assert "a<b>" not in text
    Page(text)


def test_run_and_compare_write_reports(nandlab_command, small, tmp_path):
    ended = nandlab_command("run", small, "--report", tmp_path / "run.html")
    assert ended.status == 0
    assert f"nandlab run {small} --report" in Page((tmp_path / "run.html").read_text()).text
    ended = nandlab_command("compare", small, "--vary", "seed=1,2", "--report", tmp_path / "compare.html")
    assert ended.status == 0
    assert "2 runs compared" in Page((tmp_path / "compare.html").read_text()).text


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
