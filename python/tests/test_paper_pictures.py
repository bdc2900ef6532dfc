"""The pictures on the five papers' pages: one for each published figure, and each that of its data."""

import copy
import re
from pathlib import Path

import pytest
from programs import script

ROOT = Path(__file__).parents[2]
NAMES = ("btree", "migration", "minv", "sector-map", "wap-lru")
BOARD = {"migration": {"Fig. 6"}}
"""Fig. 6 of the migration paper is measured on a board."""


@pytest.fixture(scope="module")
def pictures():
    """The script that draws."""
    return script(ROOT / "docs" / "images" / "papers.py")


def page(name):
    """A paper's page."""
    return (ROOT / "docs" / "papers" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_that_of_its_data_its_file_and_the_code(pictures, name):
    assert not pictures.stale(name)


def test_other_data_another_file_or_another_image_are_seen(pictures):
    entry, image = pictures.stored("minv")["time"], pictures.png("minv", "time").read_bytes()
    changed = copy.deepcopy(entry)
    changed["data"]["rows"][0]["y"][0] += 1
    seen = {
        pictures.fingerprint(entry, image),
        pictures.fingerprint(changed, image),
        pictures.fingerprint({**entry, "file": "other"}, image),
        pictures.fingerprint(entry, image + b" "),
    }
    assert len(seen) == 4


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_is_on_its_page(pictures, name):
    """And no picture of a paper lies beside them."""
    on_page = re.findall(r"^!\[[^]]+\]\(\.\./images/([^)]*)\)$", page(name), re.MULTILINE)
    drawn = [pictures.png(name, each).name for each in pictures.PICTURES[name]]
    assert sorted(on_page) == sorted(drawn)
    assert {path.name for path in (ROOT / "docs" / "images").glob(f"{name}-*.png")} == set(drawn)


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_with_a_claim_has_a_picture(pictures, name):
    wheres = [claim.where for claim in pictures.read(name).claims if not claim.id.startswith("beyond.")]
    named = {found for where in wheres for found in re.findall(r"Fig\. \d+(?:\([a-z]\))?", where)}
    if name in ("btree", "sector-map"):
        named.add("Table 1")
    titles = " ".join(re.findall(r"^!\[([^]]+)\]", page(name), re.MULTILINE))
    assert not [each for each in named - BOARD.get(name, set()) if f"({each})" not in titles]


def test_rows_are_packed_and_unpacked(pictures):
    rows = [{"panel": "a", "x": at, "y": at * at} for at in range(5)]
    rows += [{"panel": "b", "x": 7, "y": 1, "front": True}]
    packed = pictures.packed(rows)
    assert packed[0] == {"panel": "a", "x": {"from": 0, "to": 4}, "y": [0, 1, 4, 9, 16]}
    assert pictures.unpacked(packed) == rows


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_stored_data_are_those_of_a_run(pictures, name):
    """What `nandlab reproduce` shows, drawn alone."""
    found = pictures.shown(pictures.run(pictures.read(name)))
    stored = pictures.stored(name)
    for each, picture in found.items():
        entry = pictures.entry_of(picture)
        assert entry == {key: stored[each][key] for key in entry}, f"run python docs/images/papers.py {name}"
