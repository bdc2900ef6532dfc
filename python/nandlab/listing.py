"""Everything a user can choose from, and the functions to choose it.

The lists come from the compiled module, so a new FTL or workload has its function as soon as it is built.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
import textwrap
from collections.abc import Callable
from functools import cache
from typing import Any

from nandlab import _native

Choice = dict[str, dict[str, Any]]
"""One table in an experiment: the chosen name, and its options."""

_ABSENT = object()


@cache
def _lists_text() -> str:
    return _native.lists()


def lists() -> dict[str, list[dict[str, Any]]]:
    """Every FTL, index, buffer, file system, workload, trace format, device, memory, victim policy and table.

    >>> "page" in [ftl["name"] for ftl in lists()["ftls"]]
    True
    """
    return json.loads(_lists_text())


def chooser(kind: str, name: str) -> Callable[..., Choice]:
    """The function that makes the table for `name`, an entry in the list `kind`.

    Raises:
        AttributeError: The list has no such entry.

    """
    entries = {entry["name"]: entry for entry in lists()[kind]}
    if name not in entries:
        raise AttributeError(f"there is no {name!r} among the {kind}: {', '.join(entries)}")
    return _function(name, entries[name])


def attributes(kind: str) -> tuple[Callable[[str], Callable[..., Choice]], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a module with a function for each entry in the list `kind`."""

    @cache
    def get(name: str) -> Callable[..., Choice]:
        if name.startswith("__"):
            raise AttributeError(name)
        return chooser(kind, name)

    def names() -> list[str]:
        return [entry["name"] for entry in lists()[kind]]

    return get, names


def _function(name: str, entry: dict[str, Any]) -> Callable[..., Choice]:
    options = option_table(entry["options"])

    def choose(**given: Any) -> Choice:  # noqa: ANN401 - the values of a TOML table
        for option in given:
            if option not in options:
                near = difflib.get_close_matches(option, options, 1)
                hint = f"; did you mean {near[0]}?" if near else f"; it has: {', '.join(options) or 'none'}"
                raise TypeError(f"{name}() has no option {option!r}{hint}")
        missing = [option for option, spec in options.items() if spec["required"] and option not in given]
        if missing:
            raise TypeError(f"{name}() needs {', '.join(missing)}")
        return {name: {option: value for option, value in given.items() if value is not None}}

    choose.__name__ = choose.__qualname__ = name
    choose.__doc__ = document(entry, options)
    signature = inspect.Signature(
        [
            inspect.Parameter(
                option,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if spec["required"] else None,
                annotation=spec["type"] if spec["required"] else optional(spec["type"]),
            )
            for option, spec in options.items()
        ],
        return_annotation="Choice",
    )
    vars(choose)["__signature__"] = signature
    return choose


def option_table(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Name, type, default and description for each option in a JSON schema."""
    return _table(schema, schema)


def all_options(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """As `option_table`, and behind each option those of its choices, such as `victim.d_choices.choices`."""
    return _with_choices(schema, schema)


def paper_of(spec: dict[str, Any]) -> str | None:
    """The one paper that needs an option, as its description says; None for all other options."""
    found = re.search(r"Of one paper: ([a-z-]+)\.", " ".join(spec["doc"].split()))
    return found[1] if found else None


def _table(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    required = part.get("required", [])
    found = {}
    for name, spec in part.get("properties", {}).items():
        default = spec.get("default", _ABSENT)
        if (
            isinstance(default, dict)
            and len(default) == 1
            and default.keys() <= _choices(spec, schema).keys()
        ):
            # A name alone stands for the choice with its own defaults.
            (default,) = default
        doc = _without_links(" ".join(_description(spec, schema).split()))
        found[name] = {
            "type": python_type(spec, schema),
            "default": default,
            "required": name in required,
            "doc": _without_default(doc, default),
        }
    return found


def _with_choices(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {}
    for name, spec in _table(part, schema).items():
        found[name] = spec
        for choice, inner in _choices(part["properties"][name], schema).items():
            own = _with_choices(inner, schema)
            found |= {f"{name}.{choice}.{option}": spec for option, spec in own.items()}
        own = _with_choices(_own_table(part["properties"][name], schema), schema)
        found |= {f"{name}.{option}": spec for option, spec in own.items()}
    return found


def _own_table(spec: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an option that is a table with named options, or a table without any."""
    spec = _resolve(spec, schema)
    present = [one for one in spec.get("anyOf", []) if one.get("type") != "null"]
    if len(present) == 1:
        spec = _resolve(present[0], schema)
    return spec if "properties" in spec and not _is_choice(spec) else {}


def _choices(spec: dict[str, Any], schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The choices of an option that have options of their own, with the schema of these."""
    spec = _resolve(spec, schema)
    tables = [one for one in spec.get("oneOf", []) if _is_choice(one)]
    return {name: _resolve(inner, schema) for one in tables for name, inner in one["properties"].items()}


def _is_choice(spec: dict[str, Any]) -> bool:
    """Whether a schema is of a table with one entry, named by a choice."""
    names = list(spec.get("properties", {}))
    return spec.get("additionalProperties") is False and len(names) == 1 and names == spec.get("required")


def _without_links(doc: str) -> str:
    """`doc` with a name in place of each link of Rust's documentation."""
    return re.sub(r"\[`(?:\w+::)*(\w+)`\]", r"`\1`", doc)


def _said(doc: str, default: Any) -> re.Match[str] | None:  # noqa: ANN401 - JSON
    """The place in `doc` that names the default itself, if there is one."""
    value = default if isinstance(default, str) else json.dumps(default)
    return re.search(rf" ?\bDefault [`\"]?{re.escape(value)}[`\"]?(?=[.,;])", doc)


def _without_default(doc: str, default: Any) -> str:  # noqa: ANN401 - JSON
    """`doc` without a last sentence that only repeats the default."""
    said = None if default is _ABSENT else _said(doc, default)
    return doc if said is None or doc[said.end() :] != "." else doc[: said.start()]


def optional(annotation: str) -> str:
    """The annotation for an optional option; None stands for its absence."""
    return annotation if annotation.endswith("None") or annotation == "Any" else f"{annotation} | None"


def _description(spec: dict[str, Any], schema: dict[str, Any]) -> str:
    return spec.get("description") or _resolve(spec, schema).get("description", "")


def _resolve(spec: Any, schema: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - JSON
    while isinstance(spec, dict) and "$ref" in spec:
        spec = schema.get("$defs", {})[spec["$ref"].rsplit("/", 1)[-1]]
    return spec if isinstance(spec, dict) else {}


def python_type(spec: dict[str, Any], schema: dict[str, Any]) -> str:
    """The Python annotation for a value described by a JSON schema."""
    if _is_own(spec):
        return "str | Policy"
    spec = _resolve(spec, schema)
    if "const" in spec or "enum" in spec:
        return f"Literal[{', '.join(repr(value) for value in spec.get('enum', [spec.get('const')]))}]"
    choices = spec.get("oneOf") or spec.get("anyOf")
    if choices:
        return _union(python_type(choice, schema) for choice in choices)
    if _is_choice(spec):
        ((name, inner),) = spec["properties"].items()
        if _is_own(inner):
            return "Mapping[str, Any] | Policy"
        needed = _resolve(inner, schema).get("required")
        return "Mapping[str, Any]" if needed else f"Literal[{name!r}] | Mapping[str, Any]"
    kind = spec.get("type", "any")
    if isinstance(kind, list):
        return _union(python_type({**spec, "type": one}, schema) for one in kind)
    if kind == "array":
        items = spec.get("items")
        return f"Sequence[{python_type(items, schema)}]" if isinstance(items, dict) else "Sequence[Any]"
    plain = {"integer": "int", "number": "float", "boolean": "bool", "string": "str", "null": "None"}
    return plain.get(kind, "Mapping[str, Any]" if kind == "object" else "Any")


def _is_own(spec: dict[str, Any]) -> bool:
    """Whether a schema is of a policy in Python."""
    return bool(spec.get("$ref", "").endswith("/Own"))


def _union(types: Any) -> str:  # noqa: ANN401 - any iterable of strings
    found: list[str] = []
    for one in types:
        for part in re.findall(r"(?:[^|\[]|\[[^\]]*\])+", one):
            part = part.strip()
            if part not in found:
                found.append(part)
    words = [part for part in found if part.startswith("Literal[")]
    rest = [part for part in found if part not in words]
    merged = [f"Literal[{', '.join(word[8:-1] for word in words)}]"] if words else []
    return " | ".join(merged + rest)


def document(entry: dict[str, Any], options: dict[str, dict[str, Any]]) -> str:
    """A choosing function's docstring: the summary, the paper and each option."""
    options = all_options(entry["options"]) if options else options
    lines = [entry.get("summary") or entry["name"]]
    if entry.get("paper"):
        lines += ["", f"After {entry['paper']}."]
    if options:
        lines += ["", "Args:"]
    for name, spec in options.items():
        default = spec["default"]
        told = default is _ABSENT or _said(spec["doc"], default)
        said = "" if told else f" Default {json.dumps(default)}."
        lines += textwrap.wrap(
            f"{name}: {spec['doc']}{said}", 100, initial_indent="    ", subsequent_indent="        "
        )
    return "\n".join(lines)
