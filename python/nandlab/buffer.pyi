"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice

def pass_through() -> Choice:
    """Every request goes to the device below as it came."""
