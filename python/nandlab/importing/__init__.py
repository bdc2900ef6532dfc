"""Experiments from the configurations of other simulators, and a table of what became of each key.

One file a simulator. Each has tables from a key to its fate (`keys.py`), and a function that turns the values
into an experiment. Whatever has no counterpart here and matters is told or refused, never dropped.
"""

from __future__ import annotations

from nandlab.importing.imported import Imported
from nandlab.importing.read import SIMULATORS, import_files, simulator_of
from nandlab.importing.request import Request

__all__ = ["SIMULATORS", "Imported", "Request", "import_files", "simulator_of"]
