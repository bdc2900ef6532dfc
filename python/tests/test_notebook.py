"""The notebook of the documentation runs from its first cell to its last.

Its execution is long.
"""

import json
from pathlib import Path

import nbclient
import nbformat
import pytest

PATH = Path(__file__).parents[2] / "docs" / "notebooks" / "trace-to-decision.ipynb"


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_the_notebook_comes_to_a_decision():
    notebook = nbformat.read(PATH, as_version=4)
    where = {"metadata": {"path": str(PATH.parent)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=where).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in shown if output["output_type"] == "error"]
    charts = [output for output in shown if "image/png" in output.get("data", {})]
    assert len(charts) >= 3
    # Its question has an answer: a design that fits both limits.
    decision = next(cell for cell in notebook.cells if cell.source.startswith("answer ="))
    assert "'design'" in decision.outputs[-1]["data"]["text/plain"]


def test_the_notebook_is_kept_without_outputs():
    for cell in json.loads(PATH.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
