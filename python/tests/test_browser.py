"""Reports in a real browser: nothing is loaded or complained of, and every chart is there and can be read.

Long: a browser is no package of Python that make could install. Without one, test_report.py checks reports.
"""

import browser
import pytest
import test_sweep_pictures as hard
from conftest import write
from test_calibrate_report import calibrated, probed

import nandlab
from nandlab.calibrate.page import calibration_page
from nandlab.calibrate.probe.page import probe_page

pytestmark = pytest.mark.long

# For each chart, when all are drawn: its size, how many shapes and words have a size, pairs of words of which
# one lies on the other, words that are cut off, and the smallest letters in pixels. The box of a word is as
# steep as the word, and without the space above and below its letters.
CHARTS = """
window.chartsDrawn.then(() => [...document.querySelectorAll('figure')].map(figure => {
  const svg = figure.querySelector(figure.classList.contains('drawn') ? '.live svg' : '.scroll svg');
  const edge = svg.getBoundingClientRect(), page = document.documentElement.clientWidth;
  const seen = one => { const b = one.getBBox(); return b.width > 0 || b.height > 0; };
  const words = [...svg.querySelectorAll('text')].filter(one => one.textContent.trim() && seen(one) &&
    Number(one.getAttribute('opacity') ?? 1) > 0);
  const boxes = words.map(one => {
    const box = one.getBBox(), to = one.getScreenCTM(), off = 0.15 * box.height;
    const at = (x, y) => { const p = new DOMPoint(x, y).matrixTransform(to); return [p.x, p.y]; };
    const [l, t, r, b] = [box.x + 0.5, box.y + off, box.x + box.width - 0.5, box.y + box.height - off];
    return {text: one.textContent, corners: [at(l, t), at(r, t), at(r, b), at(l, b)]};
  });
  const apart = (a, b) => [a, b].some(one => [[0, 1], [1, 2]].some(([i, j]) => {
    const [dx, dy] = [one[j][0] - one[i][0], one[j][1] - one[i][1]];
    const [p, q] = [a, b].map(box => box.map(([x, y]) => dx * x + dy * y));
    return Math.max(...p) <= Math.min(...q) || Math.max(...q) <= Math.min(...p);
  }));
  const overlaps = boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => !apart(a.corners, b.corners))
    .map(b => [a.text, b.text]));
  const inside = ([x, y]) => x >= Math.max(0, edge.left) - 1 && y >= edge.top - 1 && y <= edge.bottom + 1 &&
    x <= Math.min(page, edge.right) + 1;
  const scale = one => { const to = one.getScreenCTM(); return Math.hypot(to.a, to.b); };
  return {live: figure.classList.contains('drawn'), overlaps: overlaps,
    room: figure.clientWidth, width: edge.width, height: edge.height,
    marks: [...svg.querySelectorAll('path, rect, line')].filter(seen).length, words: words.length,
    cut: boxes.filter(one => one.text.includes('…') || !one.corners.every(inside)).map(one => one.text),
    letters: Math.min(...words.map(one => scale(one) * parseFloat(getComputedStyle(one).fontSize)))};
}))
"""

EXPERIMENT = """
[workload.uniform]
requests = 30000
read_share = 0.3

[ftl.page]

[device]
profile = "k9l8g08u0m"
capacity = "32 MiB"
over_provisioning = 0.15

[device.energy]
read_nj = 1500
program_nj = 4000
erase_nj = 34000
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A report of each command, and hard charts: many long names, crowded fronts, many panels."""
    folder = tmp_path_factory.mktemp("reports")
    experiment = nandlab.Experiment.from_toml(write(folder / "small.toml", EXPERIMENT))
    first = experiment.run()
    first.report(folder / "run.html")
    from nandlab.choosing.page import write_choice
    from nandlab.report import write_comparison

    others = [experiment.replace(ftl={name: {}}).run() for name in ("fast", "bast")]
    runs = zip(({"FTL": name} for name in ("page", "fast", "bast")), (first, *others), strict=True)
    write_comparison(list(runs), folder / "compare.html", "nandlab compare")
    goals = ["waf", "latency_us.write.p99"]
    varied = {"device.over_provisioning": [0.1, 0.2, 0.4], "ftl.page.victim": ["greedy", "fifo"]}
    nandlab.sweep(experiment, varied, goals=goals).report(folder / "sweep.html")
    free = {"device.over_provisioning": "0.1..0.5", "ftl.page.victim": "greedy,fifo"}
    nandlab.search(experiment, free, goals=goals, budget=12).report(folder / "search.html")
    wish = nandlab.Wish({"phone": {"transactions": 10}}, 1 << 20, nvram_bytes=1 << 20)
    write_choice(nandlab.choose(wish), folder / "choose.html")
    write(folder / "hard.html", hard_page())
    write(folder / "calibrate.html", calibration_page(*calibrated(folder), None))
    write(folder / "probe.html", probe_page(probed(folder), "jobs", None))
    return folder


DESIGNS = [f"sector_log with a long name {at}, OP {7 * at} %, victim greedy" for at in range(10)]
PANELS = ["a first workload, uniform, read share 30 %", "postmark"]


def hard_page():
    from nandlab.report import compared, html

    swept = [hard.pictures(hard.swept(*each)).values() for each in hard.HARD.values()]
    each = [(design, panel, at) for panel in PANELS for at, design in enumerate(DESIGNS)]
    parts, marks = ["memory map of pages", "x", "translation pages"], ["p50", "p99", "p99.9", "longest"]
    stacked = [
        {"design": design, "panel": panel, "part": part, "value": 1.25 * (1 + at)}
        for design, panel, at in each
        for part in parts
    ]
    courses = [
        {"requests": x * 1e6, "value": 1 + x * (at + 1), "line": design, "panel": panel}
        for design, panel, at in each
        for x in range(9)
    ]
    latencies = [
        {"design": design, "panel": panel, "percentile": mark, "latency_us": 10.0 * (1 + at) * (1 + rank)}
        for design, panel, at in each
        for rank, mark in enumerate(marks)
    ]
    compare = [
        compared.stacked(stacked, "part", parts, DESIGNS, PANELS, "energy (J)"),
        compared.over_time(courses, DESIGNS, "design", PANELS, "WAF (ratio)"),
        compared.over_time(courses, DESIGNS, None, PANELS[:1], "WAF (ratio)"),
        compared.latency(latencies, DESIGNS, marks, PANELS),
    ]
    drawn = [svg for each in swept for svg in each] + [picture.svg() for picture in compare]
    return html.page("Hard", "", map(html.figure, drawn))


@pytest.fixture(scope="module")
def page():
    opened = browser.Browser(browser.find())
    yield opened
    opened.close()


SAME_DATA = "Detected faceted independent scales that union domain of the same fields from different source"
"""Vega-Lite's warning of bars in panels with their sums: both come from the same rows, as it assumes."""


def complaints(page):
    """What the page complained of, without the known warning."""
    return [
        one
        for one in page.complaints()
        if SAME_DATA not in " ".join(str(each) for each in one.get("args", []))
    ]


FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
REPORTS = {
    "run": 8,
    "compare": 8,
    "sweep": 3,
    "search": 3,
    "choose": 1,
    "hard": 20,
    "calibrate": 2,
    "probe": 2,
}
"""Each report with the least number of charts in it."""


@pytest.mark.parametrize("width", [1400, 1000, 390])
@pytest.mark.parametrize("name", REPORTS)
def test_charts_take_the_width_and_their_words_have_room(reports, page, name, width):
    path = reports / f"{name}.html"
    page.open(path, width=width)
    found = page.value(CHARTS)
    assert page.requests() == [path.as_uri()]
    assert complaints(page) == []
    assert len(found) >= REPORTS[name]
    for chart in found:
        assert chart["live"]
        assert chart["room"] - 12 <= chart["width"] <= chart["room"]
        assert chart["room"] >= width - 50
        assert chart["height"] > 40 and chart["marks"] >= 2 and chart["words"] >= 2, chart
        assert chart["overlaps"] == []
        assert chart["cut"] == []
        assert chart["letters"] > 10.9
    # The page itself does not scroll sideways; what is wide does so in its box.
    assert page.value(FITS)


def test_overlaps_and_cut_words_are_found(page, tmp_path):
    text = '<text x="{}" y="20" font-size="12">page map</text>'
    svg = '<svg width="200" height="40" viewBox="0 0 200 40">' + "".join(map(text.format, (5, 30, 180)))
    write(
        tmp_path / "bad.html",
        f'<figure><div class="scroll">{svg}</svg></div></figure>'
        "<script>window.chartsDrawn = Promise.resolve()</script>",
    )
    page.open(tmp_path / "bad.html")
    (found,) = page.value(CHARTS)
    assert found["overlaps"] == [["page map", "page map"]]
    assert found["cut"] == ["page map"]
    assert not found["live"]


def test_charts_follow_the_dark_theme(reports, page):
    inks = []
    for dark in (False, True):
        page.open(reports / "run.html", dark=dark)
        page.value(CHARTS)
        paper = page.value("getComputedStyle(document.body).backgroundColor")
        assert paper == ("rgb(20, 24, 30)" if dark else "rgb(255, 255, 255)")
        inks.append(page.value("getComputedStyle(document.querySelector('.live text')).fill"))
    assert inks == ["rgb(29, 36, 48)", "rgb(230, 233, 237)"]


def test_a_chart_is_drawn_anew_when_the_page_gets_narrow(reports, page):
    page.open(reports / "run.html", width=1400)
    page.value(CHARTS)
    page.ask("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=False)
    page.value("new Promise(done => setTimeout(done, 600))")
    assert all(chart["width"] <= 390 and chart["letters"] > 10.9 for chart in page.value(CHARTS))


def point(page, at, **more):
    x, y = at
    page.ask("Input.dispatchMouseEvent", x=x, y=y, **more)
    page.value("new Promise(done => setTimeout(done, 250))")


def middle(page, what):
    """The middle of an element, scrolled into view."""
    return page.value(
        f"(one => {{ one.scrollIntoView({{block: 'center'}}); const b = one.getBoundingClientRect();"
        f" return [b.left + b.width / 2, b.top + b.height / 2]; }})({what})"
    )


def test_the_pointer_shows_the_figures_of_a_mark(reports, page):
    page.open(reports / "compare.html", width=1400)
    page.value(CHARTS)
    at = middle(page, "document.querySelector('.live .mark-rect.role-mark path')")
    point(page, at, type="mouseMoved")
    said = page.value("document.querySelector('#tip.seen').innerText")
    assert "design: page" in said and "cause: host" in said
    assert "write amplification (flash programs / host writes): 1" in said
    point(page, (2, 2), type="mouseMoved")
    assert page.value("document.querySelector('#tip.seen')") is None


TICKS = """[...document.querySelectorAll('figure:has(.live) .live')].at(-1)
  .querySelectorAll('.role-axis-label')[0].textContent"""


def test_the_wheel_zooms_and_a_double_click_puts_back(reports, page):
    page.open(reports / "sweep.html", width=1400)
    page.value(CHARTS)
    chart = "[...document.querySelectorAll('.live')].at(-1)"
    at = middle(page, chart)
    first = page.value(TICKS)
    wheel = {"type": "mouseWheel", "deltaX": 0, "deltaY": -300}
    # Without Ctrl the page scrolls.
    point(page, at, **wheel)
    assert page.value(TICKS) == first
    at = middle(page, chart)
    for _ in range(3):
        point(page, at, **wheel, modifiers=2)
    assert page.value(TICKS) != first
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            point(page, at, type=kind, button="left", clickCount=count)
    assert page.value(TICKS) == first
    assert page.complaints() == []


def test_without_scripts_the_pictures_are_there(reports, page):
    page.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(reports / "run.html", width=1400)
        still = "[...document.querySelectorAll('figure .scroll svg')].every(svg => svg.clientWidth > 300)"
        assert page.value(still)
    finally:
        page.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_paper_has_the_still_pictures(reports, page):
    page.open(reports / "run.html", width=703)
    page.value(CHARTS)
    page.ask("Emulation.setEmulatedMedia", media="print")
    shown = "[...document.querySelectorAll('figure > {}')].map(one => one.getBoundingClientRect().height > 0)"
    assert set(page.value(shown.format(".scroll"))) == {True}
    assert set(page.value(shown.format(".live"))) == {False}
    page.ask("Emulation.setEmulatedMedia", media="")


# How far what a box holds reaches over it, and its page.
REACH = """
[...document.querySelectorAll('.scroll')].map(box => {
  const inner = box.firstElementChild.getBoundingClientRect();
  return Math.max(inner.right - box.getBoundingClientRect().right, inner.right - document.body.clientWidth);
})
"""


@pytest.mark.parametrize(("width", "columns"), [(703, 10), (1032, 16)], ids=["upright", "across"])
def test_a_wide_table_fits_paper(reports, page, width, columns, tmp_path):
    """Pages of A4 within their margins, at 96 pixels an inch; no type is below 6 pixels."""
    from nandlab.report import html

    titles = ["design", *(f"write latency p99 of {at} (µs)" for at in range(columns))]
    rows = [["page, 0.28, uniform", *["1,234.56 ± 0.12"] * columns]] * 3
    wide = tmp_path / "wide.html"
    wide.write_text(
        html.page("wide", "", [html.table(titles, rows, range(1, columns + 1))]), encoding="utf-8"
    )
    for path in (wide, reports / "compare.html", reports / "run.html"):
        page.open(path, width=width)
        page.ask("Emulation.setEmulatedMedia", media="print")
        assert max(page.value(REACH)) <= 1, path
    page.ask("Emulation.setEmulatedMedia", media="")
