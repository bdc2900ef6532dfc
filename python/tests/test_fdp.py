"""Data placement from a trace to the record, by hand-worked examples."""

import pytest

import nandlab

DEVICE = {
    "capacity": "16 MiB",
    "over_provisioning": 0.25,
    "shape": {"page_bytes": 4096, "pages_per_block": 32},
}


def run(tmp_path, lines, **device):
    """A trace of these lines on a page map with four handles."""
    path = tmp_path / "placed.csv"
    path.write_text(
        "time_us,op,sector,sectors,origin,placement,device\n" + "".join(f"{each}\n" for each in lines)
    )
    return nandlab.Experiment(
        workload={"trace": {"path": str(path)}},
        ftl=nandlab.ftl.page(placement={"fdp": {"handles": 4}}, durable_trim=False),
        device={**DEVICE, **device},
    ).run()


@pytest.mark.parametrize("model", ["timed", "counting"])
def test_an_update_retires_a_unit_with_room_left(tmp_path, model):
    """Three pages of 32, an update, a page; an update without a page; a handle that there is not."""
    writes = [f"{at},W,{8 * at},8,,2," for at in range(3)]
    lines = [*writes, "3,U,0,0,,2,", "4,W,24,8,,2,", "5,U,0,0,,1,", "6,W,32,8,,9,"]
    found = run(tmp_path, lines, model=model)
    handle = found.fdp.handles[2]
    assert (handle.host_pages, handle.moved_pages, handle.waf) == (4, 0, 1.0)
    assert (handle.units, handle.unfilled_units) == (2, 1)
    assert found.fdp.pages_left == [[31, 32, 31, 32]]
    # The event is logged for an empty unit, too, and the unit stays.
    assert (found.fdp.handles[1].unfilled_units, found.fdp.handles[1].units) == (1, 0)
    assert (found.fdp.invalid_identifiers, found.fdp.handles[0].host_pages) == (1, 1)
    assert (found.host.requests, found.host.writes) == (7, 5)


def test_events_are_listed_in_their_order(tmp_path, nandlab_command):
    """A unit of 32 pages is filled, the 33rd page begins another; then an update, and an unknown handle."""
    lines = [*(f"{at},W,{8 * at},8,,2," for at in range(33)), "40,U,0,0,,2,", "50,W,400,8,,9,"]
    found = run(tmp_path, lines).fdp
    events = [(one.event, one.group, one.handle, one.pages) for one in found.newest_events]
    assert events == [("ended", 0, 2, 0), ("unfilled", 0, 2, 0), ("invalid_identifier", 0, 9, 0)]
    assert found.events == 3
    times = [one.after_us for one in found.newest_events]
    assert times == sorted(times) and times[0] == times[1] < times[2]

    (tmp_path / "e.toml").write_text(
        '[workload.trace]\npath = "placed.csv"\n[ftl.page]\nplacement.fdp.handles = 4\n[device]\n'
        'capacity = "16 MiB"\nover_provisioning = 0.25\nshape = { page_bytes = 4096, pages_per_block = 32 }\n'
    )
    out = nandlab_command("run", tmp_path / "e.toml", "--events").out
    assert [line.split()[-3:] for line in out.splitlines() if "invalid identifier" in line][-1][-1] == "9"
    assert "3 events" in out


def test_only_the_newest_events_are_kept(tmp_path):
    """An update of an empty unit is an event each."""
    found = run(tmp_path, [f"{at},U,0,0,,{at // 100}," for at in range(300)]).fdp
    assert (found.events, len(found.newest_events)) == (300, 64)
    assert {one.handle for one in found.newest_events} == {2}


def test_events_without_placement_are_told(nandlab_command, tmp_path):
    (tmp_path / "e.toml").write_text(
        '[workload.uniform]\nrequests = 10\n[ftl.page]\n[device]\ncapacity = "64 MiB"\n'
    )
    assert "ftl.page.placement.fdp" in nandlab_command("run", tmp_path / "e.toml", "--events").err


def test_a_write_smaller_than_a_page_costs_a_page(tmp_path):
    """Handle 1 writes a quarter of a page, twice; handle 2 a page and half of the next one."""
    lines = ["0,W,0,8,,1,", "1,W,8,8,,1,", "2,W,64,48,,2,"]
    found = run(tmp_path, lines, shape={"page_bytes": 16384, "pages_per_block": 32}).fdp.handles
    pages = [(handle.host_pages, handle.waf, handle.host_bytes, handle.bytes_waf) for handle in found]
    nothing = (0, None, 0, None)
    assert pages == [nothing, (2, 1.0, 2 * 4096, 4.0), (2, 1.0, 24576, 4 / 3), nothing]


def test_the_table_of_a_run_has_the_handles_in_use(nandlab_command, tmp_path):
    (tmp_path / "placed.csv").write_text(
        "time_us,op,sector,sectors,origin,placement,device\n0,W,0,8,,2,\n1,U,0,0,,2,\n2,W,8,8,,9,\n"
    )
    (tmp_path / "e.toml").write_text(
        '[workload.trace]\npath = "placed.csv"\n[ftl.page]\nplacement.fdp.handles = 4\n'
        '[device]\ncapacity = "16 MiB"\nover_provisioning = 0.25\n'
    )
    out = nandlab_command("run", tmp_path / "e.toml").out
    rows = [line.split() for line in out.partition("pages written")[2].splitlines()]
    assert ["0", "1", "0", "1.000", "1.000", "1", "0"] in rows
    assert ["2", "1", "0", "1.000", "1.000", "1", "1"] in rows
    assert "1 invalid identifier" in out
