"""`nandlab import`: rules of other simulators that became parts here, and what is told about the others."""

import re
from pathlib import Path

import pytest
from conftest import PEERS
from test_importing import DEVICE, FEMU, FLOW, NVMEVIRT, fates, imported, samples, write

import nandlab
from nandlab.importing.keys import DIFFERS, TAKEN, TOLD, UNUSED

__all__ = ["samples"]

CACHE = "buffer.second_write.size"
SCENARIO = "<MQSim_IO_Scenarios>\n<IO_Scenario>\n{}</IO_Scenario>\n</MQSim_IO_Scenarios>\n"


def row(found, key):
    return next(row for row in found.rows if row.key.endswith(key))


def flow(tmp_path, depth=8, reads=0, **values):
    text = FLOW.format(reads=reads, depth=depth)
    for key, value in values.items():
        text = text.replace("<Stop_Time>", f"<{key}>{value}</{key}><Stop_Time>", 1)
    return write(tmp_path / "flows.xml", SCENARIO.format(text))


def device(tmp_path, **values):
    text = DEVICE
    for key, value in values.items():
        text = text.replace("<Seed>", f"<{key}>{value}</{key}><Seed>", 1)
    return write(tmp_path / "device.xml", text)


def test_the_cache_of_mqsim_coalesces_writes_before_flash(tmp_path):
    """64 pages written again and again: MQSim's rule is a program for each page's first write in a second."""
    path = Path(flow(tmp_path))
    content = path.read_text(encoding="utf-8").replace("Percentage>50", "Percentage>2")
    write(path, content.replace("Generate>500", "Generate>20000"))
    found = imported("mqsim", device(tmp_path), path)
    assert found.flat[CACHE] == 1 << 20
    record = nandlab.Experiment(**found.tree).run()
    pages = record.buffer.write_misses
    assert record.host.requests == 20_000
    # 2 % of the host's pages, all of them in the cache of 256 pages; each goes to flash once.
    assert record.flash.programs == record.buffer.flushed_pages
    assert 60 <= record.flash.programs <= 200
    assert pages <= 2 * record.flash.programs
    # The former rule, a buffer that only answers early, programs a page for each write.
    plain = {key: value for key, value in found.tree.items() if key != "buffer"}
    assert nandlab.Experiment(**plain).run().flash.programs > 19_000


def test_sizes_of_the_cache_and_of_the_way_to_flash(tmp_path):
    found = imported("mqsim", device(tmp_path), flow(tmp_path))
    assert found.flat[CACHE] == 1 << 20
    # A page of 4 KiB for each of 8 planes is on its way.
    assert found.flat["device.controller.write_buffer_bytes"] == 32768
    # MQSim counts sectors, so twice as many writes of half a page are; each takes a page here.
    small = imported("mqsim", device(tmp_path), flow(tmp_path, Average_Request_Size="4"))
    assert small.flat["device.controller.write_buffer_bytes"] == 2 * 32768
    large = imported("mqsim", device(tmp_path), flow(tmp_path, Average_Request_Size="32"))
    assert large.flat["device.controller.write_buffer_bytes"] == 32768
    assert row(found, "Caching_Mechanism").fate == DIFFERS
    assert row(found, "Data_Cache_Capacity").fate == TAKEN
    reads = imported(
        "mqsim", device(tmp_path), flow(tmp_path, Device_Level_Data_Caching_Mode="WRITE_READ_CACHE")
    )
    assert reads.flat["buffer.second_write.cache_reads"] is True
    off = imported("mqsim", device(tmp_path), flow(tmp_path, Device_Level_Data_Caching_Mode="TURNED_OFF"))
    assert not any(key.startswith(("buffer.", "device.controller.")) for key in off.flat)
    assert row(off, "Data_Cache_Capacity").fate == UNUSED


def test_a_configuration_that_mqsim_refuses_is_told(nandlab_command, tmp_path):
    simple = device(tmp_path, Caching_Mechanism="SIMPLE")
    found = imported("mqsim", simple, flow(tmp_path))
    assert any("MQSim refuses this configuration" in note for note in found.notes)
    assert "ends at the first request" in row(found, "Caching_Mechanism").note
    assert found.flat[CACHE] == 1 << 20
    assert "MQSim refuses this configuration" in " ".join(
        nandlab_command("import", "mqsim", simple, flow(tmp_path)).out.replace("\n# ", " ").split()
    )
    off = imported("mqsim", simple, flow(tmp_path, Device_Level_Data_Caching_Mode="TURNED_OFF"))
    assert not any("refuses" in note for note in off.notes)
    assert not any("refuses" in note for note in imported("mqsim", device(tmp_path), flow(tmp_path)).notes)


@pytest.mark.parametrize(
    ("fetched", "depth", "iodepth", "fate"), [(4, 16, 4, DIFFERS), (16, 16, 16, UNUSED), (1, 2, 1, DIFFERS)]
)
def test_a_flow_has_no_more_requests_in_the_device_than_are_fetched(tmp_path, fetched, depth, iodepth, fate):
    found = imported("mqsim", device(tmp_path, Queue_Fetch_Size=fetched), flow(tmp_path, depth=depth))
    assert f"iodepth={iodepth}\n" in found.flat["workload.fio.text"]
    told = row(found, "Queue_Fetch_Size")
    assert told.fate == fate
    assert (f"its mean is {depth / fetched} times as long" in told.note) == (fate == DIFFERS)


def test_without_flows_the_queue_is_no_deeper_than_what_is_fetched(tmp_path):
    assert imported("mqsim", device(tmp_path, Queue_Fetch_Size=3)).flat["host.queue_depth"] == 3
    assert imported("mqsim", device(tmp_path, Queue_Fetch_Size=300)).flat["host.queue_depth"] == 16


def test_two_flows_fill_a_device_together(tmp_path):
    """Their jobs share the drive: an offset is no gap at the start of a file of one's own."""
    path = Path(flow(tmp_path))
    content = re.sub(r"(Working_Set_Percentage>)\d+", r"\g<1>100", path.read_text(encoding="utf-8"))
    whole = content[content.index("<IO_Flow") : content.index("</IO_Scenario>")]
    found = imported("mqsim", device(tmp_path), write(path, content.replace(whole, whole * 2)))
    sizes = [int(text) for text in re.findall(r"\bsize=(\d+)", found.flat["workload.fio.text"])]
    logical = nandlab.Experiment(**found.tree).inspect()["device"]["logical_bytes"]
    assert len(sizes) == 2 and logical * 0.95 < sum(sizes) <= logical


def test_a_closing_tag_that_mqsim_ships_is_read(tmp_path):
    text = Path(flow(tmp_path)).read_text(encoding="utf-8")
    odd = write(tmp_path / "odd.xml", text.replace("</Read_Percentage>", "</<Read_Percentage>"))
    assert (
        imported("mqsim", device(tmp_path), odd).flat
        == imported("mqsim", device(tmp_path), flow(tmp_path)).flat
    )


def test_flows_that_only_read_need_no_more_blocks_than_few(tmp_path):
    """MQSim fills a device without writing it; here the fill is the longest part of such a run."""
    large = Path(device(tmp_path)).read_text(encoding="utf-8").replace("Plane>64<", "Plane>1024<")
    path = write(tmp_path / "large.xml", large)
    reads = flow(tmp_path, reads=100)
    found = imported("mqsim", path, reads)
    assert found.flat["device.shape.blocks_per_plane"] == 256
    told = row(found, "Block_No_Per_Plane")
    assert told.fate == DIFFERS and "1024 there" in told.note
    every = imported("mqsim", path, reads, instead={"Block_No_Per_Plane": "1024"})
    assert every.flat["device.shape.blocks_per_plane"] == 1024
    means = [nandlab.Experiment(**each.tree).run().latency_us.read.mean for each in (found, every)]
    assert means[0] == pytest.approx(means[1], rel=0.02)
    assert imported("mqsim", path, flow(tmp_path)).flat["device.shape.blocks_per_plane"] == 1024


def test_chips_that_no_flow_uses_are_left_out(tmp_path):
    """Both flows on one chip of two: reads at a depth beyond the dies are half as fast."""
    whole = flow(tmp_path, depth=64, reads=100)
    both = imported("mqsim", device(tmp_path), whole)
    chips = both.flat["device.shape.dies_per_channel"]
    assert chips == 2
    half = imported("mqsim", device(tmp_path), flow(tmp_path, depth=64, reads=100, Chip_IDs="1"))
    assert half.flat["device.shape.dies_per_channel"] == 1
    told = row(half, "Chip_No_Per_Channel")
    assert told.fate == DIFFERS and "same 1 of 2" in told.note
    slow, fast = (nandlab.Experiment(**each.tree).run().latency_us.read.mean for each in (half, both))
    assert slow > 1.7 * fast
    text = SCENARIO.format(
        "".join(
            FLOW.format(reads=100, depth=8).replace("<Stop_Time>", f"<Chip_IDs>{chip}</Chip_IDs><Stop_Time>")
            for chip in (0, 1)
        )
    )
    apart = imported("mqsim", device(tmp_path), write(tmp_path / "apart.xml", text))
    assert apart.flat["device.shape.dies_per_channel"] == 2
    assert row(apart, "flow 1: Chip_IDs").fate == TOLD


def test_both_sides_of_a_merge_are_told(nandlab_command, tmp_path):
    text = Path(flow(tmp_path)).read_text(encoding="utf-8")
    odd = write(tmp_path / "odd.xml", text.replace("<Stop_Time>", "\n<<<<<<< HEAD\n<Stop_Time>", 1))
    said = nandlab_command("import", "mqsim", device(tmp_path), odd).err
    assert "git left both sides of a merge here" in said


def test_firmware_of_nvmevirt_has_times_for_reads_and_for_writes(tmp_path):
    """By hand: a write of 4 KiB takes 4 + 0.46 us of firmware and 4,096 bytes at 3,360 MB/s, so 5.68 us."""
    times = (
        "#define FW_4KB_READ_LATENCY (21500)\n#define FW_READ_LATENCY (30490)\n"
        "#define FW_WBUF_LATENCY0 (4000)\n#define FW_WBUF_LATENCY1 (460)\n#define PCIE_BANDWIDTH (3360ull)\n"
    )
    path = write(
        tmp_path / "ssd_config.h", NVMEVIRT.replace("#define NAND_CHANNELS", f"{times}#define NAND_CHANNELS")
    )
    found = imported("nvmevirt", path)
    assert found.flat["device.controller.latency_us"] == 21.5
    assert found.flat["device.controller.write_latency_us"] == pytest.approx(4.46)
    assert fates(found)["FW_WBUF_LATENCY0"] == TAKEN
    assert "8.99 us longer" in row(found, "FW_READ_LATENCY").note
    tree = found.tree
    tree["workload"] = {"uniform": {"requests": 200, "size": "4 KiB"}}
    tree["host"] = {"queue_depth": 1, "think_time_us": 2000}
    assert nandlab.Experiment(**tree).run().latency_us.write.mean == pytest.approx(5.68, abs=0.01)


FDP = "-device femu-subsys,id=femu-subsys-0,nqn=subsys0,fdp=on,fdp.runs=96M,fdp.nrg=1,fdp.nruh=8"
DRIVE = FEMU + ",fdp.ruhs=0;1;2;3,subsys=femu-subsys-0"


@pytest.mark.parametrize("order", [[FDP, DRIVE], [DRIVE, FDP]])
def test_handles_of_femu_become_handles_here(tmp_path, order):
    found = imported("femu", " ".join(order))
    assert found.flat["ftl.page.placement.fdp.handles"] == 4
    assert found.flat["ftl.page.placement.fdp.groups"] == 1
    assert row(found, "fdp.ruhs").fate == TAKEN
    assert any("handle 0" in note for note in found.notes)
    assert len(nandlab.Experiment(**found.tree).run().fdp.handles) == 4


def test_handles_in_a_script_of_femu(tmp_path):
    script = write(
        tmp_path / "run-blackbox-fdp.sh",
        'fdpruhs="0;1;2;3"\nsubsys="femu-subsys-0"\nnumber_of_ru=$((64 * 1))\n'
        f'FEMU_OPTIONS="{FEMU}"\n'
        'FEMU_OPTIONS=${FEMU_OPTIONS}",fdp.ruhs=${fdpruhs}"\nFEMU_OPTIONS=${FEMU_OPTIONS}",subsys=${subsys}"\n'
        "sudo qemu-system-x86_64 \\\n"
        "    -device femu-subsys,id=femu-subsys-0,fdp=on,fdp.nruh=8,fdp.nrg=1,fdp.nru=${number_of_ru} \\\n"
        "    ${FEMU_OPTIONS} \\\n    -nographic\n",
    )
    assert imported("femu", script).flat == imported("femu", f"{FDP} {DRIVE}").flat


def test_handles_without_a_subsystem_that_has_them_are_none():
    for given in [DRIVE, f"{FDP.replace('fdp=on', 'fdp=off')} {DRIVE}"]:
        found = imported("femu", given)
        assert not any("placement" in key for key in found.flat)
        assert row(found, "fdp.ruhs").fate == UNUSED
    all_of_them = imported("femu", f"{FDP} {FEMU}")
    assert all_of_them.flat["ftl.page.placement.fdp.handles"] == 8


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (f"{FDP} {FDP} {DRIVE}", "femu-subsys is there twice"),
        (f"{FDP},fdp.none=1 {DRIVE}", "FEMU has no key fdp.none"),
        (f"{FDP} {DRIVE},mapping=dftl", "placement by the host needs a page map"),
        (f"{FDP.replace('fdp.nruh=8', 'fdp.nruh=200')} {FEMU}", "1 to 128 handles"),
    ],
)
def test_an_impossible_subsystem_is_refused(nandlab_command, given, says):
    ended = nandlab_command("import", "femu", given)
    assert (ended.status, ended.out) == (2, "")
    assert says in ended.err


def test_collection_in_the_background_begins_with_a_number_of_lines():
    found = imported("femu", f"{FEMU},gc_thres_pcent=80")
    told = row(found, "gc_thres_pcent")
    assert told.fate == DIFFERS
    assert "at most 12 lines" in told.note
    # Of 64 lines with 64 pages a block: a fifth, and an eighth.
    assert found.flat["ftl.page.collection.background.free_blocks"] == 12
    assert found.flat["ftl.page.collection.background.invalid_pages"] == 8
    late = imported("femu", f"{FEMU},gc_thres_pcent=96")
    assert not any("background" in key for key in late.flat)
    assert row(late, "gc_thres_pcent").fate == UNUSED
    paged = imported("femu", f"{FEMU},mapping=dftl")
    assert row(paged, "gc_thres_pcent").fate == TOLD


ZNS = """#if (BASE_SSD == ZNS)
#define NS_SSD_TYPE_0 SSD_TYPE_ZNS
#define NS_CAPACITY_0 MB(256)
#define CELL_MODE (CELL_MODE_TLC)
#define NAND_CHANNELS (2)
#define LUNS_PER_NAND_CH (4)
#define FLASH_PAGE_SIZE KB(32)
#define PLNS_PER_LUN (1)
#define DIES_PER_ZONE (4)
#define ONESHOT_PAGE_SIZE (FLASH_PAGE_SIZE * 3)
#define ZONE_SIZE MB(16)
#define WRITE_UNIT_SIZE (512)
#define NAND_4KB_READ_LATENCY_LSB (50000)
#define NAND_4KB_READ_LATENCY_MSB (50000)
#define NAND_4KB_READ_LATENCY_CSB (50000)
#define NAND_PROG_LATENCY (561000)
#define OP_AREA_PERCENT (0)
#define ZONE_WB_SIZE (10 * ONESHOT_PAGE_SIZE)
#define GLOBAL_WB_SIZE (0)
#define WRITE_EARLY_COMPLETION 1
#define BLKS_PER_PLN 0
#define BLK_SIZE (ZONE_SIZE / DIES_PER_ZONE)
#endif
#define CELL_MODE_TLC 3
"""


def test_zones_of_nvmevirt_are_zones_here(tmp_path):
    found = imported("nvmevirt", write(tmp_path / "ssd_config.h", ZNS))
    flat = found.flat
    assert "ftl.zns" in flat
    assert (flat["device.zones.size"], flat["device.zones.dies"]) == (16 << 20, 4)
    assert flat["device.timing.program_pages"] == flat["device.zones.pages_per_die"] == 24
    assert flat["device.controller.write_buffer_bytes"] == 10 * 96 * 1024
    assert nandlab.Experiment(**found.tree).inspect()["device"]["logical_bytes"] == 256 << 20
    record = nandlab.Experiment(**found.tree).run()
    assert record.host.requests == 20_000 + record.zones.resets
    assert record.waf == pytest.approx(1, abs=0.01)


def test_zones_of_femu_are_zones_here():
    """By hand: 8 dies of 32 blocks, so 64 pages of 16 KiB a block; a zone has two planes, 16 MiB."""
    options = "-device femu,devsz_mb=256,femu_mode=3,zns_num_ch=2,zns_num_lun=4,zns_flash_type=3,queues=8"
    found = imported("femu", options)
    flat = found.flat
    assert "ftl.zns" in flat
    assert (flat["device.zones.size"], flat["device.zones.pages_per_die"]) == (16 << 20, 6)
    assert (flat["device.timing.read_us"], flat["device.timing.program_us"]) == (32, 937.5)
    assert row(found, "queues").fate == UNUSED
    assert nandlab.Experiment(**found.tree).inspect()["device"]["logical_bytes"] == 256 << 20
    record = nandlab.Experiment(**found.tree).run()
    assert record.host.requests == 20_000 + record.zones.resets
    assert record.waf == pytest.approx(1, abs=0.01)
    slow = imported("femu", f"{options},zns_pg_wr_lat=500000,zns_max_open=4,zns_max_active=6").flat
    assert slow["device.timing.program_us"] == 500
    assert (slow["device.zones.max_open"], slow["device.zones.max_active"]) == (4, 6)
    told = imported("femu", f"{options},zns_zrwa_size=4")
    assert row(told, "zns_zrwa_size").fate == TOLD


SHIPPED = [
    ("mqsim", ["MQSim/ssdconfig.xml", "MQSim/workload.xml"], {}),
    ("mqsim", ["MQSim/ssdconfig.xml", "MQSim/workload.xml"], {"scenario": 2}),
    ("mqsim", ["MQSim/ssdconfig.xml", "MQSim/workload.xml"], {"scenario": 3}),
    *(
        ("mqsim", [f"MQSim/fast18/{folder}/{device}", f"MQSim/fast18/{folder}/{workload}.xml"], {})
        for folder, device, workload in [
            (
                "data-cache-contention",
                "ssdconfig-datacache-contention.xml",
                "workload-datacache-contention-flow-1-flow-2",
            ),
            (
                "queue-fetch-size",
                "ssdconfig-queue-fetch-size=16.xml",
                "workload-queue-fetch-size-flow-1-flow-2",
            ),
            (
                "backend-contention",
                "ssdconfig-backend-contention.xml",
                "workload-backend-contention-flow-1-flow-2",
            ),
        ]
    ),
    ("femu", ["FEMU/femu-scripts/run-zns.sh"], {}),
    ("nvmevirt", ["nvmevirt/ssd_config.h"], {"model": "ZNS_PROTOTYPE"}),
    ("nvmevirt", ["nvmevirt/ssd_config.h"], {"model": "WD_ZN540"}),
    ("simplessd", ["SimpleSSD/config/sample.cfg", "SimpleSSD-Standalone/config/sample.cfg"], {}),
    ("flashsim", ["flashsim/ssd.conf"], {}),
    ("femu", ["FEMU/femu-scripts/run-blackbox.sh"], {}),
    ("nvmevirt", ["nvmevirt/ssd_config.h"], {}),
]


@pytest.mark.peers
@pytest.mark.parametrize(("simulator", "files", "options"), SHIPPED)
def test_shipped_configurations_are_imported(simulator, files, options):
    # Each import has been inspected as an experiment.
    found = imported(simulator, *(Path(PEERS) / file for file in files), **options)
    assert len(found.rows) > 5
