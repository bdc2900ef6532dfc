"""Papers measured again: `papers/<paper>.toml` says what they claim and how each claim is read from a run.

>>> from nandlab.reproduce import bundled, load
>>> bundled()
['btree', 'drives', 'fdp', 'lsm', 'migration', 'minv', 'placement', 'sector-map', 'theory', 'wap-lru',
 'zones']
>>> load("btree").claims[0].published
120201
"""

from __future__ import annotations

from nandlab.reproduce.bundle import write_bundle, write_reproduction
from nandlab.reproduce.claim import Claim
from nandlab.reproduce.judge import Judged, counted, folded
from nandlab.reproduce.loading import bundled, load
from nandlab.reproduce.measure import Reproduction, reproduce
from nandlab.reproduce.paper import Paper, parse
from nandlab.reproduce.searching import search

__all__ = [
    "Claim",
    "Judged",
    "Paper",
    "Reproduction",
    "bundled",
    "counted",
    "folded",
    "load",
    "parse",
    "reproduce",
    "search",
    "write_bundle",
    "write_reproduction",
]
