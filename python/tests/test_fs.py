"""A file system in experiments: in TOML and Python, in lists, tables and reports, and how its runs end."""

import inspect
import re

import pytest

import nandlab
from nandlab.record.made import FsFigures

TOML = """
[workload.postmark]
number = 40
transactions = 120

[fs.fat]
write_through = "operation"

[ftl.bast]

[host]
sample_transactions = 50

[device]
profile = "k9l8g08u0m"
capacity = "8 MiB"
over_provisioning = 0.5
"""


@pytest.fixture
def postmark(tmp_path):
    path = tmp_path / "postmark.toml"
    path.write_text(TOML)
    return path


def as_python(**other):
    tables = {
        "workload": nandlab.workload.postmark(number=40, transactions=120),
        "fs": nandlab.fs.fat(write_through="operation"),
        "ftl": nandlab.ftl.bast(),
        "host": nandlab.Host(sample_transactions=50),
        "device": nandlab.Device(profile="k9l8g08u0m", capacity="8 MiB", over_provisioning=0.5),
    }
    return nandlab.Experiment(**{**tables, **other})


def test_toml_and_python_are_one(postmark):
    assert nandlab.Experiment.from_toml(postmark) == as_python()
    assert nandlab.Experiment.from_toml(postmark).run() == as_python().run()


def test_figures_of_a_file_system_are_typed_and_sum():
    result = as_python().run()
    fs = result.fs
    assert isinstance(fs, FsFigures)
    assert set(fs.to_dict()) == set(FsFigures.__annotations__)
    for part in (fs.operations, fs.phases, fs.phases.transactions, fs.volume, fs.samples[0]):
        assert set(part.to_dict()) == set(type(part).__annotations__)
    parts = (fs.phases.set_up, fs.phases.transactions, fs.phases.clean_up)
    assert sum(part.flash.programs for part in parts) == result.flash.programs
    assert [sample.transactions for sample in fs.samples] == [50, 100, 120]
    assert fs.operations.create == fs.operations.unlink
    assert result.ram.sram["fat_sectors"] == 64 << 10


def test_every_option_of_a_file_system_is_a_keyword():
    resolved = as_python().resolve()["fs"]["fat"]
    assert set(resolved) <= set(inspect.signature(nandlab.fs.fat).parameters)
    with pytest.raises(TypeError, match="did you mean fats"):
        nandlab.fs.fat(fat_s=2)


def test_lists_have_file_systems_and_say_what_workloads_ask(nandlab_command):
    assert "fat" in nandlab_command("list", "file-systems").out
    about = nandlab_command("list", "file-systems", "fat").out
    for option in ("write_through", "cluster_bytes", "trim"):
        assert option in about
    workloads = nandlab_command("list", "workloads", "--json").document["workloads"]
    asks = {workload["name"] for workload in workloads if workload["asks"] == "files"}
    # test_index.py has them all.
    assert "postmark" in asks and "uniform" not in asks


@pytest.mark.parametrize(
    ("text", "place", "way_out"),
    [
        (
            "[workload.phone]\n[ftl.page]\n",
            "line 1",
            "add a table [fs.fat] or [fs.yaffs] or [fs.minv] or [fs.firmware] or [fs.posix], or choose",
        ),
        ("[workload.uniform]\n[fs.fat]\n[ftl.page]\n", "line 2", "leave [fs.fat] out, or choose"),
        ("[workload.phone]\n[fs.fatt]\n[ftl.page]\n", "line 2", "fat"),
        ('[workload.phone]\n[fs.fat]\nfat = "fat12"\n[ftl.page]\n', "line 3", "choose another cluster_bytes"),
    ],
)
def test_what_does_not_fit_together_is_refused(nandlab_command, tmp_path, text, place, way_out):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    ended = nandlab_command("run", path)
    assert ended.status == 2
    assert place in ended.err
    assert way_out in ended.err


def test_a_table_shows_the_file_system(nandlab_command, postmark):
    out = nandlab_command("run", postmark).out
    assert re.search(r"^transactions +120 +[\d,]+ programs, \d+ erases, ", out, re.MULTILINE)
    assert re.search(
        r"^volume +[\d.]+ MiB +[\d,]+ units of 1 KiB, [\d.]+ MiB free at the end$", out, re.MULTILINE
    )
    assert re.search(r"^file change +", out, re.MULTILINE)


def test_compare_varies_options_of_a_file_system(nandlab_command, postmark):
    arguments = ("compare", postmark, "--vary", "fs.fat.write_through=entry,sector,operation")
    runs = nandlab_command(*arguments, "--json").document["runs"]
    programs = [run["result"]["flash"]["programs"] for run in runs]
    # The later a sector is written, the less often.
    assert programs == sorted(programs, reverse=True)
    assert len(set(programs)) == 3
    assert "transactions" in nandlab_command(*arguments).out


def test_a_report_of_a_file_system_opens(nandlab_command, postmark, tmp_path):
    nandlab_command("run", postmark, "--report", tmp_path / "report.html")
    assert "transactions" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_full_volume_keeps_what_was_measured():
    many = nandlab.workload.postmark(number=2000)
    with pytest.raises(
        nandlab.DeviceFull, match="the file system is full: the root directory of 512"
    ) as full:
        as_python(workload=many).run()
    result = full.value.result
    assert result.stopped.why == "fs_full"
    assert result.partial
    assert result.fs.operations.create == 256


def on_flash(fs, **other):
    return nandlab.Experiment(
        workload=nandlab.workload.phone(transactions=60),
        fs=fs,
        host=nandlab.Host(sample_transactions=20, sample_blocks=True),
        device=nandlab.Device(profile="k9f5608", capacity="1 MiB"),
        **other,
    )


@pytest.mark.parametrize(
    "fs", [nandlab.fs.yaffs(gc={"passive_limit": 2}), nandlab.fs.minv(nvram={"read_ns": 20.0})]
)
def test_figures_of_a_file_system_on_bare_flash_are_typed(fs):
    experiment = on_flash(fs)
    result = experiment.run()
    sample = result.fs.samples[-1]
    for part in (sample, sample.gc, sample.blocks, result.gc, result.mount, result.remount):
        assert set(part.to_dict()) == set(type(part).__annotations__)
    assert len(sample.blocks.live_pages) == result.device.blocks
    assert sum(blocks for _, blocks in sample.blocks.live) == result.device.blocks
    (name,) = fs
    assert repr(experiment) == f"<Experiment of Python: phone, {name}, k9f5608 1 MiB, seed 1>"
    assert (result.nvram is None) == (name == "yaffs")
    if result.nvram is not None:
        assert set(result.nvram.to_dict()) == set(type(result.nvram).__annotations__)
        assert result.nvram.time_us == pytest.approx(result.time_us - result.busy_us)


def test_an_ftl_under_a_file_system_on_bare_flash_is_refused():
    with pytest.raises(nandlab.ConfigError, match=r"leave \[ftl\.page\] out"):
        on_flash(nandlab.fs.yaffs(), ftl=nandlab.ftl.page()).resolve()
    with pytest.raises(nandlab.ConfigError, match="needs the key `ftl`"):
        nandlab.Experiment(workload=nandlab.workload.uniform()).resolve()


def test_a_table_shows_a_file_system_on_bare_flash(nandlab_command, tmp_path):
    path = tmp_path / "minv.toml"
    path.write_text(on_flash(nandlab.fs.minv()).to_toml())
    ended = nandlab_command("run", path, "--report", tmp_path / "report.html")
    assert re.search(
        r"^phone: minv on k9f5608, 1 MiB of bare flash, 512 B pages, seed 1$", ended.out, re.MULTILINE
    )
    assert re.search(r"^NVRAM +[\d.]+ KiB +[\d,]+ reads, [\d,]+ writes$", ended.out, re.MULTILINE)
    assert re.search(
        r"^mount after the run +.* 0 page reads, [01] spare reads?, \d+ ", ended.out, re.MULTILINE
    )
    assert "minv on k9f5608: phone" in (tmp_path / "report.html").read_text(encoding="utf-8")
    both = nandlab_command("compare", path, "--vary", "fs=yaffs,minv", "--json").document["runs"]
    assert [run["result"]["mount"]["spare_reads"] for run in both] == [128, 64]


def test_recyclings_are_in_the_tables_of_a_run(nandlab_command, postmark, tmp_path):
    sets = (
        "--set",
        "ftl=migration",
        "--set",
        "workload.postmark={ number=40, transactions=2000, bias_create=5 }",
    )
    page = tmp_path / "report.html"
    ended = nandlab_command(
        "run", postmark, *sets, "--set", "ftl.migration.kept_recyclings.latest.count=10000", "--report", page
    )
    record = nandlab_command(
        "run", postmark, *sets, "--set", "ftl.migration.kept_recyclings.latest.count=10000", "--json"
    )
    record = record.document
    copies = sum(row["copies"] for row in record["matrix"] if row["cause"] == "migration")
    assert copies and record["recyclings"]["alpha"]
    p, alpha = f"{copies / record['migrations']:.1f}", f"{record['recyclings']['alpha']:.3f}"
    number = f"{len(record['recyclings']['list']):,}"
    assert re.search(
        rf"^recyclings +{number} .* {record['migrations']:,} migrations$", ended.out, re.MULTILINE
    )
    assert re.search(rf"^p +{p} +pages that a migration copied, in the mean; ", ended.out, re.MULTILINE)
    assert re.search(rf"^alpha +{alpha} ", ended.out, re.MULTILINE)
    text = page.read_text(encoding="utf-8")
    for shown in ("recyclings", p, alpha):
        assert shown in text
    # Without a list there is no growth to tell, and another FTL has none of these.
    ended = nandlab_command("run", postmark, *sets)
    assert re.search(r"^p +", ended.out, re.MULTILINE)
    assert not re.search(r"^alpha", ended.out, re.MULTILINE)
    assert not re.search(r"^recyclings", nandlab_command("run", postmark).out, re.MULTILINE)


def test_one_thing_is_in_the_singular(nandlab_command, postmark):
    from nandlab import Result
    from nandlab.figures.headline import headline

    record = nandlab_command("run", postmark, "--json").document
    record["gc"]["runs"], record["merges"]["full"], record["host"]["flushes"] = 1, 1, 1
    words = " ".join(explanation for _, _, explanation in headline(Result(record)))
    for singular in ("1 garbage collection,", "1 full merge", "1 flush"):
        assert re.search(rf"{singular}(?!s|es)", words), words
