"""Conclusions of run, compare, sweep and choose: each sentence follows the figures, and says something else
where they do; and what a notebook shows."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest
from conftest import write
from test_choose import advised, given

import nandlab
from nandlab.choosing.page import conclusions as of_choice
from nandlab.experiment.result import Result
from nandlab.figures import collectors
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
    assert (
        said[0]
        == "Each page of host writes costs 1.00 page programs, nearly all of them for the writes themselves."
    )
    assert any(each.startswith("No block was erased") for each in said)
    reads = experiment().replace(workload=nandlab.workload.uniform(requests=50, read_share=1.0)).run()
    said = of_run(reads)
    assert said[0] == "Nothing was written to the flash." and not any("too short" in each for each in said)
    counting = of_run(experiment(model="counting").run())
    assert len(counting) == 3 and counting[-1] == "The host wrote 78.1 MiB; the device keeps no time."


def test_tails_and_wear_follow_their_figures(runs):
    page = runs["page"]
    write = {f"latency_us__write__{name}": value for name, value in (("p50", 100.0), ("p99", 1500.0))}
    assert any("or longer, 15 times the median" in each for each in of_run(changed(page, **write)))
    write.update(latency_us__write__p99=150.0, latency_us__write__max=190.0)
    assert any("nearly the same time" in each for each in of_run(changed(page, **write)))
    write["latency_us__write__max"] = 145000.0
    slowest = "99 of 100 writes end within 150 µs; the slowest takes 145 ms, 1,450 times the median."
    assert slowest in of_run(changed(page, **write))
    few = changed(page, wear__max=1, wear__mean=0.024)
    assert "Too few blocks were erased to judge how even wear is: none has more than 1 P/E cycle." in of_run(
        few
    )
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
    assert "The journal causes 75 % of the erases." in of_run(Result(data))


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
    assert len(said) == 4
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
    assert any(
        each.startswith("No other of 4 points is within 10 % of the best; the next is OP 50 %")
        for each in said
    )
    other = of_sweep(
        nandlab.sweep(experiment("fast"), {**vary, "ftl.fast.log_blocks": "4,9"}, goals="ram.total_bytes")
    )
    assert "log blocks moves ram.total_bytes most, OP less than half as far." in other
    most = of_sweep(nandlab.sweep(experiment("fast"), vary, goals="waf:max"))
    assert most[0].startswith("waf is largest with OP 20 %")
    assert "2 of 4 points are within 10 % of the best." in most
    flat = of_sweep(nandlab.sweep(experiment(), {"seed": "1,2"}, goals="host.requests"))
    assert flat == ["host.requests is the same with all 2 seeds: 20,000."]


def test_a_sweep_over_seeds_alone_names_no_best_one():
    found = nandlab.sweep(experiment(), {"seed": "1,2,3"}, goals="flash.erases")
    erases = [point.result.flash.erases for point in found.points]
    (said,) = of_sweep(found)
    assert f"from {min(erases)} to {max(erases)}" in said and "least" not in said
    assert f"the mean {sum(erases) / 3:,.0f}" in said or f"the mean {sum(erases) / 3:,.3f}" in said


def test_a_sweep_with_nothing_to_compare_says_so():
    one = nandlab.sweep(experiment(), {"device.over_provisioning": "0.25"})
    assert of_sweep(one) == [f"The only point OP 25 %: {one.points[0].result.waf:.3f}."]
    reads = {"workload.uniform.read_share": "0.0,1.0"}
    half = nandlab.sweep(experiment(requests=500), reads)
    assert of_sweep(half)[0] == "Only one of 2 points has a waf, so nothing is compared: read share 0: 1.000."
    none = nandlab.sweep(experiment(requests=500), reads, goals="latency_us.trim.p99")
    assert of_sweep(none)[0] == "No point has a latency_us.trim.p99."
    zero = nandlab.sweep(
        experiment(requests=50), {"device.over_provisioning": "0.25,0.3"}, goals="flash.erases"
    )
    assert of_sweep(zero) == ["flash.erases is 0 at every point: it does not tell them apart."]


def test_a_sweep_does_not_call_chance_a_difference(runs):
    # Two designs whose seeds reach farther than what is between them.
    vary = {"ftl.page.victim": "greedy,cost_benefit", "seed": "1,2,3"}
    found = nandlab.sweep(experiment(requests=12000), vary, goals="flash.erases")
    means = [
        [p.result.flash.erases for p in found.points if p.texts[0] == name]
        for name in ("greedy", "cost_benefit")
    ]
    assert max(map(max, means)) > min(map(min, means)) > 0
    said = of_sweep(found)
    assert not any("least with" in each for each in said), said


def test_designs_of_other_blocks_are_compared_by_wear_of_a_block():
    shapes = {number: experiment(shape={"pages_per_block": number}).run() for number in (32, 128)}
    per_block = {number: run.flash.erases / run.device.blocks for number, run in shapes.items()}
    # Fewer erases in all, and more of each block.
    assert shapes[128].flash.erases < shapes[32].flash.erases and per_block[128] > per_block[32]
    said = of_comparison({"": {f"of {number}": [run] for number, run in shapes.items()}})
    assert said[0].startswith(f"of 32 wears least ({per_block[32]:.3g} erases per block); of 128 has")


def test_other_workloads_and_directories_are_not_compared_by_totals(runs):
    short, whole = experiment(requests=100).run(), runs["page"]
    said = of_comparison({"": {"short": [short], "whole": [whole]}})
    assert said[0] == "The designs run different workloads: times and totals are not compared."
    assert said[1].startswith("short has the least WAF (1.000)")
    assert not any("fastest" in each or "wears" in each for each in said)
    directory = changed(whole, device__blocks=0, flash__erases=0)
    said = of_comparison({"": {"page": [whole], "fast": [runs["fast"]], "posix": [directory]}})
    assert not any("posix" in each for each in said)


def test_names_and_small_factors_read_well(runs):
    page = runs["page"]
    erases = page.flash.erases
    more = changed(page, flash__erases=round(erases * 1.03))
    said = of_comparison({"": {"a, b": [page], "c": [more]}})
    assert said[0].startswith(f'"a, b" wears least ({erases} erases); c has') and said[0].endswith("% more.")
    many = {f"d{at}": [page] for at in range(9)} | {"fast": [runs["fast"]]}
    assert of_comparison({"": many})[0].startswith("d0, d1, d2 and 6 more wear least")


def test_a_comparison_counts_the_first_seed_too(runs):
    from nandlab.report.comparison import Runs, _by_panel

    first, other = runs["page"], changed(runs["page"], flash__erases=7)
    (panel,) = _by_panel(Runs([({"ftl": "page"}, first)], [[other]])).values()
    assert list(panel.values()) == [[first, other]]


def test_small_writes_are_told_apart_from_collection():
    small = experiment().replace(workload=nandlab.workload.uniform(requests=9000, size="512"))
    said = of_run(small.run())
    assert "of them without any collection or merge" in said[0]


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


def test_a_choice_in_which_none_fits_says_what_is_missing():
    need = [
        replace(given(name, 1.0, 6.0, 64), why_not="it needs RAM", missing_ram=lacks)
        for name, lacks in (("one", 4096), ("two", 2048))
    ]
    said = of_choice(advised(*need))
    assert said == [
        "No candidate fits: each line says why.",
        "0 of 2 candidates fit.",
        "Too little RAM keeps out 2 of 2; two lacks least, 2 KiB.",
    ]


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


def test_a_comparison_tells_collectors_that_leave_dies_idle(nandlab_command, tmp_path):
    """Only where dies wait for each other: on one die collectors do not differ."""
    path = tmp_path / "small.toml"
    path.write_text(
        "[workload.uniform]\nrequests = 2_000\n[ftl.page]\n[device]\ncapacity = '16 MiB'\n"
        "over_provisioning = 0.5\nshape = { channels = 1, dies_per_channel = 2, pages_per_block = 16 }\n"
    )
    said = "a bank of superpage collects alone, the dies of page and dftl side by side"

    def compared(*words):
        shown = nandlab_command("compare", path, *words)
        assert shown.status == 0, shown.err
        return said in " ".join(shown.out.split())

    assert compared("--vary", "ftl=page,dftl,superpage")
    assert not compared("--vary", "ftl=page,dftl")
    assert not compared("--vary", "ftl=page,dftl,superpage", "--set", "device.shape.dies_per_channel=1")


def test_an_option_lets_the_banks_of_a_super_page_map_collect_side_by_side():
    """Then a comparison with the page map tells nothing of collectors; one with the sector map does."""

    def told(*ftls):
        runs = [
            SimpleNamespace(experiment={"ftl": ftl}, parts=object(), device=SimpleNamespace(dies=2))
            for ftl in ftls
        ]
        return collectors.told(runs)

    page, alone, tokens = {"page": {}}, {"superpage": {}}, {"superpage": {"collection": "tokens"}}
    assert "a bank of superpage collects alone, the dies of page" in told(page, alone)
    assert not told(page, tokens)
    assert "a bank of sector_map collects alone, the dies of superpage" in told({"sector_map": {}}, tokens)
