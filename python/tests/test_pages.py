"""The pages of the documentation: how long each may be, and the questions that each answers.

A page's size counts the words that somebody wrote: neither code nor pictures, nor what a program writes
between two marks.
"""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SIZES = {
    "README.md": 700,
    "ARCHITECTURE.md": 1500,
    "CONTRIBUTING.md": 1500,
    "docs/index.md": 300,
    "docs/tutorial.md": 900,
    "docs/install.md": 500,
    "docs/concepts.md": 1400,
    "docs/hosts.md": 2050,
    "docs/zones.md": 750,
    "docs/tenants.md": 850,
    "docs/disks.md": 2500,
    "docs/nvme.md": 1000,
    "docs/indexes.md": 2000,
    "docs/lsm.md": 600,
    "docs/firmware.md": 1700,
    "docs/switching.md": 1000,
    "docs/reproduce.md": 1500,
    "docs/papers/btree.md": 1200,
    "docs/papers/migration.md": 1200,
    "docs/papers/minv.md": 1200,
    "docs/papers/sector-map.md": 1200,
    "docs/papers/wap-lru.md": 1200,
    "docs/papers/drives.md": 1200,
    "docs/papers/fdp.md": 1200,
    "docs/papers/lsm.md": 1200,
    "docs/papers/placement.md": 1200,
    "docs/papers/wap-lru-traces.md": 1200,
    "docs/papers/zones.md": 1200,
    "docs/papers/hybrids.md": 500,
    "docs/papers/migration-optimum.md": 500,
    "docs/comparing.md": 2000,
    "docs/buffers.md": 700,
    "docs/outputs.md": 1500,
    "docs/devices.md": 2200,
    "docs/power-cuts.md": 1200,
    "docs/calibrating.md": 1500,
    "docs/traces.md": 2000,
    "docs/fio.md": 500,
    "docs/own-policies.md": 500,
    "docs/performance.md": 600,
    "docs/validation.md": 2000,
}
"""Words at most."""

TABLES_APART = {"docs/switching.md"}
"""Pages of measured tables: only the words outside of tables count."""

QUESTIONS = Path(__file__).parent / "questions.csv"


def words(text):
    """How many words somebody wrote."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!-- (?!end of)([a-z ]+) -->.*?<!-- end of \1 -->", "", text, flags=re.DOTALL)
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)
    return len(re.findall(r"\w[^\s|]*", text))


def anchors(text):
    """The headings of a page as its links name them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


def test_words_leave_out_code_pictures_and_what_programs_write():
    text = "one two | three |\n\n![four](five.png)\n\n```console\n$ six\n```\n\n"
    text += "<!-- x -->\n| 7 |\n<!-- end of x -->\nlast\n"
    assert words(text) == 4


@pytest.mark.parametrize("page", SIZES)
def test_a_page_keeps_to_its_size(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    if page in TABLES_APART:
        text = re.sub(r"^\|.*\n", "", text, flags=re.MULTILINE)
    assert words(text) <= SIZES[page]


def test_every_question_has_its_place():
    """The anchor exists, and so do the words with which its answer begins."""
    with QUESTIONS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    lost = []
    for row in rows:
        path = ROOT / row["page"]
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        at = row["anchor"]
        if (at and at not in anchors(text)) or row["says"] not in " ".join(text.split()):
            lost.append(f"{row['question']} ({row['page']}#{at})")
    assert lost == []
    assert len({row["question"] for row in rows}) == len(rows) >= 30
