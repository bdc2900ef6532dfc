"""What the project declares about itself."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def named(text):
    """The packages that quoted or pinned requirements in `text` name."""
    return set(re.findall(r"^\s*\"?([a-z][\w-]*)[=<>]=", text, re.MULTILINE))


def test_what_runs_is_apart_from_the_tools_of_development():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    needed = named(project.split("\ndependencies = [")[1].split("]")[0])
    extra = named("\n".join(re.findall(r"\"[\w-]+>=[\d.]+\"", project.split("optional-dependencies]")[1])))
    pinned = named((ROOT / "python" / "requirements.txt").read_text(encoding="utf-8"))
    tools = named((ROOT / "python" / "requirements-dev.txt").read_text(encoding="utf-8"))
    assert needed == {"altair", "click", "great-tables", "polars", "rich", "vl-convert-python"}
    # maturin builds the package, which a user of a wheel does not.
    assert pinned == needed | {"maturin"}
    assert extra == {"distributed", "numpy", "optuna", "pandas", "scipy"}
    # Tests of to_pandas() have a stand-in for pandas, and scipy brings numpy.
    assert extra - {"numpy", "pandas"} < tools
    assert not tools & pinned
