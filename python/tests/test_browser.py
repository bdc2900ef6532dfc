"""Reports in a real browser: nothing is loaded, nothing complained of, and every chart is there.

Long: a browser is no package of Python that make could install. Without one, test_report.py checks reports.
"""

import browser
import pytest
from conftest import write

import nandlab

pytestmark = pytest.mark.long

# The size of each chart in the page, how many shapes and words have a size, and words that are cut off.
CHARTS = """
[...document.querySelectorAll('figure svg')].map(svg => {
  const box = svg.getBoundingClientRect();
  const seen = one => { const b = one.getBBox(); return b.width > 0 || b.height > 0; };
  const inside = one => { const b = one.getBoundingClientRect();
    return b.left >= 0 && b.right <= document.documentElement.clientWidth + 1; };
  const marks = [...svg.querySelectorAll('path, rect, line')].filter(seen).length;
  const words = [...svg.querySelectorAll('text')].filter(one => one.textContent.trim());
  return {width: box.width, height: box.height, marks: marks, words: words.filter(seen).length,
    cut: words.filter(one => !inside(one)).map(one => one.textContent)};
})
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
    """A report of a run, and one of a comparison."""
    folder = tmp_path_factory.mktemp("reports")
    experiment = nandlab.Experiment.from_toml(write(folder / "small.toml", EXPERIMENT))
    first = experiment.run()
    first.report(folder / "run.html")
    from nandlab.report import write_comparison

    others = [experiment.replace(ftl={name: {}}).run() for name in ("fast", "bast")]
    runs = zip(({"FTL": name} for name in ("page", "fast", "bast")), (first, *others), strict=True)
    write_comparison(list(runs), folder / "compare.html", "nandlab compare")
    return folder


@pytest.fixture(scope="module")
def page():
    opened = browser.Browser(browser.find())
    yield opened
    opened.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("name", "charts"), [("run", 8), ("compare", 8)])
def test_a_report_in_a_browser(reports, page, name, charts, dark):
    path = reports / f"{name}.html"
    page.open(path, dark=dark)
    assert page.requests() == [path.as_uri()]
    assert page.complaints() == []
    found = page.value(CHARTS)
    assert len(found) >= charts
    for chart in found:
        assert chart["width"] > 200
        assert chart["height"] > 40
        assert chart["marks"] >= 2, chart
        assert chart["words"] >= 2, chart
        assert chart["cut"] == []
    paper = page.value("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(20, 24, 30)" if dark else "rgb(255, 255, 255)")
    # The page itself does not scroll sideways; what is wide does so in its box.
    assert page.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_report_fits_a_telephone(reports, page):
    page.open(reports / "run.html", width=390, height=800)
    assert page.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


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
