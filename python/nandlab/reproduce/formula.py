"""Formulas over named figures, as a paper's file writes them: `fast.4k.writes / fmax.4k.writes`.

A name is a word and any number of parts behind full stops; a part may start with a digit. Numbers,
`+ - * / **`, parentheses and a few functions are allowed; any other text is refused,
nothing is executed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from nandlab.record.numbers import NoNumber

Lookup = Callable[[str], float]
"""A name's figure."""

_NUMBER = re.compile(r"\b_(\d+)\b")
"""A name's placeholder in a formula's tree."""
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)*")
"""A name in a formula's text."""
_OPERATIONS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}


def argmin(*pairs: float) -> float:
    """Takes positions and values in turn; the first position with the lowest value.

    >>> argmin(8, 3.5, 16, 2.5, 32, 2.75)
    16
    """
    if len(pairs) < 2 or len(pairs) % 2:
        raise FormulaError("argmin takes pairs of a position and a value")
    return min(zip(pairs[::2], pairs[1::2], strict=True), key=lambda pair: pair[1])[0]


def until_below(level: float, *values: float) -> float:
    """The share of the values that come before the first one below the level; 1 if none is below.

    >>> until_below(5, 9, 6, 4, 8)
    0.5
    """
    if not values:
        raise FormulaError("until_below takes a level and values")
    return next((at for at, value in enumerate(values) if value < level), len(values)) / len(values)


def mean_error(*values: float) -> float:
    """The mean absolute relative error of the first half of the values against the second half.

    >>> mean_error(15, 5, 10, 10)
    0.5
    """
    half = len(values) // 2
    if not values or len(values) % 2:
        raise FormulaError("mean_error takes as many values as values to compare them with")
    errors = (abs(one / other - 1) for one, other in zip(values[:half], values[half:], strict=True))
    return math.fsum(errors) / half


FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs,
    "argmin": argmin,
    "ceil": math.ceil,
    "exp": math.exp,
    "log": math.log,
    "max": max,
    "mean_error": mean_error,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
    "until_below": until_below,
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Eq: "==",
}


class FormulaError(ValueError):
    """A formula without meaning or value; the message is a sentence without a place."""


@dataclass(frozen=True)
class Formula:
    """A formula that was read."""

    text: str
    names: tuple[str, ...]
    """In the order they first appear."""
    _node: ast.expr

    def value(self, lookup: Lookup) -> float:
        """The formula's value.

        Raises:
            FormulaError: It has no value, as in a division by zero.

        """
        try:
            value = _value(self._node, lambda at: lookup(self.names[at]))
        except (ArithmeticError, ValueError) as error:
            if isinstance(error, FormulaError):
                raise
            if isinstance(error, NoNumber):
                raise FormulaError(str(error)) from None
            raise FormulaError(f"{self.text} has no value: {error}") from None
        if isinstance(value, complex) or not math.isfinite(value):
            raise FormulaError(f"{self.text} has no value: it comes to {value}")
        return float(value)

    def without(self, is_absent: Callable[[str], bool]) -> Formula:
        """The formula without arguments of `min` and `max` that need an absent name.

        Such a name stays if nothing would be left, or if it stands elsewhere.

        >>> formula = parse_formula("100 - min(a.share, b.share, c.share)")
        >>> formula.without(lambda name: name.startswith("b")).text
        '100 - min(a.share, c.share)'
        >>> formula.without(lambda name: not name.startswith("b")).text
        '100 - b.share'
        """
        if not any(map(is_absent, self.names)):
            return self
        node = _reduced(self._node, lambda at: is_absent(self.names[at]))
        if node is None:
            return self
        return parse_formula(_NUMBER.sub(lambda found: self.names[int(found.group(1))], ast.unparse(node)))


@dataclass(frozen=True)
class Condition:
    """A comparison between two formulas: `left sign right`."""

    text: str
    left: Formula
    sign: str
    right: Formula

    @property
    def names(self) -> tuple[str, ...]:
        """The names on both sides."""
        return tuple(dict.fromkeys((*self.left.names, *self.right.names)))


def parse_formula(text: str) -> Formula:
    """Reads a formula.

    Raises:
        FormulaError: The text is no formula.

    >>> formula = parse_formula("max(a.512.writes, 3) / 2")
    >>> formula.names, formula.value({"a.512.writes": 9}.__getitem__)
    (('a.512.writes',), 4.5)

    """
    node, names = _parse(text)
    return _formula(text, node, names)


def parse_condition(text: str) -> Condition:
    """Reads a comparison.

    Raises:
        FormulaError: The text is no comparison, or a side is no formula.

    >>> condition = parse_condition("a.16k.writes < 0.5 * a.4k.writes")
    >>> condition.left.text, condition.sign, condition.right.text
    ('a.16k.writes', '<', '0.5 * a.4k.writes')

    """
    node, names = _parse(text)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in _COMPARISONS:
        signs = " ".join(_COMPARISONS.values())
        raise FormulaError(
            f"{text!r} is no comparison; expected two formulas with one of {signs} between them"
        )
    sign = _COMPARISONS[type(node.ops[0])]
    # No side can hold a sign, so the text has it once.
    left, right = (part.strip() for part in text.split(sign))
    return Condition(
        text, _formula(left, node.left, names), sign, _formula(right, node.comparators[0], names)
    )


def _parse(text: str) -> tuple[ast.expr, list[str]]:
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        name = found.group()
        if name in FUNCTIONS and text[found.end() :].lstrip().startswith("("):
            return name
        if name not in names:
            names.append(name)
        return f"_{names.index(name)}"

    try:
        return ast.parse(NAME.sub(number, text.strip()), mode="eval").body, names
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(f"{text!r} is no formula") from None


def _formula(text: str, node: ast.expr, names: list[str]) -> Formula:
    _check(node, text)
    used = [int(each.id[1:]) for each in ast.walk(node) if isinstance(each, ast.Name) and each.id[0] == "_"]
    # Both sides of a comparison share their names, so each side numbers its own anew.
    own = tuple(dict.fromkeys(used))
    place = {f"_{old}": new for new, old in enumerate(own)}
    return Formula(text, tuple(names[at] for at in own), _Renumber(place).visit(node))


class _Renumber(ast.NodeTransformer):
    def __init__(self, place: dict[str, int]) -> None:
        self._place = place

    def visit_Name(self, node: ast.Name) -> ast.Name:  # noqa: N802 - a name of `ast`
        """A name with its new number."""
        at = self._place.get(node.id)
        return node if at is None else ast.Name(f"_{at}", ast.Load())


def _check(node: ast.expr, text: str) -> None:
    """Refuses anything `_value` cannot compute."""
    inner: list[ast.expr] = []
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        inner = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATIONS:
        inner = [node.operand]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args and not node.keywords:
        if node.func.id not in FUNCTIONS:
            raise FormulaError(f"{text!r}: there is no such function; there are {', '.join(FUNCTIONS)}")
        inner = node.args
    elif not is_number and not (isinstance(node, ast.Name) and node.id.startswith("_")):
        functions = ", ".join(FUNCTIONS)
        raise FormulaError(f"{text!r} is no formula of names, numbers, + - * / ** and {functions}")
    for each in inner:
        _check(each, text)


def _reduced(node: ast.expr, is_absent: Callable[[int], bool]) -> ast.expr | None:
    """The tree without absent arguments of `min` and `max`; None if nothing remains."""
    if isinstance(node, ast.Name):
        return None if is_absent(int(node.id[1:])) else node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        found = [_reduced(each, is_absent) for each in node.args]
        left = [each for each in found if each is not None]
        return None if not left else left[0] if len(left) == 1 else ast.Call(node.func, left, [])
    if isinstance(node, ast.Call):
        found = [_reduced(each, is_absent) for each in node.args]
        left = [each for each in found if each is not None]
        return ast.Call(node.func, left, []) if len(left) == len(found) else None
    if isinstance(node, ast.BinOp):
        sides = _reduced(node.left, is_absent), _reduced(node.right, is_absent)
        return None if sides[0] is None or sides[1] is None else ast.BinOp(sides[0], node.op, sides[1])
    if isinstance(node, ast.UnaryOp):
        inner = _reduced(node.operand, is_absent)
        return None if inner is None else ast.UnaryOp(node.op, inner)
    return node


def _value(node: ast.expr, lookup: Callable[[int], float]) -> float:
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](_value(node.left, lookup), _value(node.right, lookup))
    if isinstance(node, ast.UnaryOp):
        return _OPERATIONS[type(node.op)](_value(node.operand, lookup))
    if isinstance(node, ast.Call):
        return FUNCTIONS[node.func.id](*(_value(each, lookup) for each in node.args))  # type: ignore[attr-defined]
    if isinstance(node, ast.Name):
        return lookup(int(node.id[1:]))
    # `_check` leaves constants; as floats, since whole numbers' powers know no end.
    return float(node.value)  # type: ignore[attr-defined]
