"""Runs other simulators and nandlab in turn on the same work; docs/performance.md has the recipes.

A rate is of processor time. Where start and fill shall not count, each program runs twice a round, with few
and with many requests, and the difference of the two runs is the requests alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np


class Run(NamedTuple):
    """What one process did; all sums, so two runs can be subtracted."""

    seconds: float
    requests: float
    programs: float = 0
    misses: float = 0
    waited_us: float = 0


@dataclass(frozen=True)
class Case:
    """The same work for a peer and for nandlab; each function takes a number of requests."""

    name: str
    unit: str  # the counter of Run whose rate is compared
    theirs: Callable[[int], Run]
    ours: Callable[[int], Run]
    many: int
    few: int = 0  # 0: the whole process alone
    whole: bool = False  # a row for the whole process with `many` requests beside the row of the window

    def rows(self) -> list[str]:
        """The rows that this case gives."""
        return [self.name, f"{self.name}, whole process"] if self.whole else [self.name]

    def measure(self, run: Callable[[int], Run]) -> list[Run]:
        """A run for each row."""
        few = run(self.few) if self.few else Run(*[0.0] * len(Run._fields))
        many = run(self.many)
        window = Run(*(end - start for end, start in zip(many, few, strict=True)))
        return [window, many] if self.whole else [window]


def rate(run: Run, unit: str) -> float:
    """Million per second of processor time."""
    return float(getattr(run, unit)) / run.seconds / 1e6


def figures(run: Run) -> dict[str, float]:
    """What must agree: a figure that a run does not have is left out."""
    every = {
        "waf": run.programs / run.requests,
        "misses": run.misses / run.requests,
        "mean_us": run.waited_us / run.requests,
    }
    return {name: value for name, value in every.items() if value}


def timed(command: list[str], folder: Path | None = None) -> tuple[float, str]:
    """A command's user and system time in seconds, and its output."""
    before = os.times()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, stdin=subprocess.DEVNULL
    )
    after = os.times()
    if done.returncode != 0:
        said = done.stderr or done.stdout[-2000:]
        raise SystemExit(f"{' '.join(command[:3])} failed with status {done.returncode}:\n{said}")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, done.stdout


def nandlab(experiment: Path) -> Run:
    """A run of nandlab, from the file to its record."""
    spent, printed = timed(
        [sys.executable, "-m", "nandlab", "run", experiment.name, "--json"], experiment.parent
    )
    return own_record(spent, json.loads(printed))


def own_record(seconds: float, record: dict) -> Run:
    """The counters in nandlab's record."""
    kinds = [kind for kind in (record["latency_us"] or {}).values() if kind and kind["count"]]
    buffer = record["buffer"] or {"misses": 0}
    return Run(
        seconds,
        record["host"]["requests"],
        record["flash"]["programs"],
        buffer["misses"],
        sum(kind["mean"] * kind["count"] for kind in kinds),
    )


# ftlsim: greedy collection; uniform writes after a sequential fill and two overwrites.

PAGES_PER_BLOCK = 256
SPARE = 0.28

FTLSIM = """
import sys
folder, logical, spare, pages, writes = sys.argv[1], *map(float, sys.argv[2:])
sys.path.insert(0, folder)
import ftlsim, getaddr
logical, pages, writes = int(logical), int(pages), int(writes)
physical = round(logical * (1 + spare))
ftl = ftlsim.ftl(physical, pages)
ftl.minfree = ftl.maxfree = 3
ftl.get_input_pool = ftlsim.cvar.write_select_first
ftl.get_pool_to_clean = ftlsim.cvar.clean_select_first
pool = ftlsim.pool(ftl, "greedy", pages)
pool.next_pool = pool
blocks = [ftlsim.segment(pages) for _ in range(physical)]
for block in blocks:
    block.thisown = False
pool.add_segment(blocks.pop())
for block in blocks:
    ftl.put_blk(block)
fill = getaddr.seq()
ftl.run(fill.handle, logical * pages)
source = getaddr.uniform(logical * pages)
ftl.run(source.handle, 2 * logical * pages)
ftl.ext_writes = ftl.int_writes = 0
ftl.run(source.handle, writes)
print(ftl.ext_writes, ftl.int_writes)
"""

LIKE_FTLSIM = """
seed = 1
[workload.uniform]
requests = {writes}
size = 4096
[ftl.page]
[precondition]
fill = "sequential"
overwrites = 2
[device]
profile = "generic"
capacity = "{mib} MiB"
over_provisioning = {spare}
model = "counting"
[device.shape]
pages_per_block = {pages}
"""


def ftlsim_printed(seconds: float, printed: str) -> Run:
    """The two numbers that the program for ftlsim prints."""
    host, flash = map(int, printed.split())
    return Run(seconds, host, flash)


def ftlsim(folder: Path, python: str, mib: int, writes: int, scratch: Path) -> Case:
    """Uniform writes in the steady state, without the fill."""
    logical = mib * 256 // PAGES_PER_BLOCK

    def theirs(count: int) -> Run:
        sizes = [str(logical), str(SPARE), str(PAGES_PER_BLOCK), str(count)]
        return ftlsim_printed(*timed([python, "-c", FTLSIM, str(folder), *sizes]))

    def ours(count: int) -> Run:
        file = scratch / "ftlsim.toml"
        file.write_text(LIKE_FTLSIM.format(writes=count, mib=mib, spare=SPARE, pages=PAGES_PER_BLOCK))
        return nandlab(file)

    return Case(f"ftlsim {mib} MiB", "programs", theirs, ours, writes, writes // 10)


# MQSim: its own files, changed; nandlab imports what MQSim runs.

IDEAL = {"Ideal_Mapping_Table": "true", "Block_No_Per_Plane": "256"}
RANDOM = {
    "Stop_Time": "0",
    "Device_Level_Data_Caching_Mode": "TURNED_OFF",
    "Average_No_of_Reqs_in_Queue": "16",
}
# Four chips, so that MQSim's preconditioning takes seconds, not minutes.
COLLECTING = {
    "Enabled_Preconditioning": "true",
    "Overprovisioning_Ratio": "0.2",
    "GC_Block_Selection_Policy": "GREEDY",
    "Flash_Channel_Count": "4",
    "Chip_No_Per_Channel": "1",
}
# Requests of one page: sizes are in sectors. Without the cache MQSim leaves some writes unanswered.
WRITES = {
    "Read_Percentage": "0",
    "Device_Level_Data_Caching_Mode": "WRITE_CACHE",
    "Channel_IDs": "0,1,2,3",
    "Chip_IDs": "0",
    "Initial_Occupancy_Percentage": "100",
    "Working_Set_Percentage": "100",
    "Average_Request_Size": "16",
    "Address_Alignment_Unit": "16",
}
READS = {
    "Read_Percentage": "100",
    "Device_Level_Data_Caching_Mode": "TURNED_OFF",
    "Average_Request_Size": "8",
    "Address_Alignment_Unit": "8",
}


def changed(xml: str, values: dict[str, str]) -> str:
    """The XML with other values for elements that it has."""
    for key, value in values.items():
        xml, found = re.subn(f"<{key}>.*?</{key}>", f"<{key}>{value}</{key}>", xml)
        if not found:
            raise SystemExit(f"MQSim's file has no {key}")
    return xml


def one_flow(workload: str, values: dict[str, str]) -> str:
    """A workload file of MQSim with the first flow alone, changed."""
    tag = "IO_Flow_Parameter_Set_Synthetic"
    flow = re.search(f"<{tag}>.*?</{tag}>", workload, re.DOTALL)
    if not flow:
        raise SystemExit("MQSim's workload.xml has no synthetic flow")
    inside = f"<IO_Scenario>{changed(flow[0], values)}</IO_Scenario>"
    return f'<?xml version="1.0" encoding="us-ascii"?>\n<MQSim_IO_Scenarios>{inside}</MQSim_IO_Scenarios>\n'


def mqsim_result(seconds: float, xml: str) -> Run:
    """The counters in MQSim's result, which is not well-formed: attributes occur twice."""

    def number(pattern: str) -> int:
        found = re.search(pattern, xml)
        if not found:
            raise SystemExit(f"MQSim's result has no {pattern}")
        return int(found[1])

    requests = number(r"<Request_Count>(\d+)<")
    # A command for two planes programs two pages.
    programs = number(r'Issued_Flash_Program_CMD="(\d+)"') + 2 * number(
        r'Flash_Multiplane_Program_CMD="(\d+)"'
    )
    return Run(seconds, requests, programs, 0, requests * number(r"<Device_Response_Time>(\d+)<"))


def mqsim(folder: Path, scratch: Path) -> list[Case]:
    """Random writes under collection, and random reads."""
    scratch = scratch / "mqsim"
    scratch.mkdir()
    device, flow = ((folder / name).read_text() for name in ("ssdconfig.xml", "workload.xml"))

    def prepare(count: int, own_device: dict[str, str], own_flow: dict[str, str]) -> None:
        requests = {"Total_Requests_To_Generate": str(count)}
        (scratch / "ssd.xml").write_text(changed(device, IDEAL | own_device))
        (scratch / "work.xml").write_text(one_flow(flow, RANDOM | own_flow | requests))

    def case(name: str, own_device: dict[str, str], own_flow: dict[str, str], few: int, many: int) -> Case:
        def theirs(count: int) -> Run:
            prepare(count, own_device, own_flow)
            program = str(folder.resolve() / "MQSim")
            spent, _ = timed([program, "-i", "ssd.xml", "-w", "work.xml"], scratch)
            return mqsim_result(spent, (scratch / "work_scenario_1.xml").read_text())

        def ours(count: int) -> Run:
            prepare(count, own_device, own_flow)
            files = ["ssd.xml", "work.xml", "-o", "work.toml"]
            (scratch / "work.toml").unlink(missing_ok=True)
            timed([sys.executable, "-m", "nandlab", "import", "mqsim", *files], scratch)
            return nandlab(scratch / "work.toml")

        return Case(name, "requests", theirs, ours, many, few, whole=True)

    return [
        case("mqsim writes", COLLECTING, WRITES, 300_000, 900_000),
        case("mqsim reads", {}, READS, 200_000, 800_000),
    ]


# libCacheSim: Zipf reads from a file, each program with the format that it reads fastest.

OBJECTS, ZIPF_READS, CACHED = 1_000_000, 10_000_000, 100_000
PAGE = 4096
# Its names, and ours with the options that its implementation has.
POLICIES = {
    "lru": ("lru", ""),
    "clock": ("clock", ""),
    "sieve": ("sieve", ""),
    "s3_fifo": ("s3fifo", "promote_uses = 2"),
    "arc": ("arc", ""),
}

LIKE_LIBCACHESIM = """
[workload.trace]
path = "zipf.nltr"
[buffer.{policy}]
size = {size}
{options}
[ftl.page]
[device]
profile = "generic"
capacity = {capacity}
over_provisioning = 0.07
model = "counting"
"""


def zipf_traces(folder: Path) -> None:
    """The same reads as `zipf.oracleGeneral` (24 bytes each) and as `zipf.nltr`."""
    weights = 1 / np.arange(1, OBJECTS + 1)
    random = np.random.default_rng(1)
    ranks = random.choice(OBJECTS, ZIPF_READS, p=weights / weights.sum())
    objects = random.permutation(OBJECTS)[ranks]
    record = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
    records = np.zeros(ZIPF_READS, record)
    records["object"], records["size"], records["next"] = objects, PAGE, -1
    records.tofile(folder / "zipf.oracleGeneral")
    csv = folder / "zipf.csv"
    with csv.open("w") as out:
        out.write("time_us,op,sector,sectors\n")
        for part in np.array_split(objects * (PAGE // 512), 100):
            out.writelines([f"0,R,{sector},{PAGE // 512}\n" for sector in part.tolist()])
    timed([sys.executable, "-m", "nandlab", "trace", "convert", "zipf.csv", "zipf.nltr"], folder)
    csv.unlink()


def cachesim_printed(seconds: float, printed: str) -> Run:
    """The line at the end of cachesim's output."""
    found = re.search(r"(\d+) req, miss ratio (\d\.\d+)", printed)
    if not found:
        raise SystemExit(f"cachesim printed no miss ratio:\n{printed}")
    return Run(seconds, int(found[1]), 0, int(found[1]) * float(found[2]))


def libcachesim(folder: Path, policy: str, scratch: Path) -> Case:
    """The whole process, from a file to misses."""
    program = str(folder.resolve() / "_build/bin/cachesim")
    name, options = POLICIES[policy]

    def theirs(_: int) -> Run:
        trace = ["zipf.oracleGeneral", "oracleGeneral", name, str(CACHED)]
        return cachesim_printed(*timed([program, *trace, "--ignore-obj-size", "1", "-o", "misses"], scratch))

    def ours(_: int) -> Run:
        sizes = {"size": CACHED * PAGE, "capacity": OBJECTS * PAGE}
        file = scratch / "cache.toml"
        file.write_text(LIKE_LIBCACHESIM.format(policy=policy, options=options, **sizes))
        return nandlab(file)

    return Case(f"libcachesim {policy}", "requests", theirs, ours, ZIPF_READS)


def table(rounds: dict[str, tuple[str, list[tuple[Run, Run]]]]) -> list[dict]:
    """A line for each row, from its unit and its rounds."""
    lines = []
    for name, (unit, pairs) in rounds.items():
        peer, own = ([rate(run, unit) for run in side] for side in zip(*pairs, strict=True))
        theirs, ours = (figures(run) for run in pairs[-1])
        lines.append(
            {
                "row": name,
                "unit": f"M {unit}/s",
                "peer": median(peer),
                "nandlab": median(own),
                "ratio": median(mine / other for mine, other in zip(own, peer, strict=True)),
                "ratio_to_best": median(own) / max(peer),
                "figures": {key: [theirs.get(key), ours.get(key)] for key in theirs | ours},
                "rounds": [{"peer": other, "nandlab": mine} for other, mine in zip(peer, own, strict=True)],
            }
        )
    return lines


def printed(line: dict) -> str:
    """A line of the table for people."""
    both = [
        f"{key} {' / '.join('-' if side is None else f'{side:.4g}' for side in sides)}"
        for key, sides in line["figures"].items()
    ]
    rates = f"{line['peer']:9.3f} {line['nandlab']:9.3f} {line['ratio']:7.2f} {line['ratio_to_best']:8.2f}"
    return f"{line['row']:29} {line['unit']:13} {rates}  {', '.join(both)}"


def arguments(given: list[str]) -> argparse.Namespace:
    """The command line; at least one folder must be on it."""
    parser = argparse.ArgumentParser(
        description="Runs other simulators and nandlab in turn on the same work."
    )
    parser.add_argument("--ftlsim", type=Path, metavar="FOLDER", help="ftlsim with its built modules")
    parser.add_argument(
        "--ftlsim-python", default=sys.executable, help="the Python these modules are built for"
    )
    parser.add_argument("--mqsim", type=Path, metavar="FOLDER", help="MQSim, built there")
    parser.add_argument("--libcachesim", type=Path, metavar="FOLDER", help="libCacheSim, built in its _build")
    parser.add_argument("--mib", type=int, action="append", help="exported MiB for ftlsim (1024 and 16384)")
    parser.add_argument("--writes", type=int, default=20_000_000, help="page writes for ftlsim (20 million)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (5)")
    parser.add_argument("--only", default="", metavar="NAME", help="only cases with this in their names")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    args = parser.parse_args(given)
    if not (args.ftlsim or args.mqsim or args.libcachesim):
        parser.error("name the folder of a simulator: --ftlsim, --mqsim or --libcachesim")
    return args


def cases(args: argparse.Namespace, scratch: Path) -> list[Case]:
    """The cases for the folders named, without those that --only leaves out."""
    every = []
    if args.ftlsim:
        sizes = args.mib or [1024, 16384]
        every += [ftlsim(args.ftlsim, args.ftlsim_python, mib, args.writes, scratch) for mib in sizes]
    if args.mqsim:
        every += mqsim(args.mqsim, scratch)
    if args.libcachesim:
        every += [libcachesim(args.libcachesim, policy, scratch) for policy in POLICIES]
    chosen = [case for case in every if args.only in case.name]
    if not chosen:
        raise SystemExit(f"no case has {args.only!r} in its name: {', '.join(case.name for case in every)}")
    if any(case.name.startswith("libcachesim") for case in chosen):
        zipf_traces(scratch)
    return chosen


def main() -> None:
    """Prints the table."""
    args = arguments(sys.argv[1:])
    rounds: dict[str, tuple[str, list[tuple[Run, Run]]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        chosen = cases(args, Path(scratch))
        for number in range(args.rounds):
            for case in chosen:
                print(f"round {number + 1} of {args.rounds}: {case.name}", file=sys.stderr)
                pairs = zip(case.measure(case.theirs), case.measure(case.ours), strict=True)
                for row, pair in zip(case.rows(), pairs, strict=True):
                    rounds.setdefault(row, (case.unit, []))[1].append(pair)
    lines = table(rounds)
    if args.json:
        print(json.dumps(lines, indent=2))
        return
    head = f"{'peer':>9} {'nandlab':>9} {'ratio':>7} {'to best':>8}"
    print(f"{'row':29} {'unit':13} {head}  figures: peer / nandlab")
    for line in lines:
        print(printed(line))


if __name__ == "__main__":
    main()
