"""JSON objects as typed, read-only Python objects."""

from __future__ import annotations

import copy
import difflib
import typing
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
            near = difflib.get_close_matches(name, self._data, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(self._data)}"
            raise AttributeError(f"{type(self).__name__} has no {name!r}{hint}") from None
        return _view(value, hints(type(self)).get(name))

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
        return copy.deepcopy(self._data)


_KNOWN: dict[type, dict[str, Any]] = {}


def hints(view: type[View]) -> dict[str, Any]:
    """The types of the attributes of a view."""
    if view not in _KNOWN:
        _KNOWN[view] = typing.get_type_hints(view)
    return _KNOWN[view]


def _view(value: Any, hint: Any) -> Any:  # noqa: ANN401 - JSON
    if value is None or hint is None:
        return copy.deepcopy(value)
    parts = [part for part in typing.get_args(hint) if part is not type(None)]
    if isinstance(value, list):
        return [_view(item, parts[0]) for item in value] if parts else copy.deepcopy(value)
    kind = parts[0] if parts and not isinstance(hint, type) else hint
    is_view = isinstance(kind, type) and issubclass(kind, View)
    # Changing what a result hands out must not change the result.
    return kind(value) if is_view else copy.deepcopy(value)
