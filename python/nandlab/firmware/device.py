"""A chip in the numbers of `nl_config`, from a profile or an experiment."""

from __future__ import annotations

from typing import Any

from nandlab.experiment import Experiment
from nandlab.experiment.tables import Device

ORDERS = {"any": 0, "ascending": 1, "ascending_dense": 2}


def numbers(device: str, blocks: int) -> dict[str, Any]:
    """The numbers of a chip.

    Args:
        device: A bundled profile's name, or the path of an experiment with a `[device]` table.
        blocks: The chip's blocks; a proof writes the whole chip after each cut.

    Raises:
        ConfigError: There is no such profile, or the experiment is wrong.

    """
    if device.endswith((".toml", ".json")):
        experiment = Experiment.from_toml(device)
    else:
        experiment = Experiment(
            device=Device(profile=device), ftl={"page": {}}, workload={"uniform": {"requests": 1}}
        )
    found = experiment.resolve()["device"]
    shape, rules, timing = found["shape"], found["rules"], found["timing"]
    read_us, program_us = timing["read_us"], timing["program_us"]
    return {
        "blocks": blocks,
        "pages_per_block": shape["pages_per_block"],
        "page_bytes": shape["page_bytes"],
        "spare_bytes": shape["spare_bytes"],
        "program_order": ORDERS[rules["program_order"]],
        "partial_programs": rules["partial_programs"],
        "endurance": rules["endurance"],
        "copyback": int(timing["copy"] == "copyback"),
        "read_us": read_us,
        "program_us": program_us,
        "erase_us": timing["erase_us"],
        "spare_read_us": timing.get("spare_read_us", read_us),
        "spare_program_us": timing.get("spare_program_us", program_us),
        "transfer_ns_per_byte": timing["transfer_ns_per_byte"],
        "transfer_command_us": timing.get("transfer_command_us", 0.0),
    }
