"""Devices that are preconditioned once: saved by one command, begun with by others."""

import pytest
from conftest import SMALL, files_in, write

import nandlab

FILLED = SMALL + '[precondition]\nfill = "random"\noverwrites = 0.5\n'


def measured(record):
    return {key: value for key, value in record.items() if key not in ("speed", "experiment")}


@pytest.fixture
def filled(tmp_path):
    return write(tmp_path / "filled.toml", FILLED)


def test_a_state_is_saved_and_begun_with(nandlab_command, filled, tmp_path):
    state = tmp_path / "steady.state"
    saved = nandlab_command("run", filled, "--save-state", state, "--json")
    assert saved.status == 0, saved.err
    assert files_in(tmp_path) == ["filled.toml", "steady.state"]
    # Its path starts from the current folder, wherever the experiment is.
    begun = nandlab_command("run", filled, "--from-state", "steady.state", "--json", cwd=tmp_path)
    assert begun.status == 0, begun.err
    assert measured(begun.document) == measured(saved.document)
    again = nandlab_command("run", filled, "--set", f"precondition.from_state={state}", "--json")
    assert measured(again.document) == measured(saved.document)
    assert "steady.state" in begun.document["experiment"]["precondition"]["from_state"]
    checked = nandlab_command("check", filled, "--from-state", state)
    assert checked.status == 0, checked.err
    both = nandlab_command(
        "compare", filled, "--from-state", state, "--vary", "host.queue_depth=1,4", "--json"
    )
    assert [run["result"]["precondition"]["requests"] for run in both.document["runs"]] == [6144, 6144]


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_points_of_a_sweep_begin_with_a_state(nandlab_command, filled, tmp_path, executor):
    state = tmp_path / "steady.state"
    assert nandlab_command("run", filled, "--save-state", state).status == 0
    arguments = (
        "sweep",
        filled,
        "--from-state",
        state,
        "--vary",
        "host.queue_depth=1,2",
        "--executor",
        executor,
    )
    ended = nandlab_command(*arguments, "--output", tmp_path / "points.parquet", "--json")
    assert ended.status == 0, ended.err
    assert all(point["error"] is None for point in ended.document["points"])
    # Another state is another experiment.
    changed = ("--set", "precondition.overwrites=0.7")
    assert nandlab_command("run", filled, *changed, "--save-state", state).status == 0
    again = nandlab_command(*arguments, *changed, "--output", tmp_path / "points.parquet", "--json")
    assert again.status == 2
    assert "holds 2 points that are not of this sweep" in again.err


def test_python_saves_and_begins(filled, tmp_path):
    experiment = nandlab.Experiment.from_toml(filled)
    saved = experiment.run(save_state=tmp_path / "a.state")
    begun = nandlab.Experiment(
        workload=nandlab.workload.uniform(requests=20000),
        ftl=nandlab.ftl.page(),
        device={"capacity": "16 MiB", "over_provisioning": 0.25},
        precondition=nandlab.Precondition(from_state=str(tmp_path / "a.state")),
        seed=3,
    ).run()
    assert begun.flash.programs == saved.flash.programs
    assert begun.precondition.requests == 6144
    assert (
        tmp_path / "a.state"
        in nandlab.Experiment.from_toml(filled, [f"precondition.from_state={tmp_path}/a.state"]).inputs()
    )


def test_saving_is_told_apart_from_the_run():
    from nandlab.cli.run import _show
    from nandlab.running.batch import Stage

    class Told:
        def update(self, *line):
            self.line = line

    told = Told()
    _show(told, {0: Stage("saving state", 30, 120, 0.999)}, "requests")
    assert told.line == ("saving the state", 0.25, "device after its preconditioning")
    _show(told, {0: Stage("precondition", 30, 120, 0.1)}, "requests")
    assert told.line == ("run", 0.1, "precondition: 30 of 120 page writes")
    # Before a workload whose length is not known, the preconditioning has a share alone.
    _show(told, {0: Stage("precondition", 30, 120, None)}, "requests")
    assert told.line == ("preconditioning", 0.25, "30 of 120 page writes")


def test_python_is_told_how_far_saving_is(tmp_path):
    experiment = nandlab.Experiment(
        workload=nandlab.workload.uniform(requests=100),
        ftl=nandlab.ftl.page(),
        device={"model": "counting", "capacity": "8 GiB"},
        precondition=nandlab.Precondition(fill=1.0),
    )
    seen = []
    experiment.run(lambda *call: seen.append(call), save_state=tmp_path / "a.state")
    saving = [(done, total) for phase, done, total in seen if phase == "saving state"]
    assert saving == sorted(saving)
    assert 0 < saving[-1][0] <= saving[-1][1]
    assert len({total for _, total in saving}) == 1


def test_what_cannot_be_is_a_sentence(nandlab_command, filled, small, tmp_path):
    state = tmp_path / "steady.state"
    ended = nandlab_command("run", small, "--save-state", state)
    assert ended.status == 2
    assert "there is nothing to save (--save-state): [precondition] writes nothing" in ended.err
    assert not state.exists()
    assert nandlab_command("run", filled, "--save-state", state).status == 0
    ended = nandlab_command("run", filled, "--from-state", state, "--save-state", state)
    assert ended.status == 2
    assert "would overwrite what this run reads" in ended.err
    ended = nandlab_command("run", filled, "--from-state", state, "--set", "ftl.page.victim=fifo")
    assert ended.status == 2
    assert 'it was made with ftl.page.victim = "greedy", and the experiment has "fifo"' in ended.err
    assert f"error: --from-state {state}: " in ended.err and "--set" not in ended.err
    ended = nandlab_command("run", filled, "--from-state", tmp_path / "absent.state")
    assert ended.status == 2
    assert "there is no such file" in ended.err
    state.write_bytes(state.read_bytes()[:-20])
    ended = nandlab_command("check", filled, "--from-state", filled)
    assert ended.status == 2
    assert "this is no state" in ended.err
    ended = nandlab_command("run", filled, "--from-state", state)
    assert ended.status == 2
    assert "damaged or cut short" in ended.err
    ended = nandlab_command("run", filled, "--save-state", tmp_path / "absent" / "state")
    assert ended.status == 2
    assert "there is no folder" in ended.err
