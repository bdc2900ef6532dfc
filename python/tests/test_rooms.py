"""Who may see whom in the package: a room sees only those above it in the table, and there is no circle."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import nandlab

ROOT = Path(nandlab.__file__).parent

ROOMS = {
    "_native": "",
    "bundled": "",
    "listing": "_native",
    "one_line": "",
    "reading": "",
    "policy": "_native one_line reading",
    "writing": "_native policy",
    "record": "writing",
    "figures": "record writing",
    "report": "_native figures record writing",
    "traces": "_native report writing",
    "experiment": "_native figures policy reading record report traces writing",
    "running": "_native experiment listing policy writing",
    "optimum": "_native experiment record running writing",
    "sweeping": "_native experiment figures one_line optimum policy record report running writing",
    "choosing": "_native experiment figures listing policy report running writing",
    "comparing": "_native experiment optimum report running sweeping writing",
    "reproduce": "_native experiment figures reading record report running writing",
    "sharing": "_native experiment record running writing",
    "calibrate": "_native experiment listing reading report running sweeping writing",
    "explaining": "_native experiment figures optimum running sweeping writing",
    "searching": "_native experiment figures report running sweeping writing",
    "importing": "_native experiment one_line reading writing",
    "firmware": "experiment report writing",
    "cli": "_native bundled calibrate choosing comparing experiment explaining figures firmware importing "
    "listing optimum reading record report reproduce running searching sharing sweeping traces writing",
}
"""Each room, a package or a module of `nandlab`, and the rooms that it may see."""

FRONT = {"", "__main__", "buffer", "fs", "ftl", "index", "stubs", "workload"}
"""What users import: these see every room."""


def modules(root=ROOT):
    """Each module by its name below `nandlab`, with its file."""
    found = {}
    for file in root.rglob("*.py"):
        parts = file.relative_to(root).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = file
    return found


def imports(text, known, types=True):
    """The modules that a source imports, those for types alone too unless told not to."""
    left = [ast.parse(text)]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not types:
            continue
        left += ast.iter_child_nodes(node)
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, _, path = name.partition(".")
            if package == "nandlab":
                yield path if path in known else path.rpartition(".")[0]


def room(module):
    return module.partition(".")[0]


def circle(start, arrows):
    """A way from a module back to itself; None without one."""
    ways, reached = [[start]], set()
    while ways:
        way = ways.pop()
        for after in arrows[way[-1]]:
            if after == start:
                return [*way, after]
            if after not in reached:
                reached.add(after)
                ways.append([*way, after])
    return None


def test_rooms_see_only_those_above():
    known = {**modules(), "_native": None}
    complaints = []
    for name, file in modules().items():
        if room(name) in FRONT:
            continue
        if room(name) not in ROOMS:
            complaints.append(f"nandlab.{name}: {room(name)} has no place in the table of rooms")
            continue
        allowed = {room(name), *ROOMS[room(name)].split()}
        seen = set(imports(file.read_text(encoding="utf-8"), known))
        # The command line tells the version, which is known in front.
        seen -= {""} if room(name) == "cli" else set()
        complaints += [
            f"nandlab.{name}: it may not see nandlab.{to}" for to in seen if room(to) not in allowed
        ]
    assert complaints == []


def test_the_table_has_no_room_too_many_and_runs_downwards():
    order = list(ROOMS)
    assert {room(name) for name in modules()} - FRONT == set(ROOMS) - {"_native"}
    for at, (name, allowed) in enumerate(ROOMS.items()):
        assert set(allowed.split()) <= set(order[:at]), f"{name} sees a room that stands below it"


def test_no_modules_import_one_another_in_a_circle():
    """Imports in functions count; imports for types alone do not, since they are never loaded."""
    known = modules()
    texts = {name: file.read_text(encoding="utf-8") for name, file in known.items()}
    arrows = {name: set(imports(text, known, types=False)) - {"", name} for name, text in texts.items()}
    arrows = {name: {to for to in seen if to in known} for name, seen in arrows.items()}
    assert [" -> ".join(way) for name in arrows if (way := circle(name, arrows))] == []


def test_imports_in_reproduce_point_one_way():
    """Imports for types alone count, too."""
    known = {name: file for name, file in modules().items() if room(name) == "reproduce"}
    TopologicalSorter(
        {name: set(imports(file.read_text(encoding="utf-8"), known)) - {name} for name, file in known.items()}
    ).prepare()


def test_a_circle_for_types_is_refused():
    known = {"reproduce.a", "reproduce.b"}
    texts = {
        "reproduce.a": "from nandlab.reproduce.b import B",
        "reproduce.b": "if TYPE_CHECKING:\n    from nandlab.reproduce.a import A",
    }
    with pytest.raises(CycleError):
        TopologicalSorter({name: set(imports(text, known)) for name, text in texts.items()}).prepare()


def test_a_circle_is_found():
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"b"}}
    assert circle("a", arrows) is None
    assert circle("b", arrows) == ["b", "c", "b"]


def test_imports_in_functions_and_for_types_are_found():
    text = "if TYPE_CHECKING:\n    from nandlab.b import B\ndef f():\n    from nandlab import a, _native\n"
    assert set(imports(text, {"a", "b", "_native"})) == {"a", "b", "_native"}
    assert set(imports(text, {"a", "b", "_native"}, types=False)) == {"a", "_native"}
