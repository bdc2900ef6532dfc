"""Experiments from other simulators' configurations, and a table with each key's fate.

One file a simulator: tables from a key to its fate (`keys.py`), and a function from values to an experiment.
A key without counterpart here is told or refused if it matters, never dropped.
"""

from __future__ import annotations

from nandlab.importing.imported import Imported
from nandlab.importing.read import SIMULATORS, import_files, simulator_of
from nandlab.importing.request import Request

__all__ = ["SIMULATORS", "Imported", "Request", "import_files", "simulator_of"]
