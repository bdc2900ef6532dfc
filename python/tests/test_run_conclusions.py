"""Conclusions of run, compare, sweep and choose: each sentence follows the figures, and says something else
where they do; and what a notebook shows."""

import copy
from dataclasses import replace

import pytest
from conftest import write
from test_choose import advised, given

import nandlab
from nandlab.choosing.page import conclusions as of_choice
from nandlab.experiment.result import Result
from nandlab.figures.conclusions import of_comparison, of_run
from nandlab.sweeping.conclusions import conclusions as of_sweep
from nandlab.traces.trace import Trace


def experiment(ftl="page", requests=20000, **device):
    return nandlab.Experiment(
        workload=nandlab.workload.uniform(requests=requests),
        ftl={ftl: {}},
        device=nandlab.Device(**{"capacity": "16 MiB", "over_provisioning": 0.25, **device}),
    )


@pytest.fixture(scope="module")
def runs():
    return {name: experiment(name).run() for name in ("page", "fast", "block")}


def changed(result, **figures):
    """A result with other figures: `flash__erases` is `flash.erases`."""
    data = copy.deepcopy(result.to_dict())
    for path, value in figures.items():
        *tables, name = path.split("__")
        inner = data
        for table in tables:
            inner = inner[table]
        inner[name] = value
    return Result(data)


def test_a_run_names_its_largest_cause(runs):
    page, block = of_run(runs["page"]), of_run(runs["block"])
    assert 3 <= len(page) <= 6
    assert f"costs {runs['page'].waf:.2f} page programs; garbage collection is the largest" in page[0]
    assert "full merge is the largest" in block[0] and "garbage" not in block[0]


def test_a_run_without_extra_programs_says_so():
    fresh = experiment(requests=100).run()
    said = of_run(fresh)
    assert said[0] == "Each page of host writes costs 1.00 page programs, nearly all of them the host's own."
    assert any(each.startswith("No block was erased") for each in said)
    reads = experiment().replace(workload=nandlab.workload.uniform(requests=50, read_share=1.0)).run()
    assert of_run(reads)[0] == "Nothing was written to the flash."


def test_tails_and_wear_follow_their_figures(runs):
    page = runs["page"]
    write = {f"latency_us__write__{name}": value for name, value in (("p50", 100.0), ("p99", 1500.0))}
    assert any("or longer, 15 times the median" in each for each in of_run(changed(page, **write)))
    write["latency_us__write__p99"] = 150.0
    assert any("nearly the same time" in each for each in of_run(changed(page, **write)))
    uneven = changed(page, wear__max=100, wear__mean=10.0)
    assert "Wear is uneven: the most worn block has 10 times the mean P/E cycles." in of_run(uneven)
    even = changed(page, wear__max=11, wear__mean=10.0)
    assert any(each.startswith("Wear is even") for each in of_run(even))


def test_origins_are_named_with_their_share(runs):
    data = copy.deepcopy(runs["page"].to_dict())
    cell = next(each for each in data["matrix"] if each["erases"])
    other = {**cell, "origin": "journal"}
    data["matrix"] = [cell, other]
    assert any("half of the erases" in each for each in of_run(Result(data)))
    other["erases"] = 3 * cell["erases"]
    assert "Journal causes 75 % of the erases." in of_run(Result(data))


def test_a_comparison_names_best_and_worst(runs):
    said = of_comparison({"": {name: [result] for name, result in runs.items()}})
    erases = {name: result.flash.erases for name, result in runs.items()}
    factor = f"{erases['block'] / erases['page']:.0f} times that"
    assert 3 <= len(said) <= 6
    assert said[0] == f"page wears least ({erases['page']} erases); block has {erases['block']:,}, {factor}."
    assert any(each.startswith("In block full merge makes 98 %") for each in said)


def test_a_comparison_follows_its_figures(runs):
    page, fast = runs["page"], runs["fast"]
    better = changed(fast, flash__erases=1)
    assert of_comparison({"": {"page": [page], "fast": [better]}})[0].startswith("fast wears least")
    same = of_comparison({"": {"one": [page], "two": [page]}})
    assert same[0].startswith("The designs do not differ in erases")
    three = {"one": [page], "two": [page], "fast": [fast]}
    assert of_comparison({"": three})[0].startswith("one and two wear least")
    # The seeds differ by more than the designs.
    noisy = {
        "a": [changed(page, flash__erases=number) for number in (100, 300)],
        "b": [changed(page, flash__erases=number) for number in (110, 320)],
    }
    assert "do not differ in erases" in of_comparison({"": noisy})[0]
    panels = of_comparison({"w1": {"page": [page], "fast": [fast]}, "w2": {"page": [page], "fast": [better]}})
    assert panels[0].startswith("w1: page wears") and panels[1].startswith("w2: fast wears")
    assert len(panels) == 6 and panels[2].startswith("w1: page is fastest")
    many = of_comparison({f"w{at}": {"page": [page], "fast": [fast]} for at in range(9)})
    assert len(many) == 6 and all("wears least" in each for each in many)


def test_runs_that_ended_early_are_counted(runs):
    page = runs["page"]
    early = changed(page, partial=True)
    said = of_comparison({"": {"a": [page], "b": [runs["fast"]], "c": [early], "d": [early]}})
    assert said[-1] == "2 runs ended early and are not compared."
    said = of_comparison({"": {"a": [page], "b": [runs["fast"]], "c": [early]}})
    assert said[-1] == "1 run ended early and is not compared."


def test_a_sweep_of_one_key_says_whether_its_end_is_best():
    said = of_sweep(nandlab.sweep(experiment(), {"device.over_provisioning": "0.2,0.3,0.5"}))
    assert len(said) == 3
    assert said[2] == "waf is best at OP 50 %, an end of its values: a value beyond it may be better."
    flat = of_sweep(nandlab.sweep(experiment(), {"device.over_provisioning": "2.0,2.5,2.9"}))
    assert any(each.startswith("waf: no gain beyond OP") for each in flat)
    assert not any("an end of its values" in each for each in flat)


def test_no_page_says_more_than_six_sentences(monkeypatch):
    from nandlab.choosing import page as choice
    from nandlab.searching import words

    advice = advised(given("fast", 1.0, 6.0, 64), given("slow", 10.0, 12.0, 32))
    advice = replace(advice, why=[f"reason {at}" for at in range(8)])
    said = choice.conclusions(advice)
    assert len(said) == 6 and said[-1].startswith("Next to fast")
    monkeypatch.setattr(words, "_outcome", lambda _found: [f"outcome {at}" for at in range(9)])
    for name in ("_mattered", "_ends"):
        monkeypatch.setattr(words, name, lambda _found: ["more"])
    monkeypatch.setattr(words, "_rest", lambda _found: ["the last tries gained nothing"])
    assert words.sentences(None)[-1] == "the last tries gained nothing"
    assert len(words.sentences(None)) == 6


def test_a_sweep_names_best_worst_and_what_matters():
    vary = {"device.over_provisioning": "0.2,0.5", "ftl.fast.log_blocks": "8,9"}
    said = of_sweep(nandlab.sweep(experiment("fast"), vary))
    assert said[0].startswith("waf is least with OP 50 %")
    assert "OP moves waf most, log blocks less than half as far." in said
    assert "No other of 4 points is within 10 % of the best." in said
    other = of_sweep(
        nandlab.sweep(experiment("fast"), {**vary, "ftl.fast.log_blocks": "4,9"}, goals="ram.total_bytes")
    )
    assert "log blocks moves ram.total_bytes most, OP less than half as far." in other
    most = of_sweep(nandlab.sweep(experiment("fast"), vary, goals="waf:max"))
    assert most[0].startswith("waf is largest with OP 20 %")
    assert "2 of 4 points are within 10 % of the best." in most
    flat = of_sweep(nandlab.sweep(experiment(), {"seed": "1,2"}, goals="host.requests"))
    assert flat == ["host.requests does not tell the points apart: it differs by less than 1 %."]


def test_a_choice_says_how_many_fit_and_how_far_the_next_is():
    said = of_choice(advised(given("fast", 1.0, 6.0, 64), given("slow", 10.0, 12.0, 32)))
    assert said[0].startswith("Take fast")
    assert "2 of 2 candidates fit." in said
    assert said[-1] == "Next to fast, slow takes 10.0 times as long: 10 µs a transaction."
    lasting = of_choice(advised(given("fast", 1.0, 2.0, 64), given("slow", 10.0, 12.0, 32)))
    assert lasting[0].startswith("Take slow")
    assert lasting[-1] == "Next to slow, fast is 10.0 times faster: 1 µs a transaction."
    near = of_choice(advised(given("one", 1.0, 6.0, 64), given("two", 1.02, 6.0, 64)))
    assert "takes about as long" in near[-1]
    assert of_choice(advised(given("fast", 1.0, 6.0, 64)))[-1] == "The only candidate fits."


def test_pages_say_first_what_they_come_to(runs, tmp_path):
    runs["page"].report(tmp_path / "run.html")
    nandlab.compare({"page": experiment(), "fast": experiment("fast")}).report(tmp_path / "compare.html")
    nandlab.sweep(experiment(), {"device.over_provisioning": "0.2,0.5"}).report(tmp_path / "sweep.html")
    for name in ("run", "compare", "sweep"):
        page = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert page.index("<h2>") == page.index("<h2>Conclusions</h2>"), name
        assert page.count('<ul class="said">') == 1


def test_notebooks_show_what_is_said(runs, tmp_path):
    assert "garbage collection" in runs["page"]._repr_html_()
    found = nandlab.compare({"<page>": experiment(), "fast": experiment("fast")})
    assert "&lt;page&gt; wears least" in found._repr_html_() and "<page>" not in found._repr_html_()
    sweep = nandlab.sweep(experiment(requests=500), {"device.over_provisioning": "0.2..0.5:14"})
    assert "and 2 more rows" in sweep._repr_html_()
    trace = write(tmp_path / "writes.csv", "time_us,op,sector,sectors\n0,W,0,8\n10,R,8,8\n")
    assert "<td>requests</td><td>2</td>" in Trace(trace)._repr_html_()
    assert "missing.csv" in Trace(tmp_path / "missing.csv")._repr_html_()
