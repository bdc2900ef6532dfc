"""Runs other simulators and nandlab in turn on the same work; docs/performance.md has the recipe.

Each program runs twice a round, with few and with many writes. The difference of the two processor times is
the time of the writes alone: start, fill and shut-down cancel out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

PAGES_PER_BLOCK = 256
SPARE = 0.28

# Greedy collection; uniform writes after a sequential fill and two overwrites.
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

NANDLAB = """
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


def timed(command: list[str]) -> tuple[float, str]:
    """A command's user and system time in seconds, and its output."""
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = os.times()
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command[:2])} failed with status {done.returncode}:\n{done.stderr}")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, done.stdout


def ftlsim(folder: str, python: str, logical: int, writes: int) -> tuple[float, float]:
    """Processor time and write amplification for ftlsim."""
    sizes = [str(logical), str(SPARE), str(PAGES_PER_BLOCK), str(writes)]
    spent, printed = timed([python, "-c", FTLSIM, folder, *sizes])
    host, flash = printed.split()
    return spent, int(flash) / int(host)


def nandlab(logical: int, writes: int) -> tuple[float, float]:
    """Processor time and write amplification for nandlab."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "work.toml"
        text = NANDLAB.format(
            writes=writes, mib=logical * PAGES_PER_BLOCK // 256, spare=SPARE, pages=PAGES_PER_BLOCK
        )
        file.write_text(text)
        spent, printed = timed([sys.executable, "-m", "nandlab", "run", str(file), "--json"])
    return spent, json.loads(printed)["waf"]


def rate(run: Callable[[int], tuple[float, float]], writes: int) -> tuple[float, float]:
    """Million page programs per second of processor time, and write amplification."""
    few, _ = run(writes // 10)
    many, waf = run(writes)
    return (writes - writes // 10) * waf / (many - few) / 1e6, waf


def main() -> None:
    """Prints each round's rates, and the ratios."""
    parser = argparse.ArgumentParser(description="Runs ftlsim and nandlab in turn on the same work.")
    parser.add_argument("--ftlsim", required=True, help="folder of ftlsim with its built modules")
    parser.add_argument(
        "--ftlsim-python", default=sys.executable, help="the Python that these modules are built for"
    )
    parser.add_argument("--mib", type=int, default=1024, help="exported MiB (default 1024)")
    parser.add_argument(
        "--writes", type=int, default=20_000_000, help="measured page writes (default 20 million)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    given = parser.parse_args()
    logical = given.mib * 256 // PAGES_PER_BLOCK
    peer, own = [], []
    for number in range(1, given.rounds + 1):
        peer.append(
            rate(lambda writes: ftlsim(given.ftlsim, given.ftlsim_python, logical, writes), given.writes)
        )
        own.append(rate(lambda writes: nandlab(logical, writes), given.writes))
        (theirs, their_waf), (ours, our_waf) = peer[-1], own[-1]
        print(
            f"round {number}: ftlsim {theirs:.1f} M programs/s, WAF {their_waf:.4f}; "
            f"nandlab {ours:.1f}, WAF {our_waf:.4f}; ratio {ours / theirs:.2f}"
        )
    best, middle = max(rate for rate, _ in peer), median(rate for rate, _ in own)
    ratios = median(ours / theirs for (ours, _), (theirs, _) in zip(own, peer, strict=True))
    print(
        f"median ratio {ratios:.2f}; nandlab's median to ftlsim's best {middle / best:.2f}; "
        f"WAF {own[-1][1] / peer[-1][1]:.4f} times that of ftlsim"
    )


if __name__ == "__main__":
    main()
