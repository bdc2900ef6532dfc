"""Pictures, frames and tables of results: they agree with the record, and files are whole or not there."""

import json
import math
import re
import statistics
import subprocess
import sys

import polars
import pytest
from conftest import files_in, without_privilege, write

import nandlab
from nandlab.figures import best, frames
from nandlab.report import compared, comparison, course, percentiles, pictures, plots, theme
from nandlab.report.run import run_page

PNG = b"\x89PNG\r\n\x1a\n"


def experiment(**tables):
    usual = {
        "workload": nandlab.workload.uniform(requests=80_000, read_share=0.3),
        "ftl": nandlab.ftl.page(),
        "device": {"capacity": "16 MiB", "over_provisioning": 0.25, "energy": ENERGY},
    }
    return nandlab.Experiment(**{**usual, **tables})


ENERGY = {"read_nj": 1500, "program_nj": 4000, "erase_nj": 34_000}


@pytest.fixture(scope="module")
def result():
    return experiment().run()


def test_frames_sum_to_the_record(result):
    found = result.frames()
    assert list(found) == list(frames.FRAMES)
    assert found["waf"]["waf"].sum() == pytest.approx(result.waf)
    for operation in ("reads", "programs", "copies"):
        assert found["matrix"][operation].sum() == getattr(result.flash, operation)
    assert found["matrix"]["erases"].sum() == pytest.approx(result.flash.erases)
    histogram = found["latency_histogram"].group_by("request").agg(polars.col("requests", "share").sum())
    counts = dict(zip(found["latency"]["request"], found["latency"]["count"], strict=True))
    assert {row[0]: row[1] for row in histogram.iter_rows()} == counts
    assert histogram["share"].to_list() == pytest.approx([1.0] * len(counts))
    assert found["wear"]["blocks"].sum() == result.device.blocks
    assert found["valid_pages"]["blocks"].sum() + result.blocks.free == result.device.blocks
    assert found["blocks"]["blocks"].sum() == result.device.blocks
    assert found["energy"]["energy_j"].sum() == pytest.approx(result.energy_j.total)
    assert found["ram"]["bytes"].sum() == result.ram.total_bytes
    series = found["series"]
    assert series["programs"][-1] == result.flash.programs
    assert series["read_sectors"][-1] == result.host.read_sectors
    # Rates over each part give back what was moved.
    lengths = series["time_us"] - series["time_us"].shift(1, fill_value=0.0)
    assert (series["written_mb_per_s"] * lengths).sum() == pytest.approx(512 * result.host.written_sectors)


def test_valid_pages_are_the_pages_that_were_written(result):
    """Uniform writes over all of a device: what was touched, counted from the generator's own requests."""
    whole = experiment(workload=nandlab.workload.sequential(requests=4096)).run()
    assert whole.host.written_sectors == 16 * 2048
    assert whole.blocks.valid_pages == 4096
    assert whole.blocks.groups[0].valid_pages == whole.device.pages_per_block
    assert result.blocks.valid_pages <= 4096


def test_lifetime_is_endurance_over_the_wear_of_the_run(result):
    life = result.lifetime
    assert life.endurance == 10_000
    written = 512 * result.host.written_sectors
    # A blank device: what is programmed and not erased yet is worn, too.
    pages = result.device.blocks * result.device.pages_per_block
    mean = result.flash.programs / pages
    assert life.cycles == pytest.approx(mean, rel=0.01)
    # It was not collected at first, so what is to come wears more for a byte.
    assert 0.8 < life.even.host_bytes / (written * 10_000 / mean) < 1.0
    assert life.even.time_s == pytest.approx(result.time_us / 1e6 * life.even.host_bytes / written)
    # Wear of the preconditioning is no wear of the workload.
    filled = experiment(precondition={"fill": "sequential", "overwrites": 3.0}).run()
    mean = filled.flash.erases / filled.device.blocks
    assert filled.wear.mean > mean + 5
    expected = 512 * filled.host.written_sectors * 10_000 / mean
    assert filled.lifetime.even.host_bytes == pytest.approx(expected, rel=0.05)


def test_free_blocks_fall_until_collection_begins(result):
    free = [sample.free_blocks for sample in result.series]
    assert free[0] > 0.9 * result.device.blocks
    assert free[-1] == result.blocks.free < 10
    before = [sample.free_blocks for sample in result.series if sample.erases == 0]
    assert len(before) > 10
    assert before == sorted(before, reverse=True)


@pytest.mark.parametrize(
    "ftl", ["page", "block", "nftl", "fmax", "mtbs", "bast", "fast", "migration", "dftl"]
)
def test_blocks_of_every_ftl_hold_what_the_host_wrote(ftl):
    device = {"capacity": "8 MiB", "over_provisioning": 1.5}
    done = experiment(ftl={ftl: {}}, device=device, workload={"sequential": {"requests": 2048}}).run()
    # 8 MiB were written once; what an FTL keeps of its own comes on top.
    assert 2048 <= done.blocks.valid_pages <= 2048 + done.flash.meta_programs
    used = sum(blocks for _, blocks in done.blocks.histogram)
    assert used + done.blocks.free == done.device.blocks
    assert used * done.device.pages_per_block >= 2048


def test_every_picture_names_its_units(result):
    drawn = result.pictures()
    # Nobody asked for the longest request's steps, and the host has no parts.
    absent = ("longest", "handles", "tenants")
    assert list(drawn) == [name for name in pictures.PICTURES if name not in absent]
    titles = {
        "waf": "flash programs / host writes",
        "latency": "requests (%)",
        "latency-tail": "share of requests that took longer (%)",
        "over-time": "throughput (MB/s)",
        "wear": "P/E cycles of a block",
        "blocks": "valid pages (of ",
        "energy": "energy (J)",
        "ram": "memory (KiB)",
    }
    for name, title in titles.items():
        assert title in drawn[name].svg(), name


def test_handles_have_their_write_amplification_in_a_frame_a_picture_and_the_report():
    """Uniform writes through two of four handles; the WAF comes from the counts of the matrix."""
    tenant = {"name": "writer", "workload": nandlab.workload.uniform(requests=20_000)}
    placed = nandlab.workload.hot_cold(requests=20_000, placement=3, hot_placement=1)
    ftl = nandlab.ftl.page(placement={"fdp": {"handles": 4}}, durable_trim=False)
    before = {"fill": "sequential"}
    done = experiment(workload=placed, ftl=ftl, precondition=before).run()
    frame = done.frames()["handles"]
    written, moved = frame["host_pages"].sum(), frame["moved_pages"].sum()
    assert frame["host_pages"].to_list()[0::2] == [0, 0]
    assert (written, moved) == (20_000, done.flash.copies)
    assert (written + moved) / written == pytest.approx(done.waf)
    drawing = done.pictures()["handles"].svg()
    page = run_page(done, None)
    for handle in (1, 3):
        ratio = f"{frame['waf'][handle]:.3f}"
        assert ratio in drawing
        assert f"handle {handle}" in drawing
        assert ratio in page.partition("Data placement</h2>")[2].partition("</section>")[0]
    assert "handle 0" not in drawing
    assert done.frames()["tenants"].height == 0

    done = experiment(workload=nandlab.workload.tenants(tenant=[tenant])).run()
    assert done.frames()["handles"].height == 0
    assert done.frames()["tenants"]["mean_us"].to_list() == [
        pytest.approx(done.latency_us.write.mean, rel=1e-3)
    ]
    assert "mean latency (ms)" in done.pictures()["tenants"].svg()


def test_the_longest_request_has_a_timeline_without_gaps():
    done = experiment(host=nandlab.Host(queue_depth=8, explain_longest=True)).run()
    frame = done.frames()["longest_steps"]
    assert frame["from_us"][0] == 0
    assert frame["to_us"].to_list()[:-1] == frame["from_us"].to_list()[1:]
    assert frame["to_us"][-1] == pytest.approx(done.longest_request.latency_us)
    by_cause = {}
    for step in done.longest_request.steps:
        key = step.cause, step.own
        by_cause[key] = by_cause.get(key, 0) + step.to_us - step.from_us
    for part in done.longest_request.parts:
        assert by_cause.get((part.cause, True), 0) == pytest.approx(part.own_us)
        assert by_cause.get((part.cause, False), 0) == pytest.approx(part.waited_us)
    svg = done.pictures()["longest"].svg()
    assert "time after its arrival (ms)" in svg
    assert 'fill="black"' not in svg, "black is unreadable in the dark"


def test_a_run_without_time_has_no_latencies_and_one_without_writes_no_waf():
    counted = experiment(device={"capacity": "16 MiB", "over_provisioning": 0.25, "model": "counting"}).run()
    assert {"latency", "latency-tail"}.isdisjoint(counted.pictures())
    assert "host requests" in counted.pictures()["over-time"].svg()
    read = experiment(workload=nandlab.workload.uniform(requests=200, read_share=1.0)).run()
    assert {"waf", "wear", "blocks"}.isdisjoint(read.pictures())
    assert read.lifetime is None
    assert read.frames()["lifetime"].height == 0


@pytest.mark.parametrize(("form", "colours"), [("svg", "light"), ("svg", "dark"), ("png", "dark")])
def test_plots_are_files_of_their_own(result, tmp_path, form, colours):
    written = result.plots(tmp_path / "new" / "plots", form, colours)
    assert [path.stem for path in written] == list(result.pictures())
    assert files_in(tmp_path / "new" / "plots") == sorted(path.name for path in written)
    for path in written:
        content = path.read_bytes()
        if form == "png":
            assert content.startswith(PNG)
            continue
        text = content.decode()
        assert "var(" not in text
        assert set(re.findall(r"https?://[^\"'\s<]+", text)) <= {"http://www.w3.org/2000/svg"}
        assert ("#14181e" if colours == "dark" else "#ffffff") in text


def test_drawings_are_the_same_every_time(result, drawn_anew):
    of_again, of_result = experiment().run().pictures(), result.pictures()
    once = of_again["over-time"].svg(), of_again["wear"].file("png")
    drawn_anew()
    assert once == (of_result["over-time"].svg(), of_result["wear"].file("png"))


def test_plots_that_cannot_be_written_leave_nothing(result, tmp_path, monkeypatch):
    file = write(tmp_path / "file", "a file")
    for folder in (file, file / "below"):
        with pytest.raises(OSError, match="is no folder"):
            result.plots(folder)
    with pytest.raises(nandlab.ConfigError, match="there is no form 'pdf' of a picture; there are: svg, png"):
        result.plots(tmp_path / "new", "pdf")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(plots.os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write into .*deeper: no space left on device"):
        result.plots(tmp_path / "new" / "deeper")
    assert files_in(tmp_path) == ["file"]


def test_a_folder_that_is_write_protected_is_named(nandlab_command, small, tmp_path):
    folder = tmp_path / "protected"
    folder.mkdir(mode=0o500)
    ended = nandlab_command("run", small, "--plots", folder / "new", first=without_privilege)
    assert ended.status == 2
    assert "cannot write into" in ended.err
    assert files_in(folder) == []


def test_run_and_compare_draw_plots(nandlab_command, small, tmp_path):
    ended = nandlab_command("run", small, "--plots", tmp_path / "run", "--plot-format", "png", alone=True)
    assert ended.status == 0
    assert "pictures: 8 in" in ended.err
    assert (tmp_path / "run" / "over-time.png").read_bytes().startswith(PNG)
    ended = nandlab_command(
        "compare", small, "--vary", "ftl=page,fast", "--plots", tmp_path / "two", "--json"
    )
    assert ended.status == 0
    assert [run["repeats"] for run in ended.document["runs"]] == [[], []]
    assert {"waf.svg", "latency.svg", "waf-over-time.svg"} <= set(files_in(tmp_path / "two"))
    ended = nandlab_command("run", small, "--plot-format", "png")
    assert (ended.status, ended.out) == (2, "")
    assert "--plot-format says how --plots draws, which is not there" in ended.err
    ended = nandlab_command("run", small, "--plots", small)
    assert (ended.status, ended.out) == (2, "")
    assert "is no folder" in ended.err


NOISY = ("--set", "workload.uniform.requests=6000")


def test_seeds_are_means_with_intervals(nandlab_command, small, tmp_path):
    report = tmp_path / "report.html"
    arguments = ("compare", small, "--vary", "ftl=page,fast", "--seeds", 3, *NOISY)
    ended = nandlab_command(*arguments, "--json", "--report", report)
    runs = ended.document["runs"]
    seeds = [[run["result"]["seed"], *(again["seed"] for again in run["repeats"])] for run in runs]
    assert seeds == [[3, 4, 5], [3, 4, 5]]
    wafs = [run["result"]["waf"] for run in runs[1:]] + [again["waf"] for again in runs[1]["repeats"]]
    # Student's t for two degrees of freedom, as printed in tables.
    half = 4.303 * statistics.stdev(wafs) / math.sqrt(3)
    told = f"{statistics.fmean(wafs):.3f} ± {half:.3f}"
    assert told in report.read_text()
    assert "seed 3, 4, 5" in report.read_text()
    table = nandlab_command(*arguments)
    assert told in table.out
    assert "Means over 3 seeds" in table.out


def test_within_the_noise_none_is_best(nandlab_command, small, tmp_path):
    """A twin differs in nothing but its name, and a design that is much better has a star."""
    twin = write(tmp_path / "twin.toml", small.read_text().replace("seed = 3", "seed = 30"))
    report = tmp_path / "report.html"
    nandlab_command("compare", small, twin, "--seeds", 4, *NOISY, "--report", report)
    row = re.search(r"<tr[^>]*>((?:(?!</tr>).)*>small<.*?)</tr>", report.read_text(), re.DOTALL)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row[1])
    assert "±" in cells[1]
    assert not any("★" in cell for cell in cells)
    nandlab_command("compare", small, "--vary", "ftl=page,fast", "--seeds", 4, *NOISY, "--report", report)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", report.read_text(), re.DOTALL)
    marked = [row for row in rows if ">page<" in row and "★" in row]
    assert len(marked) == 1


def test_the_best_is_the_one_that_stands_apart():
    figures = [best.Figure(value, 0.0, f"{value:.2f}") for value in (2.0, 1.0, 3.0)]
    assert best.best(figures, high=False) == [False, True, False]
    assert best.best(figures, high=True) == [False, False, True]
    assert best.best([figures[0], None, figures[0]], high=False) == [False, False, False]
    # What looks the same is not told apart.
    same = [best.Figure(1.0001, 0.0, "1.00"), best.Figure(1.0, 0.0, "1.00")]
    assert best.best(same, high=False) == [False, False]


def test_a_trace_has_the_same_figures_with_every_seed(nandlab_command, tmp_path):
    write(tmp_path / "a.csv", "time_us,op,sector,sectors,origin\n0,W,0,8,database\n5,R,0,8,database\n")
    path = write(tmp_path / "a.toml", '[workload.trace]\npath = "a.csv"\n[ftl.page]\n')
    ended = nandlab_command("compare", path, "--seeds", 2)
    assert ended.status == 0
    assert "±" not in ended.out.split("\n\n")[0]


def test_windows_of_a_run_cover_all_of_it(result):
    for by_writes in (False, True):
        frame = course.gathered(result, by_writes)
        assert 2 < frame.height <= course.MOST_WINDOWS + 1
        assert frame["requests"].is_sorted()
        assert frame["requests"][-1] == result.host.requests
        assert frame["time_s"][-1] == pytest.approx(result.series[-1].time_us / 1e6)


def test_many_designs_have_pictures_too(result):
    runs = comparison.Runs([({"n": str(at)}, result) for at in range(12)])
    drawn = comparison.pictures(runs)
    assert {"waf", "latency", "wear", "lifetime", "energy", "ram", "waf-over-time"} <= set(drawn)
    assert all("<svg" in picture.svg() for picture in drawn.values())


def test_stacked_parts_sum_to_the_whole():
    rows = [{"design": "a", "panel": "", "part": part, "value": 1.25} for part in ("x", "y")]
    drawn = compared.stacked(rows, "part", ["x", "y"], ["a"], [""], "energy (J)").svg()
    assert ">2.5<" in drawn


def test_nothing_heavy_is_loaded_without_a_picture(tmp_path):
    path = write(tmp_path / "a.toml", "[workload.uniform]\nrequests = 10\n[ftl.page]\n")
    code = (
        "import sys, contextlib\nfrom nandlab.cli import group\n"
        "with contextlib.redirect_stdout(None):\n"
        f"    group.main(['run', {str(path)!r}, '--json'], standalone_mode=False)\n"
        "heavy = {'altair', 'great_tables', 'polars', 'vl_convert', 'nandlab.report'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == []


def test_a_chart_of_altair_can_be_changed(result):
    chart = result.pictures()["ram"].themed("dark").properties(width=100)
    assert chart.to_dict()["config"]["background"] == "#14181e"
    assert "var(" not in json.dumps(chart.to_dict())


def texts(spec, key):
    """The values of a key at any depth of a chart."""
    if isinstance(spec, dict):
        for name, value in spec.items():
            if name == key and not isinstance(value, dict | list):
                yield value
            yield from texts(value, key)
    elif isinstance(spec, list):
        for value in spec:
            yield from texts(value, key)


def test_numbers_on_axes_are_written_out(result):
    """The format g writes 1,000 as 1e+3."""
    drawn = [picture.chart.to_dict() for picture in pictures.of_run(result).values()]
    rows = [
        {"line": name, "panel": "", "requests": at, "value": 990 + at} for name in "ab" for at in range(9)
    ]
    drawn.append(compared.over_time(rows, ["a", "b"], None, [""], "free blocks").chart.to_dict())
    formats = {form for spec in drawn for form in texts(spec.get("vconcat", spec), "format")}
    # Shares under 1 % have no other short form.
    assert {form for form in formats if "g" in form} <= {"~g"}
    svg = pictures.over_time(experiment(device={"capacity": "64 MiB", "over_provisioning": 1.0}).run()).svg()
    assert not re.search(r"\de\+\d", svg)


def test_charts_of_the_course_begin_and_end_together(result):
    charts = pictures.over_time(result).chart.to_dict()["vconcat"]
    domains = [chart["encoding"]["x"]["scale"]["domain"] for chart in charts]
    assert len(domains) == 3 and domains[0] == domains[1] == domains[2]
    assert domains[0][1] == pytest.approx(result.time_us / 1e6, rel=0.05)


@pytest.mark.parametrize("width", [pictures.WIDTH + 100, theme.TELEPHONE])
@pytest.mark.parametrize(
    "values",
    [
        (1, 1, 1, 1, 1),
        (0, 1, 2, 3, 1e5),
        (5, 6, 7, 8, 9),
        (100, 130, 180, 240, 400),
        (10, 5e4, 5.1e4, 8e4, 1e5),
        (10, 12, 900, 1000, 1e5),
        (2e4, 3e4, 4e4, 6e4, 1e5),
    ],
)
def test_names_of_percentiles_stand_beside_their_rules(values, width):
    placed = percentiles.labels(dict(zip(percentiles.MARKED, values, strict=True)), (0.84, 1.1e5), width)
    said = [word for label in placed for word in label.words.split(percentiles.SEPARATOR)]
    assert said == list(percentiles.MARKED.values())
    for at, label in enumerate(placed):
        assert label.start >= 0 and label.end <= width + percentiles.BESIDE, placed
        for other in placed[at + 1 :]:
            assert label.fits(other), placed
            assert other.at - label.at >= percentiles.SAME, placed
    # Names share a label only where their rules look like one.
    assert all(percentiles.SEPARATOR not in label.words for label in placed) == (len(placed) == 5)


def test_every_picture_follows_the_schema_of_its_charts(result):
    """A report does not ask for that, since it takes as long as the drawing."""
    assert all(picture.chart.to_dict(validate=True)["$schema"] for picture in result.pictures().values())
