"""Firmware in C on a simulated chip: its numbers, its library, and the prover.

The prover is a program of its own, because it forks a process for each case.
"""

from __future__ import annotations

from nandlab.firmware.case import program_of
from nandlab.firmware.device import numbers
from nandlab.firmware.nor import SHEETS, nor_numbers
from nandlab.firmware.page import write_report
from nandlab.firmware.prover import FOLDER, Findings, prove

__all__ = ["FOLDER", "SHEETS", "Findings", "nor_numbers", "numbers", "program_of", "prove", "write_report"]
