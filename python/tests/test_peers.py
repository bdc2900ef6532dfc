"""docs/peers.py without other simulators: what it reads of their output, what it changes, how it compares."""

from __future__ import annotations

import json
import subprocess
import sys

import peers
import pytest
from peers import Case, Run

MQSIM = """
<MQSim_Results>
  <Host.IO_Flow>
    <Request_Count>1000</Request_Count>
    <Device_Response_Time>250</Device_Response_Time>
    <Max_Device_Response_Time>9000</Max_Device_Response_Time>
  </Host.IO_Flow>
  <SSDDevice.FTL Issued_Flash_Program_CMD="2000" Issued_Flash_Multiplane_Program_CMD="150"
    Issued_Flash_Program_CMD_For_Mapping="0" Issued_Flash_Program_CMD="2000">
"""
FLOW = "<IO_Flow_Parameter_Set_Synthetic><Seed>{}</Seed></IO_Flow_Parameter_Set_Synthetic>"


def test_without_a_folder_it_says_what_it_needs() -> None:
    done = subprocess.run([sys.executable, peers.__file__], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--ftlsim, --mqsim or --libcachesim" in done.stderr


def test_output_of_ftlsim_is_host_and_flash_writes() -> None:
    assert peers.figures(peers.ftlsim_printed(2.0, "1000 2480\n")) == {"waf": 2.48}


def test_result_of_mqsim_counts_two_pages_for_two_planes() -> None:
    run = peers.mqsim_result(2.0, MQSIM)
    assert run == Run(2.0, 1000, 2300, 0, 250_000)
    assert peers.figures(run) == {"waf": 2.3, "mean_us": 250}


def test_an_incomplete_result_of_mqsim_is_refused() -> None:
    with pytest.raises(SystemExit, match="Request_Count"):
        peers.mqsim_result(2.0, "<MQSim_Results>")


def test_output_of_cachesim_is_requests_and_their_share_of_misses() -> None:
    line = "x Sieve cache size   100000,         10000000 req, miss ratio 0.1901, throughput 2.67 MQPS\n"
    assert peers.cachesim_printed(2.0, line).misses == pytest.approx(1_901_000)
    with pytest.raises(SystemExit, match="no miss ratio"):
        peers.cachesim_printed(2.0, "killed")


def test_own_record_has_the_same_counters() -> None:
    record = {
        "host": {"requests": 1000},
        "flash": {"programs": 2300},
        "buffer": {"misses": 10},
        "latency_us": {
            "read": {"mean": 100, "count": 400},
            "write": {"mean": 350, "count": 600},
            "trim": None,
        },
    }
    assert peers.own_record(2.0, record) == Run(2.0, 1000, 2300, 10, 250_000)
    untimed = record | {"latency_us": None, "buffer": None}
    assert peers.own_record(2.0, untimed) == Run(2.0, 1000, 2300)


def test_mqsim_gets_one_changed_flow() -> None:
    text = peers.one_flow(FLOW.format(1) + FLOW.format(2), {"Seed": "7"})
    assert text.count("<Seed>") == 1
    assert "<Seed>7</Seed>" in text
    with pytest.raises(SystemExit, match="no Depth"):
        peers.changed(FLOW, {"Depth": "1"})


def test_a_window_is_the_difference_and_the_best_of_the_peer_counts() -> None:
    # A second of start, then a million requests a second, two programs for each.
    def run(count: int) -> Run:
        return Run(1 + count / 1e6, count, 2 * count)

    case = Case("it", "requests", run, run, 3_000_000, 1_000_000, whole=True)
    window, whole = case.measure(run)
    assert peers.rate(window, "requests") == pytest.approx(1)
    assert peers.rate(whole, "requests") == pytest.approx(0.75)
    assert case.rows() == ["it", "it, whole process"]
    fast, slow = Run(1, 2e6), Run(1, 1e6)
    (line,) = peers.table({"it": ("requests", [(slow, fast), (fast, fast), (slow, fast)])})
    assert (line["ratio"], line["ratio_to_best"]) == (2, 1)
    assert json.dumps(line)
    assert "requests/s" in peers.printed(line)


def test_a_trace_is_the_same_in_both_formats(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(peers, "ZIPF_READS", 100)
    monkeypatch.setattr(peers, "OBJECTS", 10)
    peers.zipf_traces(tmp_path)
    theirs = (tmp_path / "zipf.oracleGeneral").read_bytes()
    assert len(theirs) == 24 * 100
    _, csv = peers.timed(
        [sys.executable, "-m", "nandlab", "trace", "convert", "zipf.nltr", "-", "--to", "csv"], tmp_path
    )
    pages = [int(line.split(",")[2]) // 8 for line in csv.splitlines()[1:]]
    assert pages == [int.from_bytes(theirs[at + 4 : at + 12], "little") for at in range(0, len(theirs), 24)]
