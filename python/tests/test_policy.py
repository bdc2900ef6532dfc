"""Policies in Python: the same counts as ours, who may run them, and what becomes of wrong ones."""

import pickle
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import own_policies as own
import pytest

import nandlab
from nandlab import _native, policy


def experiment(requests=30_000, **given):
    tables = {
        "workload": nandlab.workload.zipf(requests=requests, read_share=0.3),
        "ftl": nandlab.ftl.page(),
        "device": nandlab.Device(capacity="16 MiB", over_provisioning=0.25, model="counting"),
        "precondition": nandlab.Precondition(fill="sequential"),
    }
    return nandlab.Experiment(**tables | given)


NOT_COUNTED = {"experiment", "ram", "speed"}
"""Its text, memory for tables, which is the class's own word, and this machine's time."""


NOT_COUNTED = {"experiment", "ram", "speed"}
"""The text, the memory for tables, which is the class's own word, and this machine's time."""


def counts(result):
    return {name: of for name, of in result.to_dict().items() if name not in NOT_COUNTED}


@pytest.mark.parametrize(
    ("mine", "ours"),
    [(own.Greedy(), "greedy"), (own.Fifo(), "fifo"), (own.CostBenefit(), "cost_benefit")],
)
@pytest.mark.parametrize("dies", [1, 2])
def test_victims_have_the_counts_of_ours(mine, ours, dies):
    device = nandlab.Device(
        capacity="16 MiB", over_provisioning=0.4, model="counting", shape={"dies_per_channel": dies}
    )
    runs = [experiment(ftl=nandlab.ftl.page(victim=victim), device=device).run() for victim in (mine, ours)]
    assert counts(runs[0]) == counts(runs[1])
    assert runs[0].flash.erases > 100


def test_a_victim_serves_dftl_too():
    runs = [experiment(ftl=nandlab.ftl.dftl(victim=victim)).run() for victim in (own.Greedy(), "greedy")]
    assert counts(runs[0]) == counts(runs[1])


@pytest.mark.parametrize("entries", [64, 500])
def test_a_map_cache_has_the_counts_of_ours(entries):
    runs = [
        experiment(ftl=nandlab.ftl.dftl(cmt_entries=entries, replacement=replacement)).run()
        for replacement in (own.SegmentedLru(), "segmented")
    ]
    assert counts(runs[0]) == counts(runs[1])
    assert runs[0].map.misses > 1000


def test_sepbit_has_the_counts_of_ours():
    device = nandlab.Device(capacity="32 MiB", over_provisioning=0.5, model="counting")
    runs = [
        experiment(60_000, ftl=nandlab.ftl.page(placement=placement), device=device).run()
        for placement in (own.SepBit(), "sepbit")
    ]
    assert counts(runs[0]) == counts(runs[1])


def test_tables_place_as_the_methods_do():
    runs = [
        experiment(ftl=nandlab.ftl.page(placement=placement)).run()
        for placement in (own.ByHalves(), own.HalvesByPage())
    ]
    assert counts(runs[0]) == counts(runs[1])


def test_a_rule_for_wear_has_the_counts_of_ours():
    runs = [
        experiment(60_000, ftl=nandlab.ftl.page(wear=wear)).run()
        for wear in (own.Threshold(2), {"threshold": {"erases": 2}})
    ]
    assert counts(runs[0]) == counts(runs[1])


@pytest.mark.parametrize(
    ("mine", "ours"), [(own.Lru(), "lru"), (own.Sieve(), "sieve"), (own.S3Fifo(), "s3_fifo")]
)
def test_buffers_have_the_counts_of_ours(mine, ours):
    runs = [
        experiment(buffer=buffer).run()
        for buffer in (nandlab.buffer.python(policy=mine, size="1 MiB"), {ours: {"size": "1 MiB"}})
    ]
    assert counts(runs[0]) == counts(runs[1])
    assert runs[0].buffer.hits > 100


def test_a_second_run_begins_as_the_first():
    mine = experiment(buffer=nandlab.buffer.python(policy=own.Lru(), size="1 MiB"))
    assert counts(mine.run()) == counts(mine.run())
    again = pickle.loads(pickle.dumps(mine))
    assert again == mine and again.fingerprint() == mine.fingerprint()
    assert counts(again.run()) == counts(mine.run())


class Switched(own.Greedy):
    is_fifo = False

    def pick(self, blocks):
        return blocks.first if self.is_fifo else super().pick(blocks)


def test_an_experiment_keeps_its_policy_as_it_was():
    mine = Switched()
    before = experiment(ftl=nandlab.ftl.page(victim=mine))
    expected = counts(before.run())
    mine.is_fifo = True
    after = experiment(ftl=nandlab.ftl.page(victim=mine))
    assert after != before and counts(after.run()) != expected
    assert counts(before.run()) == expected


class Named(policy.Victim):
    pick = own.Greedy.pick


def test_names_of_objects_hold_the_sources_of_all_bases(monkeypatch):
    first = policy.keep(Named())
    assert policy.keep(Named()) == first
    monkeypatch.setattr(policy, "_source", lambda of: "other" if of is policy.Victim else "")
    second = policy.keep(Named())
    monkeypatch.setattr(policy, "_source", lambda of: "")
    assert policy.keep(Named()) != second != first


class Wrong(policy.Victim):
    def __init__(self, answer):
        self.answer = answer

    def pick(self, blocks):
        return self.answer(blocks) if callable(self.answer) else self.answer


def _fails(blocks):
    return 1 // 0


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (_fails, r"pick\(\) raised ZeroDivisionError: .*; it was shown <Blocks of die 0: \d+ closed of \d+"),
        (10**6, r"pick\(\) returned 1000000: blocks have the numbers 0 to \d+; it was shown <Blocks"),
        (-1, r"pick\(\) returned -1: blocks have the numbers"),
        (float("nan"), r"pick\(\) returned nan: a block's number is a whole number"),
        (None, r"pick\(\) returned None: a block's number is a whole number"),
        (lambda blocks: int(np.flatnonzero(blocks.valid == 32767)[0]), "this block is free"),
        (
            lambda blocks: int(np.flatnonzero((blocks.valid >= 16384) & (blocks.valid < 32766))[0]),
            "being filled",
        ),
    ],
)
def test_a_wrong_answer_ends_the_run_with_a_sentence(answer, said):
    with pytest.raises(nandlab.PolicyError, match=said) as raised:
        experiment(ftl=nandlab.ftl.page(victim=Wrong(answer))).run()
    assert "\n" not in str(raised.value)
    assert (raised.value.__cause__ is not None) == (answer is _fails)
    if answer is _fails:
        frames = raised.value.__cause__.__traceback__
        while frames.tb_next:
            frames = frames.tb_next
        assert frames.tb_frame.f_code.co_name == "_fails"


class Overlapping(own.HalvesByPage):
    shares = False


class FarFrontier(own.HalvesByPage):
    def written(self, page, origin):
        return 7


class Unknown(policy.Replacement):
    def victim(self):
        return 0xFFFF_FFF0


class Incomplete(policy.Policy):
    pass


class Apart(policy.Placement):
    shares = False


class Tables(policy.Placement):
    """A number for each page, or one table as it is."""

    def __init__(self, number, kind):
        self.number, self.kind = number, kind

    def start(self, known):
        self.pages = known["logical_pages"]

    def learn(self, pages):
        table = np.zeros(1 if isinstance(self.number, list) else self.pages, self.kind) + self.number
        return table, table


class Raises(policy.Victim):
    def __init__(self, error, when="pick"):
        self.error, self.when = error, when

    def start(self, known):
        if self.when == "start":
            raise self.error

    def pick(self, blocks):
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SystemExit(0), r"Raises#\w+: pick\(\) raised SystemExit: 0; it was shown"),
        (GeneratorExit(), r"Raises#\w+: pick\(\) raised GeneratorExit"),
        (ValueError("two\nlines\x00"), r"pick\(\) raised ValueError: two\\nlines\\x00; it was shown"),
        (ValueError("x" * 10_000), r"raised ValueError: x{50,}\.\.\."),
    ],
)
def test_whatever_a_policy_raises_ends_its_run_in_one_line(error, said):
    for when in ("pick", "start"):
        with pytest.raises(
            nandlab.PolicyError, match=said if when == "pick" else r"start\(\) raised"
        ) as raised:
            experiment(ftl=nandlab.ftl.page(victim=Raises(error, when))).run()
        assert len(str(raised.value)) <= 600 and "\n" not in str(raised.value)
        assert type(raised.value.__cause__) is type(error)


class Holds(own.Greedy):
    def __init__(self):
        self.lock = threading.Lock()


@pytest.mark.parametrize("executor", ["processes", "dask"])
def test_a_policy_that_cannot_be_pickled_is_told_before_a_process_has_it(executor):
    with pytest.raises(nandlab.ConfigError, match="Holds cannot go to another process: .*lock"):
        nandlab.sweep(
            experiment(ftl=nandlab.ftl.page(victim=Holds())),
            {"device.over_provisioning": [0.2, 0.3]},
            executor=executor,
            jobs=1,
        )


class Asks(own.Greedy):
    """Runs an experiment with a policy of its own, once."""

    waf = 0

    def pick(self, blocks):
        if not self.waf:
            self.waf = experiment(5000, ftl=nandlab.ftl.page(victim=own.Greedy())).run().waf
        return super().pick(blocks)


def test_a_policy_may_run_an_experiment():
    runs = [experiment(ftl=nandlab.ftl.page(victim=mine)).run() for mine in (Asks(), own.Greedy())]
    assert counts(runs[0]) == counts(runs[1])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ftl": nandlab.ftl.page(placement=Overlapping())}, "though `shares` is False"),
        ({"ftl": nandlab.ftl.page(placement=FarFrontier())}, "frontiers have the numbers 0 to 1"),
        ({"ftl": nandlab.ftl.page(placement=Tables([0], np.uint8))}, r"learn\(\) returned something else"),
        (
            {"ftl": nandlab.ftl.page(placement=Tables(np.nan, float))},
            "writes holds float64: expected whole",
        ),
        ({"ftl": nandlab.ftl.page(placement=Tables(256, int))}, "holds 256 for page 0: frontiers .* 0 to 1"),
        ({"ftl": nandlab.ftl.page(placement=Tables(-1, int))}, "holds -1 for page 0: frontiers .* 0 to 1"),
        ({"ftl": nandlab.ftl.page(victim=Incomplete())}, r"no method pick\(\)"),
        (
            {"buffer": nandlab.buffer.python(policy=Unknown(), size="64 KiB")},
            "this page is not there",
        ),
    ],
)
def test_other_wrong_answers(given, said):
    with pytest.raises(nandlab.PolicyError, match=said):
        experiment(**given).run()


@pytest.mark.parametrize("kind", [policy.Victim, policy.Wear, policy.Replacement])
def test_a_class_without_its_decision_is_refused_where_it_is_made(kind):
    with pytest.raises(TypeError, match="abstract"):
        type("Undecided", (kind,), {})()


def test_a_placement_that_says_nothing_divides_as_two_does():
    theirs = experiment(ftl=nandlab.ftl.page(placement=Apart())).run()
    ours = experiment(ftl=nandlab.ftl.page(placement="two")).run()
    assert (theirs.flash, theirs.matrix) == (ours.flash, ours.matrix)
    assert theirs.waf > 1.1


def test_arrays_cannot_be_changed_and_end_with_the_call():
    kept = []

    class Keeps(own.Greedy):
        def __deepcopy__(self, memo):
            return self

        def pick(self, blocks):
            kept.extend([blocks, blocks.valid])
            assert blocks.valid is blocks.valid
            assert blocks.first == blocks.oldest[0]
            assert ((blocks.states == 0) == (blocks.valid < 16384)).all()
            assert sorted(np.flatnonzero(blocks.states == 0)) == sorted(blocks.oldest)
            assert (blocks.states[blocks.erases == 0] != 3).all() and {*blocks.states} <= {0, 1, 2, 3}
            with pytest.raises(ValueError, match="read-only"):
                blocks.valid[0] = 0
            return super().pick(blocks)

    experiment(ftl=nandlab.ftl.page(victim=Keeps())).run()
    with pytest.raises(RuntimeError, match="during a call only"):
        _ = kept[0].valid
    assert kept[1].sum() > 0


MINE = """
from nandlab.policy import Victim

print("the module runs")

class Mine(Victim):
    def __init__(self, bias=0):
        self.bias = bias

    def pick(self, blocks):
        return (blocks.valid + self.bias).argmin()
"""

FILE = """
[workload.uniform]
requests = 5000
[ftl.page]
victim = { python = "mine_%d:Mine(bias=3)" }
[device]
capacity = "16 MiB"
over_provisioning = 0.25
model = "counting"
"""


@pytest.fixture
def written(tmp_path, request):
    number = abs(hash(request.node.name)) % 10**6
    (tmp_path / f"mine_{number}.py").write_text(MINE)
    path = tmp_path / "mine.toml"
    path.write_text(FILE % number)
    return path


def test_a_file_runs_no_code_by_itself(written, capsys):
    with pytest.raises(nandlab.ConfigError, match="would run code from the module mine_.*--policies"):
        nandlab.Experiment.from_toml(written).run()
    assert capsys.readouterr().out == ""
    permitted = nandlab.Experiment.from_toml(written, allow_code=True)
    assert permitted.run().host.requests == 5000
    assert "the module runs" in capsys.readouterr().out
    # What one experiment may do, another one may not.
    with pytest.raises(nandlab.ConfigError, match="would run code"):
        nandlab.Experiment.from_toml(written).run()
    assert any(path.suffix == ".py" for path in permitted.inputs())
    before = permitted.fingerprint()
    module = next(path for path in permitted.inputs() if path.suffix == ".py")
    module.write_text(module.read_text() + "\n# changed\n")
    assert permitted.fingerprint() != before


def test_two_modules_of_a_name_are_never_mixed_up(written, tmp_path):
    # Both designs would run with the policy of the last one.
    other = tmp_path / "other"
    other.mkdir()
    module = next(tmp_path.glob("mine_*.py"))
    (other / module.name).write_text(MINE.replace("argmin", "argmax"))
    (other / "mine.toml").write_text(written.read_text())
    (other / "json.py").write_text(MINE)
    (other / "own.toml").write_text(written.read_text().replace(module.stem, "json"))
    nandlab.Experiment.from_toml(written, allow_code=True).resolve()
    for file in ("mine.toml", "own.toml"):
        with pytest.raises(nandlab.ConfigError, match="in this process already; give .* another name"):
            nandlab.Experiment.from_toml(other / file, allow_code=True).resolve()
    nandlab.Experiment.from_toml(written, allow_code=True).resolve()


def test_papers_and_calibrations_run_no_code(nandlab_command, written):
    number = written.read_text().partition('"mine_')[2].partition(":")[0]
    module = written.parent / f"mine_{number}.py"
    module.write_text(f"open({str(module.parent / 'ran')!r}, 'w')\n" + module.read_text())
    (written.parent / "rows.csv").write_text("name,rw,bs,iodepth,mean_us\na,randread,4096,1,80\n")
    (written.parent / "paper.toml").write_text(
        'title = "t"\nsource = "s"\nseeds = 1\n[template.device]\ncapacity = "2 MiB"\nover_provisioning = 2\n'
        "[parts.short.workload.uniform]\nrequests = 700\n"
        f'[parts.mine.ftl.page]\nvictim = {{ python = "mine_{number}:Mine" }}\n'
        '[measures]\nprograms = "flash.programs"\n[[claims]]\nid = "first"\nwhere = "T1"\nkind = "value"\n'
        'published = 100\ntolerance = "at least"\nstatement = "programs"\nmeasured = "short.mine.programs"\n'
    )
    fit = ("--measured", "rows.csv", "--free", "device.timing.read_us=40..80", "--output", "p.toml")
    for words in (("calibrate", written, *fit), ("reproduce", "paper.toml")):
        ended = nandlab_command(*words, cwd=written.parent)
        assert ended.status != 0
        assert f"would run code from the module mine_{number}" in ended.err
    assert not (module.parent / "ran").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing_here:Mine", "cannot be loaded: ModuleNotFoundError"),
        ("Mine", "names no class"),
        ("math:Mine", "cannot be loaded: AttributeError"),
        ("math:Mine(", "cannot be loaded: SyntaxError"),
        ("os:getcwd", "getcwd is no class of nandlab.policy"),
        ("subprocess:Popen('true')", "Popen is no class of nandlab.policy"),
        ("own_policies:Greedy(1)(2)", "is not a class with its options"),
        ("own_policies:Greedy(abs(2))", r"the option abs\(2\) is no plain value"),
        ("own_policies:Greedy(**{'a': 1})", "an option is a name and a value"),
        ("../own_policies:Greedy", "names no class"),
        ("/own_policies:Greedy", "names no class"),
    ],
)
def test_a_name_that_means_nothing(name, said):
    with pytest.raises(nandlab.ConfigError, match=said):
        experiment(ftl={"page": {"victim": {"python": name}}}, allow_code=True).resolve()


def test_states_have_no_policy(tmp_path):
    with pytest.raises(nandlab.ConfigError, match="keeps a state of its own"):
        experiment(ftl=nandlab.ftl.page(victim=own.Greedy())).run(save_state=tmp_path / "state")


def test_a_disk_runs_no_policy(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "nandlab", "disk", "create", tmp_path / "my.img"]
        + [
            "--set",
            "ftl=page",
            "--set",
            'ftl.page.victim={python="mine:Mine"}',
            "--set",
            "device.capacity=16 MiB",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0 and "runs in experiments only" in run.stderr


class Sleeps(policy.Victim):
    def pick(self, blocks):
        while True:
            time.sleep(0.01)


def test_a_call_that_lasts_is_told_with_its_place_and_can_be_ended(monkeypatch):
    monkeypatch.setattr("nandlab.experiment.run.LONG_CALL_S", 0.2)
    run = experiment(ftl=nandlab.ftl.page(victim=Sleeps())).start()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        end = time.monotonic() + 20
        while not told and time.monotonic() < end:
            run.wait(0.05)
    assert "Sleeps" in str(told[0].message) and "test_policy.py" in str(told[0].message)
    thread, seconds, _ = _native.policy_call()
    assert thread != threading.get_ident() and seconds >= 0.2
    run.stop()
    assert run.wait(5)
    with pytest.raises(KeyboardInterrupt):
        run.result()
