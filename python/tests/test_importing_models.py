"""Imports of FEMU and NVMeVirt beside count-only models of their collection, `models/lines.py`.

Both need a machine of their own, so the models stand in their place. Model and import play the same number of
uniform writes.
"""

import random

import pytest
from models.lines import Femu, Nvmevirt
from test_importing import NVMEVIRT, imported, write

import nandlab

LINES, PAGES, DIES = 64, 64, 4
OPTIONS = (
    f"-device femu,devsz_mb=48,femu_mode=1,nchs=2,luns_per_ch=2,blks_per_pl={LINES},pgs_per_blk={PAGES},"
    "secs_per_pg=8,secsz=512,gc_thres_pcent_high=95,gc_thres_pcent="
)
"""A small run-blackbox.sh: three quarters of the flash are the host's."""


def programs_a_write(drive, logical, overwrites):
    """Programs a write of a model: for all writes, and for the last tenth of them."""
    at, total = random.Random(1), overwrites * logical
    last = total // 10
    for _ in range(total - last):
        drive.write(at.randrange(logical))
    before = drive.programs
    for _ in range(last):
        drive.write(at.randrange(logical))
    return drive.programs / total, (drive.programs - before) / last


def of_import(found, writes):
    tree = found.tree
    tree["workload"] = {"uniform": {"requests": writes, "size": "4 KiB"}}
    record = nandlab.Experiment(**tree).run()
    assert record.host.requests == writes
    return record.waf


@pytest.mark.parametrize(("threshold", "background"), [(75, 16), (95, 0)])
def test_programs_a_write_are_those_of_femu(threshold, background):
    logical = 3 * LINES * PAGES * DIES // 4
    model = Femu(LINES, PAGES * DIES, background=background, high=3)
    theirs, at_the_end = programs_a_write(model, logical, 4)
    ours = of_import(imported("femu", f"{OPTIONS}{threshold}"), 4 * logical)
    print(f"gc_thres_pcent={threshold}: {theirs:.2f} there, {at_the_end:.2f} at the end, {ours:.2f} here")
    assert ours == pytest.approx(theirs, rel=0.05)
    # With the rule, lines are emptied as soon as an eighth of them is invalid: 1 / (1 - 7 / 8).
    assert (at_the_end > 7) == bool(background)


def test_programs_a_write_are_those_of_nvmevirt(tmp_path):
    """The drive has 64 lines, a block of each plane, and a quarter more flash than the host sees."""
    found = imported("nvmevirt", write(tmp_path / "ssd_config.h", NVMEVIRT))
    device = nandlab.Experiment(**found.tree).inspect()["device"]
    pages, logical = device["physical_bytes"] // 4096, device["logical_bytes"] // 4096
    theirs, _ = programs_a_write(Nvmevirt(LINES, pages // LINES), logical, 4)
    ours = of_import(found, 4 * logical)
    print(f"{theirs:.2f} there, {ours:.2f} here")
    assert ours == pytest.approx(theirs, rel=0.05)
