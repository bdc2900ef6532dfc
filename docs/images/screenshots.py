"""Draws docs/images/report-*.png and demo.png: reports as a browser shows them, after `make demo`.

`python docs/images/screenshots.py` needs a Chromium, as the test of reports in a browser does.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nandlab

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "python" / "tests"))

import browser  # noqa: E402 - a module of the tests

WIDTH, HEIGHT = 1010, 1620


def main() -> None:
    """Draws them."""
    page = browser.Browser(browser.find())
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        experiment = nandlab.Experiment.from_toml(ROOT / "experiments" / "page-op7.toml")
        experiment.run().report(report, "nandlab run experiments/page-op7.toml --report report.html")
        for dark, name in ((False, "report-light.png"), (True, "report-dark.png")):
            page.open(report, WIDTH, 3400, dark)
            page.value("window.chartsDrawn.then(() => true)")
            page.screenshot(HERE / name)
    demo = ROOT / "reports" / "demo.html"
    if demo.exists():
        page.open(demo, WIDTH, HEIGHT)
        page.value("window.chartsDrawn.then(() => true)")
        page.screenshot(HERE / "demo.png")
    page.close()


if __name__ == "__main__":
    main()
