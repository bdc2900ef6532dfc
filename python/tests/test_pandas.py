"""`to_pandas()` of results: with pandas, and without."""

import sys
from types import SimpleNamespace

import pytest

import nandlab
from nandlab.choosing import Advice, Candidate, Measured, Wish

SMALL = nandlab.Experiment(
    workload=nandlab.workload.uniform(requests=2000),
    ftl=nandlab.ftl.page(),
    device=nandlab.Device(capacity="8 MiB", over_provisioning=0.5),
)


def advice():
    wish = Wish({"phone": {}}, 2**20)
    measured = [Measured(Candidate("fat", SMALL), None, "it takes too much RAM")]
    return Advice(wish, measured, None, [])


MAKE = {
    "run": lambda: SMALL.run(),
    "compare": lambda: nandlab.compare({"one": SMALL, "two": SMALL.replace(seed=2)}),
    "sweep": lambda: nandlab.sweep(SMALL, {"seed": [1, 2, 3]}, goals=["waf"]),
    "choose": advice,
}


@pytest.fixture(scope="module")
def results():
    return {name: make() for name, make in MAKE.items()}


@pytest.fixture(params=MAKE)
def result(request, results):
    return results[request.param]


def test_without_pandas_the_extra_is_named(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas: pip install 'nandlab\[pandas\]'"):
        result.to_pandas()


@pytest.fixture
def columns(monkeypatch):
    """A pandas whose frames are their columns."""
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))


@pytest.mark.usefixtures("columns")
def test_frames_have_a_row_for_each_result(results):
    run = results["run"].to_pandas()
    assert run["waf"] == [results["run"].waf]
    assert run["flash.erases"] == [results["run"].flash.erases]
    compared = results["compare"].to_pandas()
    assert compared["design"] == ["one", "two"]
    assert compared["waf"] == [each.waf for each in results["compare"].results.values()]
    swept = results["sweep"].to_pandas()
    assert (swept["seed"], len(swept["waf"]), swept["error"]) == ([1, 2, 3], 3, [None] * 3)
    chosen = results["choose"].to_pandas()
    assert chosen == {"name": ["fat"], "fits": [False], "why_not": ["it takes too much RAM"]}


def test_a_frame_of_pandas_itself(result):
    pandas = pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) >= 1


def test_each_docstring_tells_columns_and_units():
    for kind in (nandlab.Result, nandlab.Comparison, nandlab.Sweep, Advice):
        text = kind.to_pandas.__doc__
        assert "unit" in text and "olumn" in text, kind
