"""FTLs against plain models of them, which were written from the documents: equal counts, to the unit."""

import random
from dataclasses import dataclass

import pytest
from models.bast import Bast
from models.fast import Fast
from models.page import Page
from models.sector_map import SectorMap

import nandlab

PAGES = 16
"""Pages of a block."""


@dataclass(frozen=True)
class Shape:
    """An erased device, with so many blocks on each die, that exports `logical` pages."""

    logical: int
    page_sectors: int
    blocks: int
    dies: int = 1


def measured(folder, ftl, requests, shape, unit):
    """Runs writes of `unit` sectors each, with these numbers."""
    trace = folder / "writes.csv"
    lines = "".join(f"{at},W,{number * unit},{unit}\n" for at, number in enumerate(requests))
    trace.write_text("time_us,op,sector,sectors\n" + lines, encoding="utf-8")
    device = nandlab.Device(
        profile="generic",
        capacity=shape.logical * shape.page_sectors * 512,
        blocks_per_plane=shape.blocks,
        shape={
            "channels": 1,
            "dies_per_channel": shape.dies,
            "planes_per_die": 1,
            "pages_per_block": PAGES,
            "page_bytes": shape.page_sectors * 512,
        },
        rules={"program_order": "any"},
    )
    return (
        nandlab.Experiment(workload=nandlab.workload.trace(path=trace), ftl=ftl, device=device)
        .run()
        .to_dict()
    )


def uniform(draw, pages):
    return [draw.randrange(pages)]


def hot_and_cold(draw, pages):
    hot = pages // 5
    return [draw.randrange(hot) if draw.random() < 0.8 else draw.randrange(hot, pages)]


def runs(draw, pages):
    first = draw.randrange(pages)
    return [(first + step) % pages for step in range(draw.choice((1, 3, 16, 40)))]


def mix(draw, pages):
    return draw.choice((runs, hot_and_cold))(draw, pages)


WORKLOADS = {"uniform": uniform, "hot_and_cold": hot_and_cold, "runs": runs, "mix": mix}


def requests_of(workload, pages, count):
    draw, requests = random.Random(5), []
    while len(requests) < count:
        requests += WORKLOADS[workload](draw, pages)
    return requests[:count]


def counted(model, requests):
    for request in requests:
        model.write(request)
    return model


def merges_of(record):
    flash, merges = record["flash"], record["merges"]
    return (
        flash["programs"],
        flash["copies"],
        flash["erases"],
        merges["switch"],
        merges["partial"],
        merges["full"],
    )


def merges_in(model):
    return (model.programs, model.copies, model.erases, model.switches, model.partials, model.fulls)


def compare_merges(folder, model, ftl, workload, **options):
    """50 logical blocks on 100; a block is set aside for notes of trims."""
    logical = 50 * PAGES
    requests = requests_of(workload, logical, 5000)
    record = measured(folder, ftl(**options), requests, Shape(logical, 4, 100), 4)
    assert merges_of(record) == merges_in(counted(model(100, PAGES, 1, **options), requests))


@pytest.mark.parametrize("log_blocks", [1, 2, 8, 32])
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("first_write", ["data", "log"])
def test_bast(tmp_path, log_blocks, workload, first_write):
    compare_merges(tmp_path, Bast, nandlab.ftl.bast, workload, log_blocks=log_blocks, first_write=first_write)


@pytest.mark.parametrize("options", [{"victim": "fifo"}, {"victim": "fullest"}, {"partial_merge": False}])
def test_bast_with_other_options(tmp_path, options):
    compare_merges(tmp_path, Bast, nandlab.ftl.bast, "mix", log_blocks=8, first_write="log", **options)


@pytest.mark.parametrize("log_blocks", [1, 2, 8, 32])
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("sequential_merge", ["data_block", "newest"])
def test_fast(tmp_path, log_blocks, workload, sequential_merge):
    options = {"log_blocks": log_blocks, "sequential_merge": sequential_merge}
    compare_merges(tmp_path, Fast, nandlab.ftl.fast, workload, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"sequential_block": False},
        {"sw_rule": "if_not_in_log"},
        {"skip_stale": False},
        {"first_write": "log"},
        {"first_write": "log", "sequential_block": False},
        {"first_write": "log", "sequential_merge": "data_block"},
    ],
)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_fast_with_other_options(tmp_path, options, workload):
    compare_merges(tmp_path, Fast, nandlab.ftl.fast, workload, log_blocks=4, **options)


@pytest.mark.parametrize(("dies", "percent"), [(1, 85), (2, 78), (4, 60)])
@pytest.mark.parametrize("placement", ["one", "two"])
@pytest.mark.parametrize("workload", ["uniform", "hot_and_cold"])
def test_page(tmp_path, dies, percent, placement, workload):
    blocks = 64 // dies
    logical = 64 * PAGES * percent // 100
    requests = [*range(logical), *requests_of(workload, logical, 4 * logical)]
    ftl = nandlab.ftl.page(placement=placement)
    flash = measured(tmp_path, ftl, requests, Shape(logical, 4, blocks, dies), 4)["flash"]
    model = counted(Page(dies, blocks, PAGES, logical, placement=placement), requests)
    assert (flash["programs"], flash["copies"], flash["erases"]) == (
        model.programs,
        model.copies,
        model.erases,
    )


@pytest.mark.parametrize("dies", [1, 2, 4])
@pytest.mark.parametrize("workload", ["uniform", "hot_and_cold"])
@pytest.mark.parametrize("rewrite", ["overwrite", "append"])
def test_sector_map(tmp_path, dies, workload, rewrite):
    blocks, sectors = 128 // dies, 8
    logical = 128 * PAGES * 55 // 100
    requests = [*range(logical * sectors), *requests_of(workload, logical * sectors, 2 * logical * sectors)]
    ftl = nandlab.ftl.sector_map(cmt_units=0, rewrite=rewrite)
    flash = measured(tmp_path, ftl, requests, Shape(logical, sectors, blocks, dies), 1)["flash"]
    model = counted(SectorMap(dies, blocks, PAGES, sectors, logical, rewrite=rewrite), requests)
    assert (flash["programs"], flash["reads"], flash["erases"]) == (model.programs, model.reads, model.erases)
