"""JSON objects as typed, read-only Python objects."""

from __future__ import annotations

import sys
import typing
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NoReturn

NO_CHANGE = "a result cannot be changed; to_dict() gives a copy that can"


class View:
    """A JSON object whose keys are attributes; it cannot be changed."""

    def __init__(self, data: dict[str, Any]) -> None:
        vars(self)["_data"] = data

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - JSON
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            value = self._data[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name!r}{_hint(name, self._data)}") from None
        if not isinstance(value, dict | list):
            return value
        return _view(value, _hint_of(type(self), name))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name}: {NO_CHANGE}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name}: {NO_CHANGE}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and self._data == other._data

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in self._data.items())
        return f"{type(self).__name__}({inner})"

    def to_dict(self) -> dict[str, Any]:
        """A copy of the JSON object."""
        return copied(self._data)


def copied(value: Any) -> Any:  # noqa: ANN401 - JSON
    """A copy of a JSON value; `copy.deepcopy` asks much more of each part."""
    if isinstance(value, dict):
        return {name: copied(inner) for name, inner in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def _hint(name: str, data: dict[str, Any]) -> str:
    """Names the caller may have meant: the same name somewhere below, or a similar one here or below.

    >>> _hint("erases", {"flash": {"erases": 3}, "waf": 1.0}), _hint("wf", {"waf": 1.0})
    ('; did you mean `flash.erases`?', '; did you mean `waf`?')
    """
    paths = sorted(_paths(data, ""), key=lambda path: path.count("."))
    last = [path.rpartition(".")[2] for path in paths]
    near = [path for path, own in zip(paths, last, strict=True) if own == name][:3]
    if not near:
        import difflib

        close = difflib.get_close_matches(name, data, 1) or difflib.get_close_matches(name, last, 1)
        near = [paths[last.index(each)] for each in close]
    return f"; did you mean `{'` or `'.join(near)}`?" if near else f"; it has {', '.join(data)}"


def _paths(data: dict[str, Any], prefix: str) -> Iterator[str]:
    """Every path below, except the experiment's: they repeat the input."""
    for name, value in data.items():
        yield prefix + name
        if isinstance(value, dict) and prefix + name != "experiment":
            yield from _paths(value, f"{prefix}{name}.")


_KNOWN: dict[type, dict[str, Any]] = {}


def hints(view: type[View]) -> dict[str, Any]:
    """A view's attribute types."""
    if view not in _KNOWN:
        _KNOWN[view] = typing.get_type_hints(view)
    return _KNOWN[view]


_ALONE: dict[tuple[type, str], Any] = {}


def _hint_of(view: type[View], name: str) -> Any:  # noqa: ANN401 - a type
    """An attribute's type, read alone: a record has a hundred, and a command asks for few."""
    if (view, name) not in _ALONE:
        known = ((of, vars(of).get("__annotations__", {})) for of in view.__mro__)
        found = next(((of, types[name]) for of, types in known if name in types), None)
        if found is None:
            return None
        alone = SimpleNamespace(__annotations__={name: found[1]})
        _ALONE[view, name] = typing.get_type_hints(alone, vars(sys.modules[found[0].__module__]))[name]
    return _ALONE[view, name]


def _view(value: Any, hint: Any) -> Any:  # noqa: ANN401 - JSON
    if value is None or hint is None:
        return copied(value)
    parts = [part for part in typing.get_args(hint) if part is not type(None)]
    if isinstance(value, list):
        return [_view(item, parts[0]) for item in value] if parts else copied(value)
    kind = parts[0] if parts and not isinstance(hint, type) else hint
    is_view = isinstance(kind, type) and issubclass(kind, View)
    # Changing a returned object must not change the result.
    return kind(value) if is_view else copied(value)
