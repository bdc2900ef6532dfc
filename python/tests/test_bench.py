"""Every bench runs in its quick form; how fast is for `make bench` to say."""

import json

from nandlab._native import bench


def test_every_quick_bench_measures_something():
    said = []
    figures = json.loads(bench([], True, said.append))
    assert len(figures) >= 10
    assert said
    for figure in figures:
        assert figure["unit"], figure
        assert 0 < figure["lowest"] <= figure["value"] <= figure["highest"], figure
