"""The house: imports go down and through the front door, no circles, one name for one class."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import rlselect

SOURCE = Path(rlselect.__file__).parent

ROOMS = ("subset", "datumwise", "regimes", "temporal")
# from the ground up; packages of one floor do not know each other
FLOORS = [
    {"_compat", "_watch"},
    {"_options", "_random", "_parallel", "_devices", "_clock", "_limits", "_capabilities"},
    {"kernels"},
    {"data"},
    {"learn", "machines", "report"},
    {"_estimator", "simulate", "datasets"},
    {"persist"},
    {*ROOMS, "preflight"},
    {"cli", "_overview"},
    {"demo", "__main__"},
]
HEIGHT = {name: height for height, floor in enumerate(FLOORS) for name in floor}
# what lies under the rooms serves two or more of their methods
SHARED = ("kernels", "data", "learn", "machines", "report")


def module_name(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def statements(body):
    """All statements below some, but for those under ``if TYPE_CHECKING``, which never happen."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            yield from statements(node.orelse)
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, part, []))
        for branch in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            yield from statements(branch.body)


def imports_of(name):
    """(module, names) of every import from the library, wherever in the file it stands."""
    for node in statements(tree_of(name).body):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            if node.module.split(".")[0] == "rlselect":
                yield node.module, [alias.name for alias in node.names]


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def tree_of(name):
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@cache
def all_imports():
    """What each module imports; read when the first test asks, not by whoever collects tests."""
    return {name: list(imports_of(name)) for name in MODULES}


def package_of(module):
    return module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


def part_of(module):
    """The part of the house: "kernels" of "rlselect.kernels._glm"."""
    return module.split(".")[1]


def edges():
    return [
        (name, target)
        for name, targets in all_imports().items()
        for target, _ in targets
        if name != "rlselect"
    ]


def test_every_part_has_a_floor():
    assert {part_of(name) for name in MODULES if name != "rlselect"} == set(HEIGHT)


def test_imports_go_down():
    def is_down(mine, other):
        return mine == other or HEIGHT[mine] > HEIGHT[other]

    inside = [edge for edge in edges() if edge[1] != "rlselect"]
    assert [edge for edge in inside if not is_down(*map(part_of, edge))] == []


def test_only_the_top_floors_ask_for_the_whole_library():
    assert {part_of(module) for module, target in edges() if target == "rlselect"} <= {"cli", "demo"}


def test_other_packages_are_entered_through_their_front_door():
    def is_private(target):
        return "._" in target and not target.startswith("rlselect._")

    private = [edge for edge in edges() if is_private(edge[1])]
    assert [edge for edge in private if edge[1].rpartition(".")[0] != package_of(edge[0])] == []


def test_no_underscored_name_crosses_a_module():
    crossing = [
        (module, target, name)
        for module, targets in all_imports().items()
        for target, names in targets
        for name in names
        if name.startswith("_") and name != "__version__"
    ]
    assert crossing == []


def test_methods_of_a_room_do_not_know_each_other():
    def method(module):
        parts = module.split(".")
        return parts[2] if parts[1] == "subset" and len(parts) > 2 else None

    pairs = [(edge, *map(method, edge)) for edge in edges() if edge[1] != "rlselect"]
    assert [edge for edge, mine, other in pairs if mine and other and mine != other] == []


def test_there_are_no_circles_not_even_lazy_ones():
    graph = defaultdict(set)
    for module, target in edges():
        graph[module].add(target)
    done, open_ = set(), []

    def visit(module):
        assert module not in open_, " -> ".join([*open_[open_.index(module) :], module])
        if module in done:
            return
        open_.append(module)
        for target in sorted(graph[module]):
            visit(target)
        done.add(open_.pop())

    for module in sorted(MODULES):
        visit(module)


def test_class_names_are_used_once():
    owners = defaultdict(list)
    for name in MODULES:
        for node in tree_of(name).body:
            if isinstance(node, ast.ClassDef):
                owners[node.name].append(name)
    assert {name: where for name, where in owners.items() if len(where) > 1} == {}


@pytest.mark.parametrize("package", SHARED)
def test_what_lies_under_the_rooms_serves_two_methods(package):
    def method(module):
        return ".".join(module.split(".")[1:3]) if part_of(module) == "subset" else part_of(module)

    users = [module for module, target in edges() if target.split(".")[1:2] == [package]]
    methods = {method(module) for module in users if part_of(module) in ROOMS}
    assert len(methods) >= 2, f"{package} serves {methods} only: it belongs there"


def resolved(module, name):
    """The module in which a name of a package is written down."""
    while MODULES[module].name == "__init__.py":
        homes = [target for target, names in all_imports()[module] if name in names]
        if not homes:
            return module
        module = homes[0]
    return module


@pytest.mark.parametrize("package", ["learn", "machines"])
def test_each_module_under_the_rooms_is_used_twice(package):
    users = defaultdict(set)
    for module, targets in all_imports().items():
        if MODULES[module].name != "__init__.py":
            for target, names in targets:
                for name in names:
                    users[resolved(target, name)].add(module)
    mine = [m for m, path in MODULES.items() if path.is_relative_to(SOURCE / package)]
    assert [m for m in mine if MODULES[m].name != "__init__.py" and len(users[m]) < 2] == []


def test_modules_are_short():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: length for name, length in lengths.items() if length > 600} == {}


def test_the_public_names_are_there():
    for name in rlselect.__all__:
        assert getattr(rlselect, name) is not None
    assert set(rlselect.__all__) - {"__version__"} == set(rlselect._ROOMS)
