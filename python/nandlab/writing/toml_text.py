"""An experiment as TOML text, for people to read and for `nandlab run` to read again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(tree: Mapping[str, Any]) -> str:
    """The text of a TOML document; values that are None are left out.

    >>> print(toml_text({"seed": 1, "ftl": {"page": {"reserve": None}}, "device": {"capacity": "1 GiB"}}))
    seed = 1
    <BLANKLINE>
    [ftl.page]
    <BLANKLINE>
    [device]
    capacity = "1 GiB"
    <BLANKLINE>
    """
    return "\n".join(_tables(tree, ())).lstrip("\n") + "\n"


def _tables(tree: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    plain = {
        key: value for key, value in tree.items() if value is not None and not isinstance(value, Mapping)
    }
    inner = {key: value for key, value in tree.items() if isinstance(value, Mapping)}
    lines = []
    if path and (plain or not inner):
        lines += ["", f"[{'.'.join(_key(part) for part in path)}]"]
    lines += [f"{_key(key)} = {_several_lines(value) or toml_value(value)}" for key, value in plain.items()]
    for key, table in inner.items():
        lines += _tables(table, (*path, key))
    return lines


def _several_lines(value: Any) -> str | None:  # noqa: ANN401 - JSON
    """A text of several lines as it is, if nothing in it needs an escape."""
    if not isinstance(value, str) or not value.endswith("\n"):
        return None
    plain = value.replace("\n", "")
    return f'"""\n{value}"""' if plain.isprintable() and not {'"', "\\"} & set(plain) else None


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key)


def toml_value(value: Any) -> str:  # noqa: ANN401 - JSON
    """A value on one line, as it stands behind a key.

    >>> toml_value({"page": {"victim": "greedy"}})
    '{ page = { victim = "greedy" } }'
    """
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {toml_value(item)}" for key, item in value.items() if item is not None)
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    # JSON leaves it as it is, and TOML does not take it.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
