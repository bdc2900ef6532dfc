"""`[ftl.firmware]`: the toy firmware under a workload, beside the FTLs of nandlab."""

from pathlib import Path

import pytest
from conftest import call
from test_prove import TOY, built

import nandlab
from nandlab.choosing.candidates import candidates
from nandlab.choosing.wish import Wish

DEVICE = {"profile": "k9f5608", "capacity": "512 KiB", "over_provisioning": 1.0}
BARE = {"profile": "k9f5608", "shape": {"blocks_per_plane": 16}}


def experiment(ftl, allow_code=True, **tables):
    tables = {"workload": nandlab.workload.uniform(requests=4000), "device": DEVICE} | tables
    return nandlab.Experiment(ftl=ftl, allow_code=allow_code, **tables)


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return built(tmp_path_factory.mktemp("toy"))


def test_a_firmware_is_measured_as_an_ftl_is(toy):
    ours = experiment({"page": {}}).run()
    done = experiment(nandlab.ftl.firmware(path=str(toy))).run()
    assert done.host == ours.host
    host = done.host.written_sectors
    by_cause = {cell.cause: cell for cell in done.matrix}
    # The toy names both causes, and each write of the host is one program.
    assert by_cause["host"].programs == host
    assert by_cause["gc"].programs == done.flash.programs - host > 0
    assert done.waf == done.flash.programs / host
    assert done.flash.erases > 0
    assert done.wear.mean * 64 == pytest.approx(done.flash.erases)
    assert done.ram.total_bytes > 0


def test_the_time_is_the_sum_of_the_data_sheet(toy):
    done = experiment(nandlab.ftl.firmware(path=str(toy))).run()
    # The first program of a page takes a whole page on the bus, a read its bytes.
    program, read = 200 + 528 * 0.05, 15 + 512 * 0.05
    flash = done.flash
    expected = flash.programs * program + flash.reads * read + flash.erases * 2000
    assert done.time_us == pytest.approx(expected, rel=1e-9)


def test_a_part_of_a_sector_is_read_first(toy):
    done = experiment(
        nandlab.ftl.firmware(path=str(toy)),
        workload=nandlab.workload.uniform(requests=500, size=512),
        device=DEVICE | {"shape": {"page_bytes": 2048, "spare_bytes": 64}},
    ).run()
    causes = {cell.cause for cell in done.matrix}
    assert "read_modify_write" in causes


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"device": DEVICE | {"model": "bytes"}}, "device.model does not go with ftl.firmware"),
        ({"device": DEVICE | {"faults": {"factory_bad_blocks": [1]}}}, "device.faults does not go with"),
        (
            {"device": DEVICE | {"reliability": {"ecc_bits": 4}}},
            "device.reliability does not go with ftl.firmware",
        ),
        ({"device": DEVICE | {"zones": {}}}, "device.zones: ftl.firmware writes anywhere"),
        ({"device": DEVICE | {"capacity": "900 KiB", "over_provisioning": 0.1}}, "ftl.firmware can export"),
        ({"ftl": {"firmware": {}}}, "it names no shared object"),
        ({"ftl": {"firmware": {"path": "none.so"}}}, "it cannot be read: No such file"),
        ({"allow_code": False}, "it is firmware in C, and would run in this process"),
    ],
)
def test_what_cannot_work_is_told(toy, tables, sentence):
    tables = {"ftl": nandlab.ftl.firmware(path=str(toy))} | tables
    with pytest.raises(nandlab.ConfigError, match=sentence.replace(".", r"\.")):
        experiment(**tables).run()


def test_a_state_of_a_firmware_is_not_saved(toy, tmp_path):
    with pytest.raises(nandlab.ConfigError, match="it holds nothing of a firmware's own chip"):
        experiment(nandlab.ftl.firmware(path=str(toy))).run(save_state=tmp_path / "state")


OTHER = """
#define nl_block nl_toy
#include "{toy}"
#undef nl_block
static int wrong_read(void *firmware, uint32_t sector, void *to)
{{
    int answer = toy_read(firmware, sector, to);
    ((uint8_t *)to)[9] ^= 1;
    return answer;
}}
static int broken_write(void *firmware, uint32_t sector, const void *from)
{{
    nl_erase(toy.device, 1u << 30);
    return toy_write(firmware, sector, from);
}}
static int failed_sync(void *firmware)
{{
    (void)firmware;
    return failed("it was told to");
}}
const nl_block_firmware nl_block = {{
    .size = sizeof(nl_block_firmware), .name = "other", .mount = toy_mount, .sectors = toy_sectors,
    .read = {read}, .write = {write}, .sync = {sync}, .why = toy_why,
}};
"""


@pytest.mark.parametrize(
    ("call_of", "sentence"),
    [
        ("read", "the firmware read bytes from its sector .* that are not those written last"),
        ("write", "the firmware broke a rule of the chip: erase of block 1073741824"),
        ("sync", "the firmware refused the sync: -1, it was told to"),
    ],
)
def test_a_run_ends_with_the_sentence_of_the_firmware(tmp_path, call_of, sentence):
    calls = {"read": "toy_read", "write": "toy_write", "sync": "toy_sync"}
    calls[call_of] = {"read": "wrong_read", "write": "broken_write", "sync": "failed_sync"}[call_of]
    source = tmp_path / "other.c"
    source.write_text(OTHER.format(toy=TOY, **calls))
    other = built(tmp_path, source=source)
    workload = nandlab.workload.uniform(requests=100, read_share=0.5, flush_every=10)
    with pytest.raises(nandlab.NandlabError, match=sentence) as ended:
        experiment(nandlab.ftl.firmware(path=str(other)), workload=workload).run()
    assert ended.value.result.stopped.why == "firmware_failed"


def test_compare_puts_a_firmware_beside_an_ftl(toy, tmp_path):
    device = "\n".join(f"{key} = {value!r}" for key, value in DEVICE.items())
    for name, ftl in (("ours", "[ftl.page]"), ("toy", f'[ftl.firmware]\npath = "{toy}"')):
        text = f"[workload.uniform]\nrequests = 2000\n{ftl}\n[device]\n{device}\n"
        (tmp_path / f"{name}.toml").write_text(text)
    files = [tmp_path / "ours.toml", tmp_path / "toy.toml"]
    refused = call("compare", *files)
    assert refused.status == 2
    assert "--policies" in refused.err
    done = call("compare", *files, "--policies")
    assert done.status == 0
    assert "ours" in done.out
    assert "toy" in done.out


SNAPSHOTS = Path(__file__).parents[2] / "crates/firmware/tests/c/files.c"
POSTMARK = nandlab.workload.postmark(number=4, size_low=50, size_high=800, transactions=8)


def test_a_file_firmware_is_measured_as_a_file_system_is(tmp_path):
    path = str(built(tmp_path, source=SNAPSHOTS))
    done = experiment(None, fs=nandlab.fs.firmware(path=path), workload=POSTMARK, device=BARE).run()
    # It writes everything, 7,400 bytes, with each name and each sync.
    pages = 15
    assert done.flash.programs % pages == 0 < done.flash.programs
    assert {cell.cause for cell in done.matrix} == {"firmware"}
    assert done.remount.page_reads >= pages


def test_fat_runs_over_a_firmware(toy):
    done = experiment(nandlab.ftl.firmware(path=str(toy)), fs={"fat": {}}, workload=POSTMARK).run()
    assert done.flash.programs == done.host.written_sectors > 50
    assert done.remount is None


def test_a_firmware_of_the_other_kind_is_refused(toy):
    with pytest.raises(nandlab.ConfigError, match="it has no nl_file, the table of a file firmware"):
        experiment(None, fs=nandlab.fs.firmware(path=str(toy)), workload=POSTMARK, device=BARE).resolve()


def test_choose_tries_a_firmware_whose_path_is_given(toy):
    def names(**named):
        found = candidates(Wish({"postmark": {"transactions": 5}}, 1 << 20, allow_code=True, **named))
        return {each.name: each.why_not for each in found}

    without, tried = names(), names(sets=[("ftl.firmware.path", str(toy))])
    assert set(tried) - set(without) == {"fat over firmware"}
    assert tried["fat over firmware"] == ""
