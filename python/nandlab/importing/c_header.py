"""Numbers in a C header: `#define` under `#if (NAME == VALUE)`, and the expressions in them."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping

from nandlab._native import ConfigError
from nandlab.importing.keys import Found
from nandlab.importing.lines_file import read_text

UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
}
DEEPEST = 20
WIDEST_SHIFT = 63
"""A C integer has 64 bits; a wider shift would only fill the memory."""


def defines(path: str, chosen: Mapping[str, str]) -> dict[str, Found]:
    """All defined names and their texts.

    Args:
        path: The header.
        chosen: Names with a value from outside, as a compiler's -D gives them.

    Raises:
        OSError: The file cannot be read.
        ConfigError: An #if without #endif: the file is cut. Or a name depends on a condition that only a
            compiler can decide.

    """
    text = re.sub(
        r"/\*.*?(\*/|\Z)", lambda found: "\n" * found[0].count("\n"), read_text(path), flags=re.DOTALL
    )
    found: dict[str, Found] = {}
    # For each #if: whether its branch is taken now, and whether any was; None: only a compiler knows.
    branches: list[tuple[bool | None, bool | None]] = []
    opened: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        content = re.sub(r"//.*", "", line).strip()
        directive = re.match(r"#\s*(\w+)\s*(.*)", content)
        if directive is None:
            continue
        word, rest = directive[1], directive[2]
        if word in ("if", "ifdef", "ifndef"):
            branches.append(_first_branch(word, rest, found, chosen))
            opened.append(number)
        elif word in ("elif", "else", "endif") and not branches:
            raise ConfigError(f"{path}, line {number}: #{word} without #if")
        elif word in ("elif", "else"):
            branches[-1] = _next_branch(branches[-1][1], word == "else" or _holds(rest, chosen))
        elif word == "endif":
            branches.pop()
            opened.pop()
        elif word == "define" and all(taken is not False for taken, _ in branches):
            if not all(taken for taken, _ in branches):
                name = rest.partition(" ")[0]
                raise ConfigError(
                    f"{path}, line {number}: {name} depends on an #if that only a compiler can decide"
                )
            _define(rest, f"{path}, line {number}", found)
    if branches:
        raise ConfigError(f"{path}, line {opened[-1]}: #if has no #endif; is the file cut?")
    return found


def _first_branch(
    word: str, rest: str, found: Mapping[str, Found], chosen: Mapping[str, str]
) -> tuple[bool | None, bool | None]:
    is_known = rest.strip() in found or rest.strip() in chosen
    holds = {"ifdef": is_known, "ifndef": not is_known}.get(word)
    holds = _holds(rest, chosen) if holds is None else holds
    return holds, holds


def _next_branch(was: bool | None, holds: bool | None) -> tuple[bool | None, bool | None]:
    """The branch of an #elif or #else whose condition holds, behind others of which one `was` taken."""
    if was or holds is False:
        return False, was
    is_taken = holds if was is False else None
    return is_taken, is_taken


def _holds(condition: str, chosen: Mapping[str, str]) -> bool | None:
    plain = condition.strip().removeprefix("(").removesuffix(")").strip()
    if plain.isdecimal():
        return int(plain) != 0
    compared = re.fullmatch(r"(\w+)\s*==\s*(\w+)", plain)
    if compared is None or compared[1] not in chosen:
        return None
    return chosen[compared[1]] == compared[2]


def _define(rest: str, place: str, found: dict[str, Found]) -> None:
    name, _, value = rest.partition(" ")
    if "(" not in name:
        found[name] = Found(value.strip(), place)


def choices(path: str, name: str) -> list[str]:
    """Values the header compares `name` with."""
    return re.findall(rf"#\s*(?:el)?if\s*\(?\s*{name}\s*==\s*(\w+)", read_text(path))


def number(name: str, found: Mapping[str, Found], depth: int = 0) -> int | float:
    """A name's value.

    Raises:
        ConfigError: It is no number, or uses an undefined name.

    """
    if name not in found:
        raise ConfigError(f"{name} is not defined; is the file cut?")
    text, place = found[name].text, found[name].place
    plain = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text)
    try:
        return _value(ast.parse(plain.strip(), mode="eval").body, found, depth)
    except (SyntaxError, ArithmeticError, ValueError, TypeError, RecursionError, MemoryError):
        raise ConfigError(f"{place}: {name} {text or 'without a value'}: expected a number") from None


def _value(node: ast.expr, found: Mapping[str, Found], depth: int) -> int | float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name) and depth < DEEPEST:
        return number(node.id, found, depth + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in UNITS and node.args:
        return UNITS[node.func.id] * _value(node.args[0], found, depth)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = _value(node.left, found, depth), _value(node.right, found, depth)
        if isinstance(node.op, ast.LShift) and right > WIDEST_SHIFT:
            raise ValueError
        return OPERATORS[type(node.op)](left, right)
    raise ValueError
