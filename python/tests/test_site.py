"""The documentation site is built strictly, and its pages load nothing from elsewhere.

Long. Neither mkdocs nor a browser is needed to use or to change the project, so `make test` asks for neither;
`make test-long` installs mkdocs, and says where it finds no browser.
"""

import subprocess
import sys
from pathlib import Path

import browser
import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_every_ftl_option_and_command_has_its_place(site):
    import nandlab
    from nandlab.cli import COMMANDS

    page = (site / "reference" / "ftls.html").read_text(encoding="utf-8")
    for ftl in nandlab.lists()["ftls"]:
        assert f'id="{ftl["name"]}"' in page
        assert all(f"<code>{option}</code>" in page for option in ftl["options"].get("properties", {}))
    commands = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    assert all(f"Usage: nandlab {name} " in commands for name in COMMANDS)


def test_pages_load_nothing_from_elsewhere(site):
    page = browser.Browser(browser.find())
    try:
        for name in ("index", "concepts", "reference/python"):
            page.open(site / f"{name}.html")
            assert [one for one in page.requests() if not one.startswith(("file:", "data:", "blob:"))] == []
            assert page.value("[...document.images].every(one => one.naturalWidth > 0)")
    finally:
        page.close()
