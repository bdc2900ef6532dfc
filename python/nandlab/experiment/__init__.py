"""An experiment: workload, FTL, device and seed."""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from nandlab import _native, policy, reading
from nandlab.experiment.digest import digest_of
from nandlab.experiment.result import Result
from nandlab.experiment.run import POLL_S, Run, unless_it_failed
from nandlab.writing.new_file import readable, target_of
from nandlab.writing.parquet import csv_beside, require_polars, to_parquet
from nandlab.writing.plain import plain, refused
from nandlab.writing.toml_text import toml_text, toml_value

if TYPE_CHECKING:
    from nandlab.experiment.tables import Device, Host, Memory, Precondition
    from nandlab.traces.trace import Trace

Progress = Callable[[str, int, int], object]
"""Called a few times a second with the phase, the requests done, and all requests.

In the phase "opening" the requests are trace records read so far; in "saving state" they are bytes
on their way to the file."""

BUNDLED = "bundled:"
"""Prefix for traces bundled with nandlab, in place of a file."""

_EXAMPLES = {
    "workload": "nandlab.workload.uniform()",
    "ftl": "nandlab.ftl.page()",
    "buffer": "nandlab.buffer.pass_through()",
    "memory": "nandlab.Memory()",
    "device": "nandlab.Device()",
    "host": "nandlab.Host()",
    "precondition": "nandlab.Precondition()",
}
"""An example for each table."""


class Experiment:
    """A workload, an FTL and a device; `run()` measures the cost.

    Each table is a typed form (`nandlab.ftl.page(...)`,
    `nandlab.workload.uniform(...)`, `nandlab.Device(...)`), or a plain dictionary with the
    TOML file's keys. `tables` takes every table without a keyword here. numpy numbers and paths
    work like Python's own.

    Args:
        workload: Exactly one workload; a `Trace` or a trace's path will do.
        ftl: Exactly one FTL; none below a file system on bare flash, or a real directory.
        index: The index for a workload with keys.
        fs: The file system for a workload with files.
        buffer: At most one write buffer over the FTL.
        memory: Costs for the buffer's memories; without it they have no energy.
        device: The NAND device; none below a real directory.
        host: How requests arrive.
        precondition: Writes before the workload.
        seed: Seed for random numbers. Same seed, same result, on every machine.
        base: Folder for relative paths; the current one by default.
        allow_code: Whether policies may run that it names by `module:Class`; its objects always do.
        tables: Other top-level keys in the TOML file.

    An experiment cannot be changed; `replace()` makes another one. Two are equal if they resolve to the same.

    Raises:
        ConfigError: A value no file could hold, such as NaN, or something other than a table; with its `key`.

    >>> import nandlab
    >>> experiment = nandlab.Experiment(
    ...     workload=nandlab.workload.uniform(requests=1000),
    ...     ftl={"page": {}},
    ...     device=nandlab.Device(capacity="16 MiB", over_provisioning=0.25),
    ... )
    >>> experiment.resolve()["seed"]
    1

    """

    _text: str
    _format: str
    _file: str
    _base: str
    _sets: tuple[str, ...]
    _objects: dict[str, policy.Policy]
    _allow_code: bool

    def __init__(  # noqa: PLR0913 - one keyword for each table of the file
        self,
        *,
        workload: Mapping[str, Any] | Trace | str | os.PathLike[str],
        ftl: Mapping[str, Any] | None = None,
        index: Mapping[str, Any] | None = None,
        fs: Mapping[str, Any] | None = None,
        buffer: Mapping[str, Any] | None = None,
        memory: Memory | Mapping[str, Any] | None = None,
        device: Device | Mapping[str, Any] | None = None,
        host: Host | Mapping[str, Any] | None = None,
        precondition: Precondition | Mapping[str, Any] | None = None,
        seed: int | None = None,
        base: str | os.PathLike[str] = ".",
        allow_code: bool = False,
        **tables: Any,  # noqa: ANN401 - the values of a TOML table
    ) -> None:
        if isinstance(workload, str | os.PathLike):
            workload = {"trace": {"path": os.fspath(workload)}}
        given = {
            "seed": seed,
            "workload": workload,
            "host": host,
            "precondition": precondition,
            "index": index,
            "fs": fs,
            "buffer": buffer,
            "memory": memory,
            "ftl": ftl,
            "device": device,
            **tables,
        }
        tree = plain({name: table for name, table in given.items() if table is not None})
        _refuse_other_than_tables(tree)
        # No file holds it, so its errors name none.
        self._setup(json.dumps(tree), "json", "", base, ())
        vars(self).update(_objects=policy.kept(policy.named(tree)), _allow_code=allow_code)

    def _setup(
        self, text: str, form: str, file: str, base: str | os.PathLike[str], sets: Sequence[str]
    ) -> None:
        vars(self).update(_text=text, _format=form, _file=file, _base=os.fspath(base), _sets=tuple(sets))

    def _with(self, text: str, sets: Sequence[str]) -> Experiment:
        """The same with another text or other overrides."""
        other = Experiment.__new__(Experiment)
        other._setup(text, self._format, self._file, self._base, sets)
        vars(other).update(_objects=self._objects, _allow_code=self._allow_code)
        return other

    @classmethod
    def from_toml(
        cls, path: str | os.PathLike[str], sets: Sequence[str] = (), *, allow_code: bool = False
    ) -> Experiment:
        """Reads a TOML file, or a JSON file with the same keys.

        Args:
            path: The file; relative paths in it start from its folder. `-` is standard input; its paths start
                from the current folder.
            sets: Overrides such as "device.over_provisioning=0.28".
            allow_code: Whether policies in Python may run that it names; without it such a file is refused.

        Raises:
            OSError: The file cannot be read.
            ConfigError: It is not UTF-8 text. Errors inside it come from `resolve()` and `run()`.

        """
        given, path = os.fspath(path), Path(path)
        for override in sets:
            if override != readable(override):
                raise _native.ConfigError(f"--set {readable(override)}: this is not UTF-8 text")
        try:
            text = reading.text(path)
        except UnicodeDecodeError as error:
            raise _native.ConfigError(f"{readable(given)}: byte {error.start} is not UTF-8 text") from None
        except OSError as error:
            error.filename = given
            raise
        experiment = cls.__new__(cls)
        is_json = path.suffix == ".json" or given == reading.STANDARD_INPUT and text.lstrip().startswith("{")
        experiment._setup(text, "json" if is_json else "toml", given, path.parent, sets)
        vars(experiment).update(_objects={}, _allow_code=allow_code)
        return experiment

    def resolve(self) -> dict[str, Any]:
        """The whole experiment with every default written out.

        Raises:
            ConfigError: With `file`, `line`, `column` and `key` if known.

        """
        return json.loads(self._native_text().resolve())

    def _native_text(self) -> _native.Text:
        source = readable(self._file)
        permit = policy.Permit(self._objects, self._allow_code, self._base)
        return _native.Text(self._text, self._format, source, self._base, list(self._sets), permit)

    def inspect(self) -> dict[str, Any]:
        """The experiment's sizes, before it runs.

        `device` has sizes, `trace` a trace's contents, `operations` the count on keys; and there are
        `notices`.

        Raises:
            ConfigError: The experiment cannot run as written.
            TraceError: The trace is malformed or does not fit the device.

        >>> import nandlab
        >>> experiment = nandlab.Experiment(
        ...     workload=nandlab.workload.uniform(),
        ...     ftl=nandlab.ftl.page(),
        ...     device=nandlab.Device(capacity="16 MiB", over_provisioning=0.25),
        ... )
        >>> experiment.inspect()["device"]["logical_bytes"]
        16777216

        """
        return json.loads(self._native_text().inspect())

    def start(
        self,
        op_log: str | os.PathLike[str] | None = None,
        save_state: str | os.PathLike[str] | None = None,
        timeline: str | os.PathLike[str] | None = None,
        timeline_window: str | None = None,
    ) -> Run:
        """Starts it in its own thread and returns at once.

        Args:
            op_log: A .csv or .csv.gz file; it gets a line for every flash operation.
            save_state: As in `run`.
            timeline: As in `run`.
            timeline_window: As in `run`.

        Raises:
            ConfigError: The experiment or the window is not valid.

        """
        # The current folder may have changed when somebody asks.
        folder = os.path.abspath(self._base)  # noqa: PTH100 - `..` stays what it is
        files = (op_log, save_state, timeline)
        log, state, trace = (None if path is None else os.fspath(path) for path in files)
        if trace is None and timeline_window is not None:
            raise _native.ConfigError("a window belongs to a timeline, and no file is named for one")
        if state is not None:
            self._refuse_state("a state cannot be saved")
        return Run(self._native_text(), log, folder, state, trace, timeline_window)

    def _refuse_state(self, what: str) -> None:
        for name in policy.named(self.resolve()):
            raise _native.ConfigError(
                f"{what}: the policy {name} keeps a state of its own, which no file has"
            )

    def run(
        self,
        progress: Progress | None = None,
        op_log: str | os.PathLike[str] | None = None,
        save_state: str | os.PathLike[str] | None = None,
        timeline: str | os.PathLike[str] | None = None,
        timeline_window: str | None = None,
    ) -> Result:
        """Runs it to the end.

        Args:
            progress: Called a few times a second with the phase, the requests done, and all requests.
            op_log: A .csv, .csv.gz or .parquet file; it gets a line for every flash operation.
            save_state: A file for the device's state after preconditioning; other runs take it as
                `Precondition(from_state=...)`.
            timeline: A .perfetto or .pftrace file; it gets the times of every request and flash operation,
                for ui.perfetto.dev.
            timeline_window: The part of the workload in it: a time, as in "2s..3s" (ns, us, ms or s from its
                start), or requests, as in "1000..2000" (counted from 1, both included). One end may be
                missing.

        Raises:
            ConfigError: The experiment cannot run as written.
            TraceError: The trace is malformed or does not fit the device.
            DeviceFull: Too few good blocks are left, or the index or the file system is full. Its `result`
                has the figures until then, marked partial; None if the device could not even be opened.
            NandlabError: The index or file system lost a page to bit errors, or this machine refused
                an operation in a real directory; with a `result` too.

        """
        target = None if op_log is None else os.fspath(op_log)
        if target is not None and target.endswith(".parquet"):
            require_polars()
        with csv_beside(target) as log:
            trace = None if timeline is None else target_of(timeline)
            run = self.start(log, save_state, trace, timeline_window)
            try:
                while not run.wait(POLL_S):
                    if progress is not None:
                        progress(*run.progress())
            except BaseException:
                run.stop()
                raise
            result = run.partial_result()
            if target is not None and log is not None and target.endswith(".parquet"):
                to_parquet(log, target)
        return unless_it_failed(result)

    def inputs(self) -> list[Path]:
        """All files it reads: itself, a trace, a profile, a state."""
        own = [Path(self._file)] if self._file not in ("", reading.STANDARD_INPUT) else []
        resolved = self.resolve()
        return [*own, *self._read(resolved), *self._modules(resolved)]

    def _modules(self, resolved: Mapping[str, Any]) -> list[Path]:
        """The files in its folder with policies that it names."""
        modules = (name.partition(":")[0] for name in policy.named(resolved) if name not in self._objects)
        files = (policy.file_of(module, self._base) for module in modules)
        return [file for file in files if file is not None]

    def _read(self, resolved: Mapping[str, Any]) -> list[Path]:
        """The trace, the profile and the state; bundled ones have names and no paths."""
        # Below a real directory there is no device.
        profile = resolved.get("device", {}).get("profile", "")
        is_path = "/" in profile or "\\" in profile or profile.endswith(".toml")
        named = [
            profile if is_path else None,
            resolved.get("precondition", {}).get("from_state"),
            *_paths(resolved["workload"]),
        ]
        # A name with NUL is refused when the file is opened.
        paths = [name for name in named if name and not name.startswith(BUNDLED) and "\0" not in name]
        return [Path(self._base) / path for path in paths]

    def replace(self, **tables: Any) -> Experiment:  # noqa: ANN401 - the values of a TOML table
        """Another experiment; the given tables replace its own as a whole.

        Relative paths start where they did.

        Raises:
            ConfigError: As the constructor.

        >>> import nandlab
        >>> experiment = nandlab.Experiment(workload=nandlab.workload.uniform(), ftl=nandlab.ftl.page())
        >>> experiment.replace(seed=7).resolve()["seed"]
        7

        """
        given = plain(tables)
        left_out = [name for name, table in given.items() if table is None]
        if left_out:
            raise refused(left_out[0], "expected what is to take its place, given None")
        _refuse_other_than_tables(given)
        if self._file:
            # A file keeps its lines, which errors name.
            sets = (f"{name}={toml_value(table)}" for name, table in given.items())
            other = self._with(self._text, (*self._sets, *sets))
        else:
            other = self._with(json.dumps(json.loads(self._text) | given), self._sets)
        vars(other).update(_objects=self._objects | policy.kept(policy.named(given)))
        return other

    def override(self, *sets: str) -> Experiment:
        """Another experiment with single keys changed, each as in `nandlab run --set`.

        Errors in a key come from `resolve()` and `run()`.

        >>> import nandlab
        >>> experiment = nandlab.Experiment(workload=nandlab.workload.uniform(), ftl=nandlab.ftl.page())
        >>> experiment.override("seed=7", "workload.uniform.requests=10").resolve()["seed"]
        7

        """
        other = self._with(self._text, (*self._sets, *sets))
        # A value may be the name of a policy that is an object.
        named = policy.kept(name for text in sets for name in policy.names_in(text))
        vars(other).update(_objects=self._objects | named)
        return other

    @property
    def folder(self) -> str:
        """The folder its relative paths start from."""
        return self._base

    def directory(self) -> str | None:
        """The real directory it runs in, if any; two runs in one would disturb each other.

        Raises:
            ConfigError: As `resolve()`.

        """
        posix = self.resolve().get("fs", {}).get("posix")
        return None if posix is None else os.path.realpath(Path(self._base) / posix["directory"])

    def absolute(self) -> Experiment:
        """The same experiment for a process with another current folder."""
        other = self._with(self._text, self._sets)
        vars(other).update(_base=os.path.abspath(self._base))  # noqa: PTH100
        return other

    def policies(self) -> dict[str, policy.Policy]:
        """The policies in Python that it holds as objects, by their names in it."""
        return dict(self._objects)

    def with_policies(self, objects: Mapping[str, policy.Policy]) -> Experiment:
        """The same experiment with these objects in place of those that `policies` gives."""
        other = self._with(self._text, self._sets)
        vars(other).update(_base=self._base, _objects=dict(objects))
        return other

    def digests(self) -> dict[str, str]:
        """A digest of each file it reads besides its own, by path; empty if a file cannot be read."""
        resolved = self.resolve()
        return {str(path): digest_of(path) for path in [*self._read(resolved), *self._modules(resolved)]}

    def fingerprint(self) -> str:
        """A text, equal for equal results: the resolved experiment, its files, and this version.

        Raises:
            ConfigError: As `resolve()`.

        """
        import hashlib

        resolved = self.resolve()
        known = {
            "version": _native.version(),
            "experiment": resolved,
            "files": [digest_of(path) for path in [*self._read(resolved), *self._modules(resolved)]],
        }
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    def to_toml(self) -> str:
        """A TOML file's text with every default written out; relative paths stay relative.

        Raises:
            ConfigError: As `resolve()`.

        """
        return toml_text(self.resolve())

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{name}: an experiment cannot be changed; replace({name}=...) makes another one that has it"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name}: an experiment cannot be changed; replace() makes another one")

    def _identity(self) -> tuple[object, ...]:
        """All that makes two experiments equal: the resolved tables and the files read."""
        try:
            resolved = self.resolve()
        except _native.ConfigError:
            return (self._text, self._format, self._file, self._base, self._sets)
        return (
            json.dumps(resolved, sort_keys=True),
            *(os.path.realpath(path) for path in self._read(resolved)),
        )

    def __eq__(self, other: object) -> bool:
        return self._identity() == other._identity() if isinstance(other, Experiment) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        of = f"<Experiment {readable(self._file) or 'of Python'}"
        try:
            resolved = self.resolve()
        except _native.ConfigError as error:
            return f"{of} that cannot run: {error}>"
        (workload,), device = resolved["workload"], resolved.get("device")
        (below,) = resolved["ftl"] if "ftl" in resolved else resolved["fs"]
        on = f", {device['profile']}" if device else f" in {resolved['fs'][below]['directory']}"
        size = f" {device['capacity']}" if device and "capacity" in device else ""
        return f"{of}: {workload}, {below}{on}{size}, seed {resolved['seed']}>"


def _refuse_other_than_tables(tree: Mapping[str, Any]) -> None:
    """Refuses anything but tables; `resolve()` checks the rest."""
    for name, table in tree.items():
        # `ftl="page"` is a table, too.
        named = name in ("workload", "ftl", "buffer") and isinstance(table, str)
        if name in _EXAMPLES and not named and not isinstance(table, dict):
            raise refused(name, f"expected a table such as {_EXAMPLES[name]}, given {reprlib.repr(table)}")


def _paths(workload: Mapping[str, Any]) -> Iterator[str | None]:
    """The files that a workload reads, those of tenants too."""
    for table in workload.values():
        yield table.get("path")
        for tenant in table.get("tenant", ()):
            yield from _paths(tenant["workload"])
