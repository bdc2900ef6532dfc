"""Every bench runs in its quick form; how fast is for `make bench` to say."""

import json

from nandlab._native import bench
from nandlab.sweeping.bench import bench as bench_of_sweeps


def test_every_quick_bench_measures_something():
    said = []
    figures = [*json.loads(bench([], True, said.append)), bench_of_sweeps(quick=True, tell=said.append)]
    assert len(figures) >= 10
    assert said[-1] == "sweep"
    for figure in figures:
        assert figure["unit"], figure
        assert 0 < figure["lowest"] <= figure["value"] <= figure["highest"], figure


def test_the_command_measures_sweeps_beside_hot_loops(nandlab_command):
    figures = nandlab_command("bench", "sweep", "buffer_pass_through", "--quick", "--json").document[
        "figures"
    ]
    assert [figure["name"] for figure in figures] == ["buffer_pass_through", "sweep"]
    assert set(figures[1]["params"]) == {"requests", "jobs", "efficiency"}
    assert "no bench `nosuch`" in nandlab_command("bench", "nosuch").err
