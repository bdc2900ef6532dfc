"""Policies of your own: a small class in Python decides in place of a policy of nandlab.

An object goes into an experiment as an option does:

>>> import nandlab
>>> from nandlab.policy import Victim
>>> class Emptiest(Victim):
...     def pick(self, blocks):
...         return blocks.valid.argmin()
>>> experiment = nandlab.Experiment(
...     workload=nandlab.workload.uniform(requests=5000),
...     ftl=nandlab.ftl.page(victim=Emptiest()),
...     device=nandlab.Device(capacity="16 MiB", over_provisioning=0.25),
... )
>>> experiment.run().host.requests
5000

A file names the class, `victim = { python = "mine:Emptiest" }` or `"mine:Emptiest(bias=2)"`, and runs it only
with `nandlab run --policies`, in Python with `Experiment.from_toml(..., allow_code=True)`.

A run works on a copy of the object, so a second run begins as the first one did. Arrays are numpy's, and
cannot be changed. A wrong answer and an exception end the run with a `PolicyError`.
"""

from __future__ import annotations

import copy
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from nandlab import _native
from nandlab.one_line import one_line
from nandlab.reading import MOST_BYTES

if TYPE_CHECKING:
    import ast
    import inspect

Known = Mapping[str, int]
"""What a new policy may know: seed, dies, blocks_per_die, pages_per_block, page_bytes and logical_pages.

A map's replacement also knows entries, a buffer's only pages, its size. `logical_pages` is 0 for a policy
that is not asked about pages."""


class Policy:
    """What every policy may have."""

    def start(self, known: Known) -> None:
        """Called once, before everything else of a run."""


class Victim(Policy, ABC):
    """Chooses the block that collection empties next; asked once for each victim."""

    @abstractmethod
    def pick(self, blocks: Any) -> int:  # noqa: ANN401 - a class of the compiled module
        """The number of a closed block.

        Args:
            blocks: The blocks of a die, by their place in it. `valid`: a closed block's valid pages; a block
                that cannot be a victim has 16,384 or more. `ages`: programs since a block was filled,
                divided by `pages_per_block`. `erases`: known erases. `states`: 0 closed, 1 being filled or
                emptied, 2 free, 3 bad. `oldest`: the closed blocks in the order in which they were filled.
                Besides `die`, `pages_per_block` and `programs`, the pages programmed so far. An array shows
                the latest call; copy what you keep.

        """


class Placement(Policy):
    """Chooses the open block for each page, by the number of a frontier.

    A class with `learn(pages)` is asked once for 4,096 pages written by the host, and before the first of
    them. It is given their numbers, and returns two arrays with a frontier for each logical page, for writes
    and for moves, or None to keep the ones before. A class that says nothing divides pages as `two` does:
    the host's at frontier 0, moved ones at the last.
    """

    frontiers: ClassVar[int] = 2
    """Blocks filled at the same time."""
    shares: ClassVar[bool] = True
    """Whether moved pages may go where the host's pages go."""

    def written(self, page: int, origin: int) -> int:
        """The frontier for a page of the host; asked for each one. 0 unless a class says something else."""
        return 0

    def moved(self, page: int | None, block: int) -> int:
        """The frontier for a page that leaves `block`; asked for each one. None: a page of the FTL.

        The last frontier unless a class says something else.
        """
        return self.frontiers - 1


class Wear(Policy, ABC):
    """Moves data for the sake of wear; free blocks are filled in the order of their erases."""

    @abstractmethod
    def next_move(self, blocks: Any, free: Any) -> tuple[int, bool] | None:  # noqa: ANN401 - as above
        """A closed block, and whether its data goes to the most worn free one; asked once for each victim."""


class Replacement(Policy, ABC):
    """Chooses the page that leaves a full buffer, or whose map entry leaves a full memory (`dftl`).

    Besides `victim()` it may have `hit(page)`, `miss(page)`, `insert(page)`, `evicted(page)`, `forget(page)`
    for a trimmed page, and `flushed()`.
    """

    @abstractmethod
    def victim(self) -> int:
        """The page that leaves."""


class Maker:
    """Makes a run's own copy of a policy."""

    def __init__(self, policy: object) -> None:
        self._policy = policy
        self.frontiers = getattr(policy, "frontiers", 2)
        self.shares = getattr(policy, "shares", True)

    def __call__(self, known: dict[str, int]) -> object:
        """A copy, started."""
        policy = copy.deepcopy(self._policy)
        start = getattr(policy, "start", None)
        if start is not None:
            start(known)
        if getattr(policy, "learn", None) is None:
            return policy
        return _Learns(policy, known["logical_pages"], self.frontiers)


class _Learns:
    """A placement whose tables are checked before they become bytes: NaN and 256 would both become 0."""

    def __init__(self, policy: object, pages: int, frontiers: int) -> None:
        self._policy, self._pages, self._frontiers = policy, pages, frontiers

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the policy's own
        return getattr(self._policy, name)

    def learn(self, pages: Any) -> Any:  # noqa: ANN401 - arrays
        """The policy's tables.

        Raises:
            ValueError: One of them holds something other than numbers of frontiers.

        """
        import numpy as np

        tables = self._policy.learn(pages)  # type: ignore[attr-defined]
        # The compiled part has a sentence for anything but two tables.
        pair = tables if isinstance(tables, tuple | list) and len(tables) == 2 else ()
        for table, use in zip(pair, ("writes", "moves"), strict=False):
            array = np.asarray(table)
            if array.shape != (self._pages,) or not array.size:
                continue
            if array.dtype.kind not in "iub":
                raise ValueError(f"the table for {use} holds {array.dtype}: expected whole numbers")
            if array.min() < 0 or array.max() >= self._frontiers:
                at = np.flatnonzero((array < 0) | (array >= self._frontiers))[0]
                raise ValueError(
                    f"the table for {use} holds {array[at]} for page {at}: "
                    f"frontiers have the numbers 0 to {self._frontiers - 1}"
                )
        return tables


def ended(error: _native.PolicyError) -> _native.PolicyError:
    """The same error, in one line."""
    cause = error.__cause__
    lacks_numpy = isinstance(cause, ModuleNotFoundError) and cause.name == "numpy"
    needs = "; the arrays of a policy need numpy: pip install 'nandlab[policies]'" if lacks_numpy else ""
    told = _native.PolicyError(one_line(str(error)) + needs)
    told.__cause__ = cause
    return told


_KEPT: dict[str, Policy] = {}
"""Objects that experiments name."""


def keep(policy: Policy) -> str:
    """A name for an object as it is now: equal objects of a class have equal ones."""
    import hashlib
    import pickle

    of = type(policy)
    try:
        held = pickle.dumps(policy)
        # An experiment cannot be changed, so neither can its policy.
        policy = copy.deepcopy(policy)
    except Exception:  # noqa: BLE001 - whatever the object's own methods raise
        # An object like no other.
        held = str(id(policy)).encode()
    sources = "".join(map(_source, of.__mro__))
    digest = hashlib.sha256(held + sources.encode()).hexdigest()[:12]
    name = f"{of.__module__}:{of.__qualname__}#{digest}"
    _KEPT[name] = policy
    return name


def _source(of: type) -> str:
    import inspect

    try:
        return inspect.getsource(of)
    except (OSError, TypeError):
        return ""


def names_in(text: str) -> Iterator[str]:
    """The names of objects in the text of a value."""
    return (name for name in _KEPT if name in text)


def kept(names: Iterator[str] | list[str]) -> dict[str, Policy]:
    """The objects among these names."""
    return {name: _KEPT[name] for name in names if name in _KEPT}


def words(text: str) -> str:
    """A value with a policy's class and options in place of the name by which a run finds it.

    >>> words('{ python = "mine:AgeWeighted(power=0.25)" }'), words("greedy")
    ('AgeWeighted(power=0.25)', 'greedy')
    """
    shown = re.sub(r'"[\w.]+:[\w.]*?(\w+(?:#[0-9a-f]{12}|\([^"]*\))?)"', _shown, text)
    alone = re.fullmatch(r"\{ python = ([A-Za-z_]\w*(?:\(.*\))?) \}", shown)
    return alone[1] if alone else shown


def _shown(found: re.Match[str]) -> str:
    """A name's end: a class, its options as the name has them, or those that the object has."""
    policy = _KEPT.get(found[0].strip('"'))
    return found[1].partition("#")[0] if policy is None else f"{type(policy).__name__}{_options(policy)}"


def _options(policy: Policy) -> str:
    """What the object holds of its class's options, where it is not the default."""
    import inspect

    given = []
    for name, option in inspect.signature(type(policy)).parameters.items():
        value = getattr(policy, name, option.default)
        if option.kind in (option.POSITIONAL_OR_KEYWORD, option.KEYWORD_ONLY) and not _is_same(value, option):
            given.append(f"{name}={value!r}")
    return f"({', '.join(given)})" if given else ""


def _is_same(value: object, option: inspect.Parameter) -> bool:
    """Whether it is the default; an array is never one."""
    same = value == option.default
    return value is option.default or (isinstance(same, bool) and same)


def named(tree: Any) -> Iterator[str]:  # noqa: ANN401 - an experiment's tables
    """The names of policies in an experiment's tables."""
    for choices in (tree.get("ftl") or {}).values() if isinstance(tree.get("ftl"), dict) else ():
        for choice in choices.values() if isinstance(choices, dict) else ():
            if isinstance(choice, dict) and isinstance(choice.get("python"), str):
                yield choice["python"]
    buffer = tree.get("buffer")
    own = buffer.get("python") if isinstance(buffer, dict) else None
    if isinstance(own, dict) and isinstance(own.get("policy"), str):
        yield own["policy"]


class Permit:
    """Decides about the policies of one experiment.

    Args:
        objects: The objects it has by name.
        allow_code: Whether the modules may run that it names.
        folder: Where modules are looked for first.

    """

    def __init__(self, objects: Mapping[str, Policy], allow_code: bool, folder: str) -> None:
        self._objects, self._allow_code, self._folder = objects, allow_code, folder

    def __call__(self, name: str) -> str | None:
        """None, or the reason against this name."""
        if name in self._objects:
            _native.allow_policy(name, Maker(self._objects[name]))
            return None
        if name.startswith("firmware:"):
            return self._firmware(name)
        module, _, rest = name.partition(":")
        words = [*module.split("."), rest.partition("(")[0]]
        if not all(word.isidentifier() for word in words):
            return "names no class: it is module:Class, or module:Class(option=1)"
        if not self._allow_code:
            return (
                f"would run code from the module {module}: run, check, compare, sweep, search and explain "
                "allow it with --policies, Python with allow_code=True"
            )
        try:
            _native.allow_policy(name, Maker(load(name, self._folder)))
        except Exception as error:  # noqa: BLE001 - whatever the module does
            return one_line(f"cannot be loaded: {type(error).__name__}: {error}")
        return None

    def _firmware(self, name: str) -> str | None:
        if not self._allow_code:
            return (
                "is firmware in C, and would run in this process: run, check, compare, sweep, search and "
                "explain allow it with --policies, Python with allow_code=True"
            )
        library = Path(__file__).parent / "firmware" / "lib" / "libnandlab.so"
        if not library.is_file():
            return "needs libnandlab.so, and this installation has none"
        _native.allow_firmware(name, library)
        return None


def load(name: str, folder: str) -> object:
    """The object that a name means: `module:Class`, or with options `module:Class(option=1)`.

    Raises:
        Exception: Whatever the module or the class raises.

    """
    module, _, rest = name.partition(":")
    of = rest.partition("(")[0]
    given: list[Any] = []
    options_by_name: dict[str, Any] = {}
    if of != rest:
        import ast

        call = ast.parse(rest, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError(f"{rest} is not a class with its options")
        given = [_literal(value) for value in call.args]
        options_by_name = {str(word.arg): _literal(word.value) for word in call.keywords if word.arg}
        if len(options_by_name) < len(call.keywords):
            raise ValueError("an option is a name and a value, such as first=0.2")
    found = getattr(_module(module, folder), of)
    if not (isinstance(found, type) and issubclass(found, Policy)):
        # A function would run now, and with the file's own arguments.
        raise TypeError(f"{of} is no class of nandlab.policy")
    return found(*given, **options_by_name)


def _literal(node: ast.expr) -> Any:  # noqa: ANN401 - a number, a text, a list of such ...
    import ast

    try:
        return ast.literal_eval(node)
    except ValueError:
        raise ValueError(f"the option {ast.unparse(node)} is no plain value") from None


def _module(name: str, folder: str) -> ModuleType:
    import importlib.util

    file = file_of(name, folder)
    if file is None:
        return importlib.import_module(name)
    known = sys.modules.get(name)
    if known is not None:
        if not _is_file_of(known, file):
            # A run finds its policy by its name, and pickle a class by its module's.
            at = getattr(known, "__file__", None) or "a part of Python"
            raise ImportError(f"{name} is {at} in this process already; give {file} another name")
        return known
    if file.stat().st_size > MOST_BYTES:
        raise ImportError(f"{file} is larger than {MOST_BYTES >> 20} MiB")
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    module = importlib.util.module_from_spec(spec)
    # What it defines can be pickled.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_file_of(module: ModuleType, file: Path) -> bool:
    try:
        return file.samefile(getattr(module, "__file__", None) or "")
    except OSError:
        return False


def file_of(module: str, folder: str) -> Path | None:
    """The file of a module in `folder`, if there is one."""
    file = Path(folder, *module.split(".")).with_suffix(".py").absolute()
    return file if file.is_file() else None
