"""`nandlab.Trace`: the requests of a file, as frames and as a workload."""

import gzip

import polars
import pytest
from conftest import files_in, write

import nandlab

LINES = "time_us,op,sector,sectors,origin,device\n0,W,0,8,wal,0\n250.5,R,8,16,database,0\n900,T,64,8,host,0\n"


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "a.csv", LINES)


def test_requests_are_those_of_the_file(path):
    trace = nandlab.Trace(path)
    assert trace.format == "csv"
    frame = trace.frame()
    assert frame.schema == {
        "time_us": polars.Float64,
        "op": polars.String,
        "sector": polars.Int64,
        "sectors": polars.Int64,
        "origin": polars.String,
        "placement": polars.String,
        "device": polars.String,
    }
    assert frame.rows()[:2] == [
        (0.0, "write", 0, 8, "wal", None, "0"),
        (250.5, "read", 8, 16, "database", None, "0"),
    ]
    assert trace.frame(count=1, skip=1)["op"].to_list() == ["read"]
    assert trace.frame(from_s=0.0005)["op"].to_list() == ["trim"]


def test_a_frame_has_the_placements_of_writes(tmp_path):
    lines = "time_us,op,sector,sectors,origin,placement\n0,W,0,8,wal,1:5\n1,W,8,8,,\n2,R,8,8,,7\n3,W,0,8,,7\n"
    trace = nandlab.Trace(write(tmp_path / "placed.csv", lines))
    assert trace.frame()["placement"].to_list() == ["1:5", None, None, "7"]
    assert [one["placement"] for one in trace.info()["placements"]] == ["7", "1:5"]


def test_a_trace_is_a_workload(path):
    trace = nandlab.Trace(path, requests=2, addresses="compact")
    assert trace.to_dict() == {"trace": {"path": str(path), "requests": 2, "addresses": "compact"}}
    result = nandlab.Experiment(workload=trace, ftl=nandlab.ftl.page()).run()
    assert result.host.requests == 2
    assert trace == nandlab.Trace(str(path), requests=2, addresses="compact")
    assert trace != nandlab.Trace(path)
    assert repr(trace).startswith("Trace('")


def test_columns_are_named_as_in_a_file(tmp_path):
    path = write(tmp_path / "own.txt", "when;kind;lba;blocks\n1.5;wr;2;1\n2.5;rd;2;1\n")
    columns = {
        "time": "when",
        "op": "kind",
        "address": "lba",
        "size": "blocks",
        "address_unit_bytes": 4096,
        "size_unit_bytes": 4096,
        "separator": "semicolon",
        "read": ["rd"],
        "write": ["wr"],
    }
    trace = nandlab.Trace(path, format="columns", time_unit="s", columns=columns)
    assert trace.frame().select("op", "sector", "sectors").rows() == [("write", 16, 8), ("read", 16, 8)]


def test_frames_and_pictures_of_a_trace(path, tmp_path):
    trace = nandlab.Trace(path)
    found = trace.frames()
    assert found["devices"].rows() == [("0", 3)]
    assert found["sizes"]["requests"].sum() == 2
    assert found["cells"]["written_bytes"].sum() == 4096
    written = trace.plots(tmp_path / "plots")
    assert "sizes.svg" in files_in(tmp_path / "plots")
    assert all(file.read_text().startswith("<svg") for file in written)


def test_parts_are_written_as_other_files(path, tmp_path):
    done = nandlab.Trace(path).convert(tmp_path / "b.csv.gz", skip=1)
    assert done["requests"] == 2
    assert nandlab.Trace(tmp_path / "b.csv.gz").frame()["op"].to_list() == ["read", "trim"]
    with gzip.open(tmp_path / "b.csv.gz", "rt") as file:
        assert file.readline().startswith("time_us,op,sector,sectors")


def test_what_is_wrong_is_an_error_with_its_place(tmp_path):
    broken = nandlab.Trace(write(tmp_path / "bad.csv", LINES + "1000,W,eight,8,wal,0\n"))
    with pytest.raises(nandlab.TraceError, match="eight") as caught:
        broken.info()
    assert (caught.value.line, caught.value.column) == (5, 8)
    assert isinstance(caught.value, nandlab.NandlabError)
    with pytest.raises(nandlab.TraceError, match="no such file"):
        nandlab.Trace(tmp_path / "absent.csv").info()
    with pytest.raises(nandlab.ConfigError, match="fromat"):
        nandlab.Trace(tmp_path / "bad.csv", fromat="spc").info()
    for part in ({"count": -1}, {"skip": 1.5}, {"from_s": float("nan")}, {"to_s": "soon"}):
        ((name, value),) = part.items()
        with pytest.raises(nandlab.ConfigError, match=f"^{name} = {value!r}: expected a"):
            nandlab.Trace(tmp_path / "bad.csv").frame(**part)
    with pytest.raises(nandlab.ConfigError, match="count, from_s, to_s, not by until"):
        nandlab.Trace(tmp_path / "bad.csv").convert(tmp_path / "c.csv", until=3)
    with pytest.raises(nandlab.ConfigError, match="given a set"):
        nandlab.Trace(tmp_path / "bad.csv", device={1})


def test_the_exceptions_are_a_tree():
    for name in ("ConfigError", "TraceError", "DeviceFull", "PowerLost"):
        error = getattr(nandlab, name)
        assert issubclass(error, nandlab.NandlabError)
        assert error.__doc__
    assert nandlab.NandlabError.__doc__


def test_a_proposal_for_an_unknown_table_is_an_attribute(tmp_path):
    unknown = nandlab.Trace(write(tmp_path / "own.csv", "when,op,lba,size\n1,W,8,8\n2,R,8,8\n"))
    with pytest.raises(nandlab.TraceError) as caught:
        unknown.info()
    assert caught.value.proposal.startswith('format = "columns"\n')
    with pytest.raises(nandlab.TraceError) as caught:
        nandlab.Trace(tmp_path / "absent").info()
    assert caught.value.proposal is None
