"""Hits by libCacheSim (https://github.com/1a1a11a/libCacheSim) on the streams in tests/all/reference.rs.

Writes hits.csv beside this file: stream, policy, cache size in pages, requests, hits. Run it with

    pip install libcachesim==0.3.5 && python crates/buffer/tests/reference/make.py
"""

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

from libcachesim import ARC, LRU, S3FIFO, Clock, Request, Sieve

HERE = Path(__file__).parent
SQLITE = HERE / "../../../../workloads/sqlite"
WORD = 2**64

POLICIES = {
    "lru": lambda size: LRU(size, hashpower=16),
    "clock": lambda size: Clock(size, hashpower=16),
    "sieve": lambda size: Sieve(size, hashpower=16),
    "arc": lambda size: ARC(size, hashpower=16),
    "s3_fifo": lambda size: S3FIFO(size, hashpower=16, move_to_main_threshold=1),
    "s3_fifo_twice": lambda size: S3FIFO(size, hashpower=16, move_to_main_threshold=2),
}


def words(seed: int) -> Iterator[int]:
    """A linear congruential generator, Knuth's MMIX; its upper 32 bits."""
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % WORD
        yield state >> 32


def power(seed: int, pages: int, requests: int) -> Iterator[int]:
    """A power law: page pages * u^4, so that the k-th page is as frequent as k^-0.75."""
    source = words(seed)
    for _ in range(requests):
        yield pages * (next(source) >> 8) ** 4 >> 96


def phases(seed: int, pages: int, requests: int) -> Iterator[int]:
    """Power laws whose frequent pages change, with scans and loops between them."""
    source = words(seed)
    done = 0
    while done < requests:
        kind, length, start = next(source) % 4, 200 + next(source) % 2000, next(source) % pages
        for step in range(length):
            if kind == 0:
                page = start + step
            elif kind == 1:
                page = start + step % 150
            else:
                page = start + (pages * (next(source) >> 8) ** 4 >> 96)
            yield page % pages
        done += length


def sqlite(name: str) -> Iterator[int]:
    """The 4 KiB pages read and written in the bundled trace."""
    with gzip.open(SQLITE / name, "rt") as lines:
        for row in csv.DictReader(lines):
            if row["op"] in "RW":
                sector, sectors = int(row["sector"]), int(row["sectors"])
                yield from range(sector // 8, (sector + sectors + 7) // 8)


STREAMS = {
    "power": (lambda: power(1, 10_000, 200_000), [1, 2, 10, 100, 997, 4_000, 20_000]),
    "phases": (lambda: phases(2, 5_000, 200_000), [1, 3, 10, 100, 500, 2_000]),
    "sqlite_wal": (lambda: sqlite("wal.csv.gz"), [10, 100, 1_000]),
    "sqlite_rollback": (lambda: sqlite("rollback.csv.gz"), [10, 100, 1_000]),
}


def main() -> None:
    """Plays every stream on every policy."""
    with (HERE / "hits.csv").open("w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["stream", "policy", "pages", "requests", "hits"])
        for stream, (make, sizes) in STREAMS.items():
            keys = list(make())
            for policy, cache in POLICIES.items():
                for size in sizes:
                    if policy.startswith("s3_fifo") and size < 100:
                        continue  # libCacheSim refuses a small queue of nothing, and never hits with one of 1
                    simulated = cache(size)
                    request = Request(obj_size=1)
                    hits = 0
                    for key in keys:
                        request.obj_id = key
                        hits += simulated.get(request)
                    table.writerow([stream, policy, size, len(keys), hits])


if __name__ == "__main__":
    main()
