"""Another simulator's key and its fate here; values read by a table with such keys."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from nandlab._native import ConfigError

Scalar: TypeAlias = bool | int | float | str

TAKEN = "taken"
DIFFERS = "differs in meaning"
TOLD = "no counterpart, matters"
UNUSED = "no counterpart, does not matter"
FATES = (TAKEN, DIFFERS, TOLD, UNUSED)

NOTHING: Mapping[str, str] = {}
MOST = 1e15
"""Larger numbers are slips, and would only fail later."""


@dataclass(frozen=True)
class Key:
    """A key with its default over there and its fate here."""

    default: Scalar
    fate: str
    to: str = ""
    """Keys here, separated by a space."""
    note: str = ""
    least: float = 0
    most: float = MOST
    choices: tuple[str, ...] = ()
    """The words it takes; empty for any."""
    harmless: tuple[Scalar, ...] = ()
    """Values at which a key without counterpart changes nothing."""
    refused: Mapping[str, str] | None = None
    """Values that cannot be imported, each with the reason and what to choose."""

    def within(self, least: float, most: float = MOST) -> Key:
        """The same with bounds."""
        return replace(self, least=least, most=most)

    def one_of(self, *words: str) -> Key:
        """The same for these words only."""
        return replace(self, choices=words)

    def never(self, **values: str) -> Key:
        """The same, but these values are refused with a sentence; `_` before a number is left out."""
        return replace(self, refused={value.removeprefix("_"): why for value, why in values.items()})


def taken(default: Scalar, to: str, note: str = "") -> Key:
    """Taken with its meaning."""
    return Key(default, TAKEN, to, note)


def count(default: int, to: str, note: str = "") -> Key:
    """A count, at least one."""
    return Key(default, TAKEN, to, note, least=1, most=2**32)


def differs(default: Scalar, to: str, note: str) -> Key:
    """Taken with another meaning; the note says how."""
    return Key(default, DIFFERS, to, note)


def told(default: Scalar, note: str, *harmless: Scalar) -> Key:
    """Has no counterpart and matters, unless it has a harmless value."""
    return Key(default, TOLD, "", note, harmless=harmless)


def unused(default: Scalar, note: str) -> Key:
    """Has no counterpart, and its results do not depend on it."""
    return Key(default, UNUSED, "", note)


@dataclass(frozen=True)
class Found:
    """A value as it stands in a file."""

    text: str
    place: str
    """File and line, for messages."""


@dataclass(frozen=True)
class Row:
    """A line in the table: a key, its value, its fate."""

    key: str
    value: str
    fate: str
    here: str
    note: str
    is_default: bool


class Values:
    """A table's typed values, given or by default."""

    def __init__(
        self,
        simulator: str,
        table: Mapping[str, Key],
        found: Mapping[str, Found],
        instead: Mapping[str, str] = NOTHING,
        prefix: str = "",
    ) -> None:
        """Reads every value.

        Args:
            simulator: Its name, for messages.
            table: Its keys.
            found: A file's values; a key outside the table is refused.
            instead: Values to replace the file's; keys from other tables may be among them.
            prefix: Stands before each key in the rows, such as a section.

        Raises:
            ConfigError: A key is unknown, or a value cannot be.

        """
        for key, value in found.items():
            if key not in table:
                raise ConfigError(f"{value.place}: {simulator} has no key {key}{_near(key, list(table))}")
        self.table = dict(table)
        found = dict(found) | {key: Found(text, "--instead") for key, text in instead.items() if key in table}
        self.found = found
        self.prefix = prefix
        self._values = {key: _typed(key, entry, found.get(key)) for key, entry in table.items()}

    def __contains__(self, key: str) -> bool:
        return key in self.found

    def whole(self, key: str) -> int:
        """A whole number."""
        return int(self._values[key])

    def number(self, key: str) -> float:
        """A number."""
        return float(self._values[key])

    def flag(self, key: str) -> bool:
        """A truth value."""
        return bool(self._values[key])

    def text(self, key: str) -> str:
        """A word."""
        return str(self._values[key])

    def refuse(self, key: str, why: str) -> ConfigError:
        """The error about this value."""
        place = f"{self.found[key].place}: " if key in self.found else ""
        return ConfigError(f"{place}{key} {self._shown(key)}: {why}")

    def say(self, key: str, fate: str, note: str, to: str = "") -> None:
        """Gives a key another fate, if it depends on other values."""
        self.table[key] = replace(self.table[key], fate=fate, note=note, to=to, harmless=())

    def rows(self, flat: Mapping[str, object]) -> Iterator[Row]:
        """A row for each key in the file, and for each default with an effect.

        Args:
            flat: The experiment's values by their whole keys.

        """
        for key, entry in self.table.items():
            fate = UNUSED if self._values[key] in entry.harmless else entry.fate
            if fate == UNUSED and key not in self.found:
                continue
            note = "as here" if fate != entry.fate else entry.note
            here = " ".join(_here(part, flat) for part in entry.to.split())
            yield Row(self.prefix + key, self._shown(key), fate, here, note, key not in self.found)

    def _shown(self, key: str) -> str:
        if key in self.found:
            return self.found[key].text
        value = self._values[key]
        return str(value).lower() if isinstance(value, bool) else str(value)


def _here(key: str, flat: Mapping[str, object]) -> str:
    from nandlab.writing.toml_text import toml_value

    if key not in flat:
        return key
    shown = toml_value(flat[key])
    return f"{key} = {shown}" if len(shown) <= 40 else key


def _near(key: str, keys: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, keys, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _typed(key: str, entry: Key, found: Found | None) -> Scalar:
    """The value, or the default; refuses impossible values."""
    if found is None:
        return entry.default
    text = found.text.strip()
    if entry.refused and text in entry.refused:
        raise ConfigError(f"{found.place}: {key} {text}: {entry.refused[text]}")
    if isinstance(entry.default, bool):
        return _flag(key, text, found)
    if isinstance(entry.default, str):
        if entry.choices and text not in entry.choices:
            raise ConfigError(
                f"{found.place}: {key} {text or 'without a value'}: expected {', '.join(entry.choices)}"
            )
        return text
    return _number(key, entry, text, found)


def _flag(key: str, text: str, found: Found) -> bool:
    if text.lower() in ("true", "1", "on", "yes"):
        return True
    if text.lower() in ("false", "0", "off", "no", ""):
        return False
    raise ConfigError(f"{found.place}: {key} {text}: expected true or false")


def _number(key: str, entry: Key, text: str, found: Found) -> int | float:
    is_whole = isinstance(entry.default, int)
    try:
        # Python also reads 1_000, which no simulator does.
        value = float("nan") if "_" in text else float(text)
    except ValueError:
        value = float("nan")
    if value != value or (is_whole and abs(value) <= MOST and not value.is_integer()):
        noun = "a whole number" if is_whole else "a number"
        raise ConfigError(f"{found.place}: {key} {text or 'without a value'}: expected {noun}")
    if not entry.least <= value <= entry.most:
        most = "" if entry.most == MOST and value <= MOST else f" and at most {entry.most:g}"
        raise ConfigError(f"{found.place}: {key} {text}: expected at least {entry.least:g}{most}")
    if entry.choices and f"{value:g}" not in entry.choices:
        raise ConfigError(f"{found.place}: {key} {text}: expected {', '.join(entry.choices)}")
    return int(value) if is_whole else value
