"""Names compared with known ones."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from nandlab._native import ConfigError


def known_or_near(said: str, name: str, known: Sequence[str]) -> None:
    """Refuses a name outside `known`, with the nearest known name.

    Raises:
        ConfigError: With `said`, the name and the allowed ones.

    """
    if name in known:
        return
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    raise ConfigError(f"{said} {name!r}; {hint}")


def value_text(figure: str, value: float) -> str:
    """A figure for people: requests a second as a whole number, times in us, energies in uJ, power in W.

    >>> value_text("iops", 13703.8), value_text("p99_us", 81.408), value_text("power_w", 0.13572)
    ('13,704', '81.4', '0.1357')
    """
    if figure in ("request_uj", "power_w"):
        return f"{value:.4g}"
    return f"{value:,.0f}" if figure == "iops" else f"{value:,.1f}"


def title(figure: str) -> str:
    """A figure's name on an axis, with its unit.

    >>> title("iops"), title("p99_us"), title("p999_us")
    ('requests a second', '99th percentile (us)', '99.9th percentile (us)')
    """
    names = {
        "iops": "requests a second",
        "mean_us": "mean latency (us)",
        "p50_us": "median (us)",
        "p90_us": "90th percentile (us)",
        "p99_us": "99th percentile (us)",
        "p999_us": "99.9th percentile (us)",
        "request_uj": "energy a request (uJ)",
        "power_w": "mean power (W)",
    }
    return names[figure]
