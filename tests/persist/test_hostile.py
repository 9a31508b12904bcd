"""Files made to harm: none runs anything, each is refused with our sentence."""

import hashlib
import io
import json
import os
import pickle
import random
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rlselect
from rlselect import REVS, TemporalProcessRegression
from rlselect.persist import _classes as classes
from rlselect.persist import _container as container

HARMED = []


class Bomb:
    """Harms when pickle builds it."""

    def __reduce__(self):
        return HARMED.append, ("pickle ran",)


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch):
    """What a file might want to reach would be noticed."""
    HARMED.clear()

    def harm(*args, **kwargs):
        HARMED.append(args)

    for name in ("system", "popen", "remove"):
        monkeypatch.setattr(os, name, harm)
    yield
    assert HARMED == []


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Head and bytes of the arrays of a small honest file."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    path = tmp_path_factory.mktemp("good") / "file"
    rlselect.save(REVS(random_state=0).fit(X, X[:, 0]), path)
    return path.read_bytes()


def parts(raw):
    start = len(container._MAGIC) + 32
    length = struct.unpack("<Q", raw[start : start + 8])[0]
    return json.loads(raw[start + 8 : start + 8 + length]), raw[start + 8 + length :]


def sealed(head, body=b""):
    """A file with a checksum that agrees: whoever wants to harm can compute one too."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    rest = struct.pack("<Q", len(text)) + text + body
    return container._MAGIC + hashlib.sha256(rest).digest() + rest


def steps(*given, root=None, arrays=(), body=b"", **changes):
    """A file that asks for these steps."""
    head = {"format": 1, "kind": "fitted estimator", "library": rlselect.__version__, "about": None}
    nodes = {"steps": list(given), "root": [len(given) - 1] if root is None else root}
    return sealed({**head, "nodes": nodes, "arrays": list(arrays), **changes}, body)


def array(form, shape, body=b"", order="C"):
    return steps(["array", 0], arrays=[[form, shape, order]], body=body)


def refuses(raw, tmp_path, **options):
    path = tmp_path / "hostile.rls"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"^path='.*hostile\.rls' .*\. Nothing of it was used; ") as caught:
        rlselect.load(path, **options)
    return str(caught.value)


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


def object_array():
    stream = io.BytesIO()
    np.save(stream, np.array([Bomb()], dtype=object), allow_pickle=True)
    return stream.getvalue()


def filled(name, **state):
    return [["new", name], ["fill", 0, [[key, value] for key, value in state.items()]]]


def laughs():
    """Each list holds the one before it ten times."""
    found = [["tuple", []]]
    for k in range(40):
        found.append(["tuple", [[k]] * 10])
    return found


TRUTHS = struct.pack("6B", 0, 1, 2, 255, 1, 0)
NOTHING = {
    "empty": b"",
    "one byte": b"\x89",
    "magic alone": container._MAGIC,
    "text": b"no checkpoint at all\n",
    "pickle bomb": pickle.dumps(Bomb()),
    "old pickle bomb": b"cos\nsystem\n(S'true'\ntR.",
    "joblib bomb": pickle.dumps({"sklearn": Bomb()}, protocol=2),
    "NumPy object array": object_array(),
    "zip bomb": zipped(**{"nodes.json": b"\0" * 10_000_000}),
    "zip with paths": zipped(**{"../../etc/passwd": b"x", "/tmp/x": b"x"}),
    "pickle behind our magic": container._MAGIC + pickle.dumps(Bomb()),
}
FORGED = {
    "no JSON": sealed(b"\xff\xfe{"),
    "JSON of something else": sealed([1, 2]),
    "head longer than the file": container._MAGIC
    + hashlib.sha256(struct.pack("<Q", 2**63)).digest()
    + struct.pack("<Q", 2**63),
    "head named twice": sealed(b'{"format":1,"format":1}'),
    "NaN in the head": sealed(b'{"format":NaN}'),
    "number of a million digits": sealed(b'{"format":' + b"9" * 1_000_000 + b"}"),
    "deep JSON": sealed(b"[" * 200_000),
    "deep objects": sealed(b'{"a":' * 200_000),
    "from the future": steps(["list", []], format=2),
    "format of truth": steps(["list", []], format=True),
    "no format": sealed({"kind": "fitted estimator"}),
    "another kind": steps(["list", []], kind="search of REVS"),
    "more entries": steps(["list", []], code="import os"),
    "version that is none": steps(["list", []], library=["os"]),
    "nodes that are none": steps(nodes="import os"),
    "not an estimator": steps(["list", []]),
    "plain value": steps(root="REVS"),
    "class of the system": steps(["new", "os.system"], ["fill", 0, []]),
    "function for a class": steps(["new", "rlselect.save"], ["fill", 0, []]),
    "class by its module": steps(["new", "rlselect.subset.revs._revs.REVS"], ["fill", 0, []]),
    "class that is not listed": steps(["new", "Clock"], ["fill", 0, []]),
    "record for a class": steps(["new", "Draw"], ["fill", 0, []]),
    "class for a record": steps(["record", "REVS", []]),
    "record too short": steps(["record", "Draw", [1]]),
    "class that is a list": steps(["new", ["REVS"]], ["fill", 0, []]),
    "never filled": steps(["new", "REVS"]),
    "filled twice": steps(*filled("REVS"), ["fill", 0, []], root=[0]),
    "fills a list": steps(["list", []], ["fill", 0, [["append", 1]]]),
    "changes its class": steps(*filled("REVS", __class__="os"), root=[0]),
    "attribute twice": steps(["new", "REVS"], ["fill", 0, [["a", 1], ["a", 2]]], root=[0]),
    "attribute without name": steps(["new", "REVS"], ["fill", 0, [[1, 1]]], root=[0]),
    "unknown step": steps(["eval", "__import__('os').system('true')"]),
    "private step": steps(["_fill", 0, []]),
    "dunder step": steps(["__class__", 0]),
    "step that is none": steps("list"),
    "step without a name": steps([]),
    "too many arguments": steps(["list", [], [], []]),
    "circle": steps(["list", [[0]]]),
    "from later on": steps(["list", [[1]]], ["list", []]),
    "before the first": steps(["list", []], ["list", [[-1]]]),
    "by a truth": steps(["list", []], ["list", [[True]]]),
    "by a number with a point": steps(["list", []], ["list", [[0.0]]]),
    "root out of reach": steps(["list", []], root=[7]),
    "unhashable key": steps(["list", []], ["dict", [[0]], [1]]),
    "key twice": steps(["dict", ["a", "a"], [1, 2]]),
    "keys without values": steps(["dict", ["a", "b"], [1]]),
    "billion laughs": steps(*laughs()),
    "hash of billions": steps(*laughs(), ["set", [[40]]]),
    "method of ours that may not be held": steps(*filled("REVS"), ["method", [0], "fit"]),
    "method of the system": steps(["list", []], ["method", [0], "append"]),
    "method by a dunder": steps(*filled("REVS"), ["method", [0], "__reduce__"]),
    "call of a value": steps(["list", []], ["dict", [], []], ["partial", [0], [], [1]]),
    "outside that is not there": steps(["outside", "os"]),
    "a number that is none": steps(["float", "__import__('os')"]),
    "huge shape": array("<f8", [2**40, 2**40]),
    "shape beyond all numbers": array("<f8", [2**64]),
    "negative shape": array("<f8", [-1], b"\0" * 8),
    "shape of truths": array("<f8", [True], b"\0" * 8),
    "33 dimensions": array("<f8", [1] * 70, b"\0" * 8),
    "dimension of nothing": array("<f8", [0, 2**63]),
    "objects": array("|O", [1], b"\0" * 8),
    "objects in records": array([["a", "|O"]], [1], b"\0" * 8),
    "void": array("|V8", [1], b"\0" * 8),
    "code for a type": array("f8,(2)O", [1], b"\0" * 8),
    "texts of length 0": array("<U0", [2**40]),
    "field twice": array([["a", "<f8"], ["a", "<f8"]], [1], b"\0" * 16),
    "truths that are none": array("|b1", [6], TRUTHS),
    "truths in records": array([["a", "|b1"]], [6], TRUTHS),
    "characters beyond all": array("<U1", [1], b"\xff\xff\xff\x7f"),
    "order that is none": array("<f8", [1], b"\0" * 8, order="K"),
    "array of too few bytes": array("<f8", [2], b"\0" * 8),
    "bytes of nobody": array("<f8", [1], b"\0" * 16),
    "array that is not described": steps(["array", 0]),
    "array used twice": steps(["array", 0], ["array", 0], arrays=[["<f8", [1], "C"]], body=b"\0" * 8),
    "arrays that are none": steps(["list", []], arrays=["f8"]),
    "objects of a wrong shape": steps(["objects", [2**40], []]),
    "objects of negative shape": steps(["objects", [-1, -1], [1]]),
    "sparse of another kind": steps(["sparse", "save_npz", [1, 1], [0, 1, 2]]),
    "sparse out of range": steps(
        ["sparse", "csr_array", [1, 1], [0, 1, 2]],
        arrays=[["<f8", [1], "C"], ["<i4", [1], "C"], ["<i4", [2], "C"]],
        body=struct.pack("<diii", 1.0, 10**9, 0, 1),
    ),
    "sparse with wild ends": steps(
        ["sparse", "csr_array", [1, 1], [0, 1, 2]],
        arrays=[["<f8", [1], "C"], ["<i4", [1], "C"], ["<i4", [2], "C"]],
        body=struct.pack("<diii", 1.0, 0, 0, 10**9),
    ),
    "generator of the system": steps(["dict", [], []], ["generator", "SystemRandom", [0], None]),
    "generator without a state": steps(["dict", [], []], ["generator", "PCG64", [0], None]),
    "generator beyond its end": steps(
        ["array", 0],
        ["dict", ["key", "pos"], [[0], 10**9]],
        ["dict", ["bit_generator", "state"], ["MT19937", [1]]],
        ["generator", "MT19937", [2], None],
        arrays=[["<u4", [624], "C"]],
        body=b"\1" * 2496,
    ),
    "random state before its start": steps(
        ["array", 0],
        ["dict", ["key", "pos"], [[0], -5]],
        ["dict", ["bit_generator", "state", "has_gauss", "gauss"], ["MT19937", [1], 0, 0.0]],
        ["random state", [2]],
        arrays=[["<u4", [624], "C"]],
        body=b"\1" * 2496,
    ),
    "seed that is none": steps(
        ["dict", [], []], ["list", []], ["list", ["os", [1], 0]], ["generator", "PCG64", [0], [2]]
    ),
    "frame of nothing": steps(["range index", [0, 2**40, 1], None], ["frame", [], [0], [0]]),
    "frame of unlike columns": steps(
        ["array", 0],
        ["array", 1],
        ["range index", [0, 2, 1], None],
        ["frame", [[None, [0]], [None, [1]]], [2], [2]],
        arrays=[["<f8", [2], "C"], ["<f8", [1], "C"]],
        body=b"\0" * 24,
    ),
    "column by code": steps(["array", 0], ["index", "eval", [0], None], arrays=[["<f8", [0], "C"]]),
    "our class with a state it cannot have": steps(*filled("LazyGram", x=1), *[["list", [[0]]]], root=[2]),
    "our class that wants a state": steps(*filled("ProcessDesign", spec="import os"), root=[0]),
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_is_no_file_of_ours_is_refused(name, tmp_path):
    refuses(NOTHING[name], tmp_path)


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_file_is_refused(name, tmp_path):
    message = refuses(FORGED[name], tmp_path)
    assert "checksum" not in message
    assert len(message) < 500


def test_every_changed_byte_is_refused(good, tmp_path):
    draw = random.Random(0)
    places = {*range(64), *range(len(good) - 64, len(good)), *draw.sample(range(len(good)), 600)}
    for place in sorted(places):
        changed = bytearray(good)
        changed[place] ^= 1 << draw.randrange(8)
        refuses(bytes(changed), tmp_path)


def test_every_cut_and_every_addition_is_refused(good, tmp_path):
    for end in [0, 7, 8, 39, 40, 47, 48, 49, *random.Random(0).sample(range(len(good)), 50), len(good) - 1]:
        refuses(good[:end], tmp_path)
    refuses(good + b"\0", tmp_path)
    refuses(good + good, tmp_path)


def test_honest_parts_put_together_anew_are_the_honest_file(good, tmp_path):
    """The forgeries above fail for what they say, and not for how they are sealed."""
    (tmp_path / "again").write_bytes(sealed(*parts(good)))
    assert isinstance(rlselect.load(tmp_path / "again"), REVS)


def test_random_changes_with_a_right_checksum_build_nothing_else(good, tmp_path):
    """A forger's random walk through the head: an estimator or our sentence, never another error."""
    draw = random.Random(1)
    head, body = parts(good)
    text = json.dumps(head)
    path = tmp_path / "hostile.rls"
    loaded, said = 0, []
    for _ in range(400):
        place = draw.randrange(len(text))
        piece = draw.choice(
            ['"', "0", "[", "]", "{", "-1", "[0]", "null", "REVS", ",", "1e999", "\\u0000", ""]
        )
        path.write_bytes(sealed((text[:place] + piece + text[place + len(piece) :]).encode(), body))
        try:
            loaded += isinstance(rlselect.load(path), REVS)
        except (ValueError, UserWarning) as error:
            said.append(str(error))
    assert all("Nothing of it was used" in text or "was saved by rlselect" in text for text in said)
    assert loaded < 200


def test_a_file_may_be_no_larger_than_allowed(good, tmp_path):
    assert "are allowed" in refuses(good, tmp_path, max_bytes=1000)
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(container._MAGIC)
        file.truncate(2**40)
    with pytest.raises(ValueError, match="has 1,099,511,627,776 bytes, and 17,179,869,184 are allowed"):
        rlselect.load(path)
    with pytest.raises(ValueError, match="max_bytes=0 was given"):
        rlselect.load(path, max_bytes=0)


def test_folders_and_pipes_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ValueError, match="is no file, but a folder, a pipe or a device"):
            rlselect.load(name)
    with pytest.raises(FileNotFoundError):
        rlselect.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    "code",
    [
        "__import__('os').system('true')",
        "open('x', 'w')",
        "np.load('x', allow_pickle=True)",
        "np.os.system('true')",
        "x.__class__.__mro__",
        "(lambda: 1)()",
        "[y for y in (1,)]",
        "hashed(x, hash_func=exec)",
        "f'{1}'",
        "x if x else x",
        "center(x)(x)",
    ],
)
def test_code_in_the_formula_of_a_file_is_refused(code, tmp_path):
    rng = np.random.default_rng(0)
    n = 40
    frame = pd.DataFrame({"x": rng.standard_normal(2 * n), "id": np.tile(np.arange(n), 2)})
    frame["t"], frame["y"] = np.repeat([0, 1], n), frame["x"] + rng.standard_normal(2 * n)
    path = tmp_path / "good"
    rlselect.save(TemporalProcessRegression("y ~ center(x)").fit(frame, id="id", time="t"), path)
    head, body = parts(path.read_bytes())
    text = json.dumps(head)
    assert '"center(x)"' in text
    refuses(sealed(text.replace('"center(x)"', json.dumps(code)).encode(), body), tmp_path)


def test_the_list_of_classes_is_the_list_of_classes():
    """Every name is a class of that module, and none opens, sends or removes anything."""
    for name, module in classes._MODULES.items():
        kind = classes.class_named(name)
        assert isinstance(kind, type), name
        assert kind.__module__ == module
        assert kind.__name__ == name
        assert "__del__" not in vars(kind)
        assert "__slots__" not in vars(kind) or issubclass(kind, tuple)


def test_no_pickle_in_the_library():
    source = re.compile(r"\bpickle\b|allow_pickle=True|joblib\.load|(?<![\w.])(eval|exec)\(")
    found = [
        f"{path.name}:{number}"
        for path in sorted(Path(rlselect.__file__).parent.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if source.search(line)
    ]
    assert found == []
