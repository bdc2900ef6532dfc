"""The notebooks of the documentation run from their first cell to their last."""

import json
from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"


def executed(name):
    """A notebook after its execution, and what its cells have shown."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    where = {"metadata": {"path": str(NOTEBOOKS)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=where).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in shown if output["output_type"] == "error"]
    return notebook, shown


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_the_notebook_comes_to_a_decision():
    notebook, shown = executed("trace-to-decision.ipynb")
    charts = [output for output in shown if "image/png" in output.get("data", {})]
    assert len(charts) >= 3
    # Its question has an answer: a design that fits both limits.
    decision = next(cell for cell in notebook.cells if cell.source.startswith("answer ="))
    assert "'design'" in decision.outputs[-1]["data"]["text/plain"]


@pytest.mark.filterwarnings("default")
def test_a_victim_of_ones_own_comes_to_a_picture():
    notebook, shown = executed("own-victim.ipynb")
    assert [output for output in shown if "image/png" in output.get("data", {})]
    best = next(cell for cell in notebook.cells if cell.source.endswith("\nbest"))
    # As docs/validation.md has it for blocks of 64 pages and greedy, which is a little better than fifo.
    assert 1.597 < float(best.outputs[-1]["data"]["text/plain"]) < 1.66


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
