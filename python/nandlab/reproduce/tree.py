"""Trees of tables: merging two, and the value at a key path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Tree = dict[str, Any]


def merged(below: Tree, above: Tree) -> Tree:
    """Merges two trees; if both have a value and one is no table, `above` wins.

    >>> merged({"ftl": {"fast": {"log_blocks": 8}}}, {"ftl": {"fast": {"skip_stale": False}}})
    {'ftl': {'fast': {'log_blocks': 8, 'skip_stale': False}}}
    """
    tree = dict(below)
    for key, value in above.items():
        old = tree.get(key)
        tree[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return tree


def get(tree: Mapping[str, Any], path: Sequence[str]) -> Any:  # noqa: ANN401 - a TOML value
    """The value at a path; None without one.

    >>> get({"a": {"b": 3}}, ["a", "b"]), get({"a": 3}, ["a", "b"])
    (3, None)
    """
    value: Any = tree
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def put(tree: Mapping[str, Any], path: Sequence[str], value: Any) -> Tree:  # noqa: ANN401 - a TOML value
    """A tree with another value at a path."""
    first, rest = path[0], path[1:]
    below = tree.get(first)
    return {**tree, first: put(below if isinstance(below, dict) else {}, rest, value) if rest else value}


def without(tree: Mapping[str, Any], path: Sequence[str]) -> Tree:
    """A tree without the value at a path.

    >>> without({"a": {"b": 3, "c": 4}}, ["a", "b"])
    {'a': {'c': 4}}
    """
    first, rest = path[0], path[1:]
    if not rest or not isinstance(tree.get(first), Mapping):
        return {key: value for key, value in tree.items() if key != first}
    return {**tree, first: without(tree[first], rest)}
