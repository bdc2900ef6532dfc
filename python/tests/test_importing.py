"""`nandlab import`: configurations of other simulators, written here with their keys."""

import random
import re
from pathlib import Path

import pytest

import nandlab
from nandlab.importing import Request, import_files, simulator_of
from nandlab.importing.keys import DIFFERS, TOLD, UNUSED

DEVICE = """<?xml version="1.0"?>
<Execution_Parameter_Set>
  <Host_Parameter_Set><PCIe_Lane_Bandwidth>1.0</PCIe_Lane_Bandwidth></Host_Parameter_Set>
  <Device_Parameter_Set>
    <Seed>7</Seed>
    <Enabled_Preconditioning>false</Enabled_Preconditioning>
    <Data_Cache_Capacity>1048576</Data_Cache_Capacity>
    <Data_Cache_DRAM_Data_Rate>100</Data_Cache_DRAM_Data_Rate>
    <Data_Cache_DRAM_Data_Busrt_Size>1</Data_Cache_DRAM_Data_Busrt_Size>
    <Ideal_Mapping_Table>true</Ideal_Mapping_Table>
    <Overprovisioning_Ratio>0.2</Overprovisioning_Ratio>
    <GC_Exec_Threshold>0.05</GC_Exec_Threshold>
    <Flash_Channel_Count>2</Flash_Channel_Count>
    <Channel_Transfer_Rate>400</Channel_Transfer_Rate>
    <Chip_No_Per_Channel>2</Chip_No_Per_Channel>
    <Flash_Parameter_Set>
      <Die_No_Per_Chip>1</Die_No_Per_Chip>
      <Plane_No_Per_Die>2</Plane_No_Per_Die>
      <Block_No_Per_Plane>64</Block_No_Per_Plane>
      <Page_No_Per_Block>32</Page_No_Per_Block>
      <Page_Capacity>4096</Page_Capacity>
    </Flash_Parameter_Set>
  </Device_Parameter_Set>
</Execution_Parameter_Set>
"""
FLOW = """    <IO_Flow_Parameter_Set_Synthetic>
      <Working_Set_Percentage>50</Working_Set_Percentage>
      <Read_Percentage>{reads}</Read_Percentage>
      <Average_No_of_Reqs_in_Queue>{depth}</Average_No_of_Reqs_in_Queue>
      <Stop_Time>0</Stop_Time>
      <Total_Requests_To_Generate>500</Total_Requests_To_Generate>
    </IO_Flow_Parameter_Set_Synthetic>
"""
FLOWS = FLOW.format(reads=0, depth=8) + FLOW.format(reads=30, depth=2)
WORKLOAD = f"<MQSim_IO_Scenarios>\n  <IO_Scenario>\n{FLOWS}  </IO_Scenario>\n</MQSim_IO_Scenarios>\n"

FLASHSIM = """# times in microseconds
SSD_SIZE 2
PACKAGE_SIZE 2
DIE_SIZE 1
PLANE_SIZE 64
BLOCK_SIZE 32
PAGE_READ_DELAY 25
PAGE_WRITE_DELAY 300
BLOCK_ERASE_DELAY 2000
BUS_CTRL_DELAY 2
BUS_DATA_DELAY 10
FTL_IMPLEMENTATION 0
FAST_LOG_BLOCK_LIMIT 9
"""
SIMPLESSD = """[pal]
Channel = 2   # channels
Package = 2
Die = 2
Plane = 1
Block = 64
Page = 32
PageSize = 4096
NANDType = 1
DMASpeed = 400

[ftl]
OverProvisioningRatio = 0.2
EvictPolicy = 3

[icl]
EnableWriteCache = 1
CacheSize = 65536
"""
STANDALONE = """[global]
Mode = 0
Interface = 0
SubmissionLatency = 5us
CompletionLatency = 5us

[generator]
readwrite = randwrite
blocksize = 4K
io_size = 2M
iomode = async
iodepth = 4
"""
FEMU = (
    "-device femu,devsz_mb=48,femu_mode=1,nchs=2,luns_per_ch=2,pls_per_lun=1,blks_per_pl=64,pgs_per_blk=64,"
    "secs_per_pg=8,secsz=512,gc_thres_pcent_high=95"
)
NVMEVIRT = """#if (BASE_SSD == OPTANE)
#define NS_SSD_TYPE_0 SSD_TYPE_NVM
#elif (BASE_SSD == DRIVE)
#define NS_SSD_TYPE_0 SSD_TYPE_CONV
#define NS_CAPACITY_0 MB(64)
#define CELL_MODE (CELL_MODE_MLC)
#define NAND_CHANNELS (2)
#define LUNS_PER_NAND_CH (2)
#define PLNS_PER_LUN (1)
#define FLASH_PAGE_SIZE KB(16)
#define ONESHOT_PAGE_SIZE (FLASH_PAGE_SIZE * 2)
#define BLKS_PER_PLN (64)
#define NAND_4KB_READ_LATENCY_LSB (35760 - 6000) //ns
#define NAND_4KB_READ_LATENCY_MSB (35760 + 6000)
#define NAND_PROG_LATENCY (185000)
#define OP_AREA_PERCENT (0.25)
#define GLOBAL_WB_SIZE (NAND_CHANNELS * LUNS_PER_NAND_CH * ONESHOT_PAGE_SIZE * 2)
#define WRITE_EARLY_COMPLETION 1
#endif
#define CELL_MODE_MLC 2
"""


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture
def samples(tmp_path):
    """Arguments for each simulator."""
    device = write(tmp_path / "ssdconfig.xml", DEVICE)
    ssd = write(tmp_path / "ssd.cfg", SIMPLESSD)
    return {
        "mqsim": [device, write(tmp_path / "workload.xml", WORKLOAD)],
        "flashsim": [write(tmp_path / "ssd.conf", FLASHSIM)],
        "simplessd": [ssd, write(tmp_path / "standalone.cfg", STANDALONE)],
        "femu": [FEMU],
        "nvmevirt": [write(tmp_path / "ssd_config.h", NVMEVIRT)],
    }


def imported(simulator, *files, **options):
    return import_files(simulator, Request(tuple(map(str, files)), **options))


def fates(found):
    return {row.key: row.fate for row in found.rows}


@pytest.mark.parametrize("simulator", ["mqsim", "flashsim", "simplessd", "femu", "nvmevirt"])
def test_an_import_runs_and_every_given_key_has_a_row(nandlab_command, samples, tmp_path, simulator):
    target = tmp_path / "experiment.toml"
    document = nandlab_command("import", simulator, *samples[simulator], "--json", "-o", target).document
    assert nandlab_command("check", target).status == 0
    record = nandlab_command("run", target, "--json", "--set", "seed=3").document
    assert record["host"]["requests"] > 0
    assert record["experiment"]["device"]["shape"]["channels"] == 2
    text = " ".join(
        Path(file).read_text(encoding="utf-8") if Path(file).exists() else file for file in samples[simulator]
    )
    rows = {re.split(r"[ .]", row["key"])[-1] for row in document["keys"]}
    patterns = {
        "mqsim": r"<(\w+)>[^<\n]+</",
        "flashsim": r"(?m)^([A-Z]\w+)",
        "simplessd": r"(?m)^(\w+) =",
        "femu": r",(\w+)=",
        "nvmevirt": r"#define (?!NS_SSD_TYPE|CELL_MODE_)(\w+)",
    }
    assert set(re.findall(patterns[simulator], text)) <= rows


def test_the_table_goes_where_the_experiment_does_not(nandlab_command, samples, tmp_path):
    ended = nandlab_command("import", "flashsim", *samples["flashsim"])
    assert ended.out.startswith("# Imported from flashsim")
    assert "SSD_SIZE" in ended.err
    target = tmp_path / "here.toml"
    ended = nandlab_command("import", "flashsim", *samples["flashsim"], "--output", target)
    assert "SSD_SIZE" in ended.out
    assert ended.err == ""
    assert "[ftl.page]" in target.read_text(encoding="utf-8")


def test_numbers_of_mqsim_become_the_same_device(samples):
    flat = imported("mqsim", *samples["mqsim"]).flat
    assert flat["device.over_provisioning"] == pytest.approx(0.25)
    assert flat["device.shape.planes_per_die"] == 2
    # 400 MT/s is 2.5 ns, truncated there to 2.
    assert flat["device.timing.transfer_ns_per_byte"] == 2
    # MQSim collects below 10 blocks on a plane, which has 12 spare ones here and fills 5.
    assert flat["ftl.page.reserve_blocks"] == 7
    assert flat["ftl.page.stripe"] == {"address": {"order": "CWDP", "planes": 2}}
    assert flat["device.controller.write_command_us"] == pytest.approx(20.506)
    # A page of 4 KiB for each of 8 planes, though the cache has 1 MiB.
    assert flat["device.controller.write_buffer_bytes"] == 32768
    assert flat["seed"] == 7
    jobs = flat["workload.fio.text"]
    assert "iodepth=8" in jobs
    assert "rwmixread=30" in jobs


def test_flows_of_mqsim_have_their_own_slices(samples):
    found = imported("mqsim", *samples["mqsim"])
    offsets = [int(text) for text in re.findall(r"offset=(\d+)", found.flat["workload.fio.text"])]
    sizes = [int(text) for text in re.findall(r"size=(\d+)", found.flat["workload.fio.text"])]
    logical = nandlab.Experiment(**found.tree).inspect()["device"]["logical_bytes"]
    assert offsets[0] == 0
    assert sizes[0] <= offsets[1]
    assert offsets[1] + sizes[1] <= logical
    assert sizes[0] == pytest.approx(logical / 4, rel=0.01)


def test_without_an_ideal_map_mqsim_becomes_dftl_and_wear_levelling_is_told(samples, tmp_path):
    path = write(tmp_path / "cached.xml", DEVICE.replace("Table>true", "Table>false"))
    found = imported("mqsim", path)
    assert "ftl.dftl.cmt_entries" in found.flat
    assert fates(found)["Static_Wearleveling_Enabled"] == TOLD
    assert "Static_Wearleveling_Enabled" in found.text()
    assert "Static_Wearleveling_Enabled" not in {
        row.key for row in imported("mqsim", samples["mqsim"][0]).told()
    }


def test_keys_without_effect_are_said_to_have_none(samples):
    assert fates(imported("mqsim", *samples["mqsim"]))["Overprovisioning_Ratio"] == DIFFERS
    found = fates(imported("flashsim", *samples["flashsim"]))
    assert found["FAST_LOG_BLOCK_LIMIT"] == UNUSED


@pytest.mark.parametrize(("number", "name"), [("1", "bast"), ("2", "fast"), ("3", "dftl")])
def test_the_ftls_of_flashsim(samples, number, name):
    instead = {"FTL_IMPLEMENTATION": number, "BAST_LOG_BLOCK_LIMIT": "8", "CACHE_DFTL_LIMIT": "2"}
    flat = imported("flashsim", *samples["flashsim"], instead=instead).flat
    assert any(key.startswith(f"ftl.{name}.") for key in flat)


def test_a_simplessd_victim_draws_as_many_blocks_as_there(samples):
    flat = imported("simplessd", *samples["simplessd"]).flat
    assert flat["ftl.page.victim"] == {"d_choices": {"choices": 3}}
    assert flat["device.controller.latency_us"] == 10
    assert flat["device.shape.dies_per_channel"] == 4
    assert flat["device.timing.transfer_ns_per_byte"] == 2.5


def test_femu_reads_options_and_scripts_alike(samples, tmp_path):
    script = write(
        tmp_path / "run.sh",
        "ssd_size=48 # MiB\n"
        'FEMU_OPTIONS="-device femu"\n'
        'FEMU_OPTIONS=${FEMU_OPTIONS}",devsz_mb=${ssd_size}"\n'
        'FEMU_OPTIONS=${FEMU_OPTIONS}",'
        + FEMU.partition("devsz_mb=48,")[2].replace(",", '"\nFEMU_OPTIONS=${FEMU_OPTIONS}",')
        + '"\n',
    )
    options, from_script = imported("femu", FEMU), imported("femu", script)
    assert options.flat == from_script.flat
    assert options.flat["device.over_provisioning"] == pytest.approx(64 / 48 - 1)
    assert imported("femu", FEMU + ",op_pcent=20").flat["device.over_provisioning"] == 0.2


def test_nvmevirt_programs_what_one_shot_holds(samples):
    found = imported("nvmevirt", *samples["nvmevirt"])
    assert found.flat["device.timing.program_pages"] == 8
    assert found.flat["device.timing.page_types"] == {"read_us": [29.76, 41.76]}
    assert found.flat["device.controller.write_buffer_bytes"] == 2 * 2 * 32768 * 2
    assert "DRIVE" in found.notes[0]


def test_conditions_of_a_header_without_names_are_decided(samples):
    path = Path(samples["nvmevirt"][0])
    whole = path.read_text(encoding="utf-8")
    expected = imported("nvmevirt", path).flat
    channels = "#define NAND_CHANNELS ({})\n"
    for first, then in [("0", "else"), ("(0)", "elif 1"), ("0", "elif (BASE_SSD == DRIVE)")]:
        branches = (
            f"#if {first}\n{channels.format(7)}#{then}\n{channels.format(2)}#else\n{channels.format(9)}#endif"
        )
        branches = branches.replace(f"#else\n{channels.format(9)}", "") if then == "else" else branches
        write(path, whole.replace(channels.format(2).strip(), branches))
        assert imported("nvmevirt", path, model="DRIVE").flat == expected


REFUSED = [
    ("mqsim", "<Seed>7</Seed>", "<Seeds>7</Seeds>", "MQSim has no key Seeds; did you mean Seed?"),
    ("mqsim", "Seed>7", "Seed>x", "Seed x: expected a whole number"),
    (
        "mqsim",
        "<Flash_Channel_Count>2",
        "<Flash_Channel_Count>0",
        "Flash_Channel_Count 0: expected at least 1",
    ),
    ("mqsim", "<Block_No_Per_Plane>64", "<Block_No_Per_Plan>64", "line 19: this is no XML: mismatched tag"),
    ("flashsim", "PLANE_SIZE 64", "PLANE_SIZE 0", "line 5: PLANE_SIZE 0: expected at least 1"),
    ("flashsim", "PLANE_SIZE 64", "PLANE_SIZ 64", "flashsim has no key PLANE_SIZ; did you mean PLANE_SIZE?"),
    ("flashsim", "IMPLEMENTATION 0", "IMPLEMENTATION 4", "--instead FTL_IMPLEMENTATION=0 takes a page map"),
    ("flashsim", "BLOCK_LIMIT 9", "BLOCK_", "FAST_LOG_BLOCK_ has no value; is the file cut?"),
    ("simplessd", "Channel = 2", "Channel = 0", "line 2: Channel 0: expected at least 1"),
    ("simplessd", "Channel = 2", "Chanel = 2", "did you mean Channel?"),
    ("simplessd", "CacheSize = 65536", "CacheS", "CacheS is no key = value in a section; is the file cut?"),
    ("simplessd", "EnableWriteCache = 1", "EvictPolicy = 1", "--instead icl.EvictPolicy=2 takes LRU"),
    ("femu", "devsz_mb=48", "devsz_mb=64", "no spare"),
    ("femu", "nchs=2", "nchs=0", "nchs 0: expected at least 1"),
    ("femu", "nchs=2", "nch=2", "FEMU has no key nch; did you mean nchs?"),
    ("femu", "gc_thres_pcent_high=95", "gc_thres_pcent_high=", "has no value; are the options cut?"),
    ("femu", "femu_mode=1", "femu_mode=2", "one with zones"),
    (
        "mqsim",
        "<Host_P",
        "<Seed>7</Seed><Host_P",
        "Seed has no place in Execution_Parameter_Set; it has Host",
    ),
    (
        "mqsim",
        "<Seed>",
        "<More><Seed>1</Seed></More><Seed>",
        "line 5: More has no place in Device_Parameter_Set",
    ),
    (
        "mqsim",
        "<IO_Sc",
        "<Flow>1</Flow><IO_Sc",
        "Flow has no place in MQSim_IO_Scenarios; it has IO_Scenario",
    ),
    ("mqsim", "<Read_", "<A><Read_Percentage>1</Read_Percentage></A><Read_", "A has no place in IO_Flow"),
    (
        "mqsim",
        "<Flash_P",
        "<Flash_Parameter_Set><Page_Capacity>1</Page_Capacity></Flash_Parameter_Set><Flash_P",
        "Flash_Parameter_Set is there twice",
    ),
    ("mqsim", '"1.0"?>', '"1.0" encoding="none"?>', "line 1: unknown encoding: none; expected an encoding"),
    ("mqsim", '"1.0"?>', '"1.0" encoding="utf-7"?>', "expected an encoding such as UTF-8"),
    ("mqsim", "<Exec", '<!DOCTYPE a [<!ENTITY b "b">]><Exec', "the entity b is no part of a configuration"),
    ("mqsim", "Seed>7", "Seed>-inf", "Seed -inf: expected"),
    ("flashsim", "PLANE_SIZE 64", "PLANE_SIZE 6\x004", r"PLANE_SIZE 6\x004: expected a whole number"),
    ("simplessd", "blocksize = 4K", "blocksize = 0", "bs = 0 cannot work"),
    (
        "nvmevirt",
        "#define NAND_CHANNELS (2)",
        "#if (CELL_MODE > 1)\n#define NAND_CHANNELS (4)\n#else\n#define NAND_CHANNELS (2)\n#endif",
        "line 8: NAND_CHANNELS depends on an #if that only a compiler can decide",
    ),
    ("nvmevirt", "MB(64)", "MB()", "NS_CAPACITY_0 MB(): expected a number"),
    ("nvmevirt", "(35760 - 6000)", "(1e999)", "NAND_4KB_READ_LATENCY_LSB inf: expected at least 1 and at"),
    ("nvmevirt", "MB(64)", "1 << 99999999999", "NS_CAPACITY_0 1 << 99999999999: expected a number"),
    ("nvmevirt", "MB(64)", "(" * 5000 + ")" * 5000, "expected a number"),
    ("nvmevirt", "#endif", "", "#if has no #endif; is the file cut?"),
    ("nvmevirt", "NAND_CHANNELS (2)", "NAND_CHANNELS (0)", "expected at least 1"),
    ("nvmevirt", "NAND_PROG_LATENCY (", "NAND_PROGRAM (", "NVMeVirt has no key NAND_PROGRAM"),
    ("nvmevirt", "SSD_TYPE_CONV", "SSD_TYPE_KV", "no flash"),
]


@pytest.mark.parametrize(("simulator", "old", "new", "says"), REFUSED)
def test_a_bad_configuration_is_told_in_a_sentence(nandlab_command, samples, simulator, old, new, says):
    given = samples[simulator]
    if simulator == "femu":
        assert old in given[0]
        given = [given[0].replace(old, new)]
    else:
        path = next(path for path in map(Path, given) if old in path.read_text(encoding="utf-8"))
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
    ended = nandlab_command("import", simulator, *given)
    assert (ended.status, ended.out) == (2, "")
    assert says in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_cut_file_names_the_part_that_it_ends_in(nandlab_command, tmp_path):
    path = write(tmp_path / "ssdconfig.xml", DEVICE[: DEVICE.index("<Page_No_Per_Block>")])
    ended = nandlab_command("import", "mqsim", path)
    assert "the file ends inside Flash_Parameter_Set" in ended.err


@pytest.mark.parametrize("given", ["-device nvme,serial=1", "-device femu"])
def test_another_device_is_no_missing_file(nandlab_command, given):
    ended = nandlab_command("import", "femu", given)
    assert (ended.status, ended.out) == (2, "")
    assert "expected -device femu,KEY=VALUE,... or a script with it" in ended.err


@pytest.mark.parametrize("end", ["secs", ",secs_p", ",\\\nsecs_p"])
def test_no_option_of_a_cut_script_is_dropped(nandlab_command, tmp_path, end):
    cut = FEMU.partition(",secs_per_pg")[0]
    ended = nandlab_command("import", "femu", write(tmp_path / "run.sh", f"qemu {cut},{end.lstrip(',')}"))
    assert (ended.status, ended.out) == (2, "")
    assert "has no value; are the options cut?" in ended.err


@pytest.mark.parametrize("simulator", ["flashsim", "simplessd"])
def test_a_file_that_ends_within_a_line_is_told(samples, simulator):
    path = Path(samples[simulator][-1])
    whole = path.read_text(encoding="utf-8")
    assert not any("ends within a line" in note for note in imported(simulator, *samples[simulator]).notes)
    # A number cut in its middle is a number.
    write(path, whole[:-1])
    found = imported(simulator, *samples[simulator])
    assert f"{path} ends within a line: if it was cut there" in found.notes[-1]


@pytest.mark.parametrize("simulator", ["mqsim", "flashsim", "simplessd", "nvmevirt"])
def test_files_of_an_editor_with_a_byte_order_mark_are_read(samples, simulator):
    before = imported(simulator, *samples[simulator]).flat
    for path in map(Path, samples[simulator]):
        write(path, "\ufeff" + path.read_text(encoding="utf-8"))
    assert imported(simulator, *samples[simulator]).flat == before


def test_a_damaged_file_is_read_or_told_in_a_sentence(samples):
    draw = random.Random(45)
    samples["femu"] = [write(Path(samples["mqsim"][0]).parent / "run.sh", f"qemu {FEMU}\n")]
    for simulator, files in samples.items():
        path = Path(files[-1])
        whole = path.read_bytes()
        cuts = [whole[:end] for end in range(0, len(whole), max(1, len(whole) // 20))]
        flips = []
        for _ in range(60):
            flipped = bytearray(whole)
            flipped[draw.randrange(len(whole))] = draw.randrange(256)
            flips.append(bytes(flipped))
        for damaged in [*cuts, *flips, whole.decode().encode("utf-16"), b"\0" * 4000]:
            path.write_bytes(damaged)
            try:
                imported(simulator, *files)
            except nandlab.ConfigError as error:
                assert str(error).isprintable() and len(str(error)) < 1000


def test_sizes_that_do_not_fit_are_found_before_a_run(nandlab_command, tmp_path):
    # MQSim begins, and ends in the middle: a plane has 3 spare blocks, and collection takes 10.
    small = DEVICE.replace("Ratio>0.2", "Ratio>0.05")
    ended = nandlab_command("import", "mqsim", write(tmp_path / "ssdconfig.xml", small))
    assert ended.status == 2
    assert "does not fit (Overprovisioning_Ratio)" in ended.err


def test_log_blocks_of_flashsim_that_leave_no_room_are_refused(nandlab_command, samples):
    options = ["--instead", "FTL_IMPLEMENTATION=2", "--instead", "FAST_LOG_BLOCK_LIMIT=256"]
    ended = nandlab_command("import", "flashsim", *samples["flashsim"], *options)
    assert ended.status == 2
    assert "the limit counts blocks" in ended.err


@pytest.mark.parametrize(
    ("simulator", "options", "says"),
    [
        ("mqsim", ["--scenario", "2"], "there is no scenario 2; it has 1"),
        ("nvmevirt", ["--model", "X"], "there is no drive X; it has OPTANE, DRIVE"),
        ("nvmevirt", ["--model", "OPTANE"], "OPTANE cannot be imported: it has no flash"),
        ("flashsim", ["--instead", "X=1"], "--instead X: there is no such key"),
        ("flashsim", ["--instead", "X"], "not of the form KEY=VALUE"),
        ("flashsim", ["--output", "x.json"], "an experiment is a .toml file"),
    ],
)
def test_a_bad_option_is_told(nandlab_command, samples, simulator, options, says):
    ended = nandlab_command("import", simulator, *samples[simulator], *options)
    assert ended.status == 2
    assert says in ended.err


def test_run_proposes_the_import(nandlab_command, samples, tmp_path):
    ended = nandlab_command("run", samples["mqsim"][0])
    assert ended.status == 2
    assert f"nandlab import mqsim {samples['mqsim'][0]} workload.xml" in ended.err
    for simulator, at, arguments in [
        ("mqsim", 1, "mqsim ssdconfig.xml {}"),
        ("simplessd", 0, "simplessd {}"),
        ("simplessd", 1, "simplessd {}"),
        ("flashsim", 0, "flashsim {}"),
        ("nvmevirt", 0, "nvmevirt {}"),
    ]:
        path = samples[simulator][at]
        ended = nandlab_command("run", path)
        assert ended.status == 2
        assert f"nandlab import {arguments.format(path)}" in ended.err
    script = write(tmp_path / "run.sh", f'FEMU_OPTIONS="{FEMU}"\n')
    assert simulator_of(script) == "femu"
    assert simulator_of(samples["nvmevirt"][0]) == "nvmevirt"
    assert simulator_of(samples["simplessd"][0]) == "simplessd"
    assert simulator_of(samples["flashsim"][0]) == "flashsim"
    assert simulator_of(write(tmp_path / "a.csv", "1,2,3\n")) is None
