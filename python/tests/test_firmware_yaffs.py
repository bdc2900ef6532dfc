"""`fs.yaffs` beside the real yaffs2, by the same operations on the same flash (examples/firmware/yaffs)."""

import os
import random
from pathlib import Path

import pytest

import nandlab

FOLDER = os.environ.get("NANDLAB_FIRMWARE")
LIBRARY = Path(FOLDER or "") / "yaffs.so"
# yaffs2 has another licence and is no part of the repository, so whoever has built it names its folder.
pytestmark = pytest.mark.skipif(
    FOLDER is None or not LIBRARY.is_file(), reason="NANDLAB_FIRMWARE names no folder with yaffs.so"
)

PAGE = 2048


def small_files():
    """3,000 files of 200 bytes to 20 KB; 100 live at a time."""
    draw, live = random.Random(1), []
    yield from ("mkdir,d", "transaction")
    for number in range(3000):
        path, size = f"d/{number}", draw.randrange(200, 20000)
        yield f"create,{path}"
        for at in range(0, size, 4096):
            yield f"write,{path},{at},{min(4096, size - at)}"
        yield f"close,{path}"
        live.append(path)
        if len(live) > 100:
            yield "remove," + live.pop(draw.randrange(len(live)))


def overwrites():
    """20,000 random overwrites of a page in a file of 8 MiB."""
    draw = random.Random(1)
    yield "create,f"
    yield from (f"write,f,{at * PAGE},65536" for at in range(0, 4096, 32))
    yield from ("close,f", "open,f", "transaction")
    yield from (f"write,f,{draw.randrange(4096) * PAGE},{PAGE}" for _ in range(20000))
    yield "close,f"


def mixed():
    """Files written, overwritten, cut, read, renamed and replaced; half of the overwrites are synced."""
    draw, sizes = random.Random(1), {}
    yield from ("mkdir,d", "mkdir,e", "transaction")
    for number in range(4000):
        kind, names = draw.random(), list(sizes)
        path = draw.choice(names) if names else ""
        size = sizes.get(path, 0)
        if kind < 0.3 or not names:
            path, size = f"{draw.choice('de')}/{number}", draw.randrange(1, 30000)
            yield from (f"create,{path}", f"write,{path},0,{size}", f"close,{path}")
            sizes[path] = size
            if len(sizes) > 150:
                gone = draw.choice(list(sizes))
                del sizes[gone]
                yield f"remove,{gone}"
        elif kind < 0.6:
            at, count = draw.randrange(size + 1), draw.randrange(1, 5000)
            sizes[path] = max(size, at + count)
            yield from (f"open,{path}", f"write,{path},{at},{count}")
            if draw.random() < 0.5:
                yield f"sync,{path}"
            yield f"close,{path}"
        elif kind < 0.7:
            sizes[path] = draw.randrange(size + 1)
            yield from (f"open,{path}", f"truncate,{path},{sizes[path]}", f"close,{path}")
        elif kind < 0.8:
            at, count = draw.randrange(size + 1), draw.randrange(1, 8000)
            yield from (f"open,{path}", f"read,{path},{at},{count}", f"close,{path}")
        else:
            to = f"{draw.choice('de')}/r{number}" if kind < 0.9 else draw.choice(names)
            if to != path:
                sizes[to] = sizes.pop(path)
                yield f"rename,{path},{to}"


def run(file, fs, blocks):
    """A run on a flash of that many blocks, with copies over the bus as the driver of yaffs2 makes them."""
    device = {
        "profile": "k9k4g",
        "shape": {"blocks_per_plane": blocks},
        "timing": {"copy": "external"},
    }
    return nandlab.Experiment(
        workload={"files": {"path": str(file)}}, fs=fs, device=device, allow_code=True
    ).run()


def real(options):
    return {"firmware": {"path": str(LIBRARY), "options": options}}


def of_collection(done, what):
    return sum(getattr(cell, what) for cell in done.matrix if cell.cause == "gc")


def own(done):
    """Programs, reads and time, us, without collection and erases."""
    programs, reads = (of_collection(done, what) for what in ("programs", "reads"))
    flash, transfer = done.flash, 2112 * 0.03
    took = programs * (300 + transfer) + reads * (25 + transfer) + flash.erases * 2000
    return flash.programs - programs, flash.reads - reads, done.time_us - took


@pytest.mark.parametrize(
    ("operations", "blocks"),
    [
        (small_files, 64),
        (small_files, 4096),
        (overwrites, 128),
        (overwrites, 4096),
        (mixed, 64),
        (mixed, 4096),
    ],
)
def test_without_collection_counts_and_time_are_those_of_yaffs2(tmp_path, operations, blocks):
    file = tmp_path / "operations.txt"
    file.write_text("\n".join(operations()) + "\n")
    ours, theirs = run(file, {"yaffs": {}}, blocks), run(file, real("no_summary"), blocks)
    (programs, reads, time), (real_programs, real_reads, real_time) = own(ours), own(theirs)
    assert programs == pytest.approx(real_programs, rel=0.01)
    # yaffs2 reads the first page of a block that it found erased before its program, and behind it.
    checks = 2 * min(blocks, -(-theirs.flash.programs // 64))
    assert reads == pytest.approx(real_reads - checks, rel=0.03)
    assert time == pytest.approx(real_time, rel=0.03)


# With 48 and 88 blocks the collection is aggressive, too.
@pytest.mark.parametrize(
    ("operations", "blocks"),
    [
        (small_files, 48),
        (small_files, 64),
        (overwrites, 88),
        (overwrites, 128),
        (mixed, 48),
        (mixed, 64),
    ],
)
def test_collection_is_that_of_yaffs2(tmp_path, operations, blocks):
    file = tmp_path / "operations.txt"
    file.write_text("\n".join(operations()) + "\n")
    ours, theirs = run(file, {"yaffs": {}}, blocks), run(file, real("no_summary"), blocks)
    assert of_collection(theirs, "programs") > 0
    assert of_collection(ours, "programs") == pytest.approx(of_collection(theirs, "programs"), rel=0.01)
    assert ours.flash.erases == pytest.approx(theirs.flash.erases, rel=0.005)
    assert ours.flash.programs == pytest.approx(theirs.flash.programs, rel=0.005)
    assert ours.flash.reads == pytest.approx(theirs.flash.reads - 2 * blocks, rel=0.005)
    assert ours.time_us == pytest.approx(theirs.time_us, rel=0.005)


@pytest.mark.parametrize(("operations", "blocks"), [(small_files, 64), (overwrites, 128), (mixed, 64)])
def test_summaries_are_the_rest(tmp_path, operations, blocks):
    file = tmp_path / "operations.txt"
    file.write_text("\n".join(operations()) + "\n")
    without, summed = (run(file, real(options), blocks) for options in ("no_summary", ""))
    # A summary is the last page of 64.
    assert 1 / 64 < summed.flash.programs / without.flash.programs - 1 < 3.3 / 64
