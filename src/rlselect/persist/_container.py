"""One file of JSON and arrays under one checksum, written whole or not at all; reading it runs no code.

A file is, from its first byte to its last: eight bytes that say what it is, the SHA-256 of all that follows,
the length of the head (eight bytes, little-endian), the head in JSON, and the bytes of the arrays one after
the other. Nothing is compressed: what comes out is never larger than what went in.
"""

import hashlib
import json
import math
import os
import re
import stat
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rlselect.report import replace_file

__all__ = ["FORMAT", "NotAtHand", "Unreadable", "digest_of", "form_of", "read_container", "write_container"]

# no text, and what turns line ends or strips the eighth bit spoils it, as in PNG
_MAGIC = b"\x89RLS\r\n\x1a\n"
_START = len(_MAGIC) + 32
# what the head may say; another number means another meaning
FORMAT = 1
_KEYS = {"format", "library", "kind", "about", "nodes", "arrays"}
_UNIT = r"(\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])"
_DTYPE = re.compile(rf"(\|b1|\|[iu]1|<[iu][248]|<f(2|4|8|16)|[<|][US][1-9]\d{{0,8}}|<[mM]8{_UNIT}?)")
_LAST_CHARACTER = 0x10FFFF


class Unreadable(ValueError):
    """A file is not what it should be; the text says what is wrong with it, and follows its name."""


class NotAtHand(Unreadable):
    """A file refers to something that who loads it did not bring along; `name` says what."""

    def __init__(self, name: str) -> None:
        super().__init__(f"refers to {name[:40]!r}, which is not at hand")
        self.name = name


def write_container(path: Path, kind: str, content: dict[str, Any], arrays: list[np.ndarray]) -> None:
    """Write a file; a kill at any moment leaves the one that was there before, or the new one.

    Parameters
    ----------
    path : Path
        The file.
    kind : str
        What it holds.
    content : dict
        ``library``, ``about`` and ``nodes`` of the head.
    arrays : list of array
        Of numbers, text, times, or flat records of these.
    """
    parts = _as_bytes(kind, content, arrays)
    replace_file(path, [_MAGIC, _sha256(parts).digest(), *parts])


def digest_of(content: dict[str, Any], arrays: list[np.ndarray]) -> str:
    """SHA-256 of what a file would hold, to tell it from other content."""
    return _sha256(_as_bytes("digest", content, arrays)).hexdigest()


def read_container(path: Path, kind: str, max_bytes: int) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Head and arrays of a file whose every byte is as it was written; anything else is `Unreadable`."""
    body = memoryview(_checked_bytes(path, max_bytes))
    if len(body) < 8:
        raise Unreadable("is cut short")
    end = 8 + struct.unpack("<Q", body[:8])[0]
    if end > len(body):
        raise Unreadable("is cut short")
    head = _read_head(bytes(body[8:end]), kind)
    described = head["arrays"]
    if not isinstance(described, list):
        raise Unreadable("does not hold a list of arrays")
    arrays = []
    for description in described:
        array, end = _read_array(description, body, end)
        arrays.append(array)
    if end != len(body):
        raise Unreadable("holds bytes that belong to nothing")
    return head, arrays


def _as_bytes(kind: str, content: dict[str, Any], arrays: list[np.ndarray]) -> list[Any]:
    described, pieces = [], []
    for array in arrays:
        description, piece = _describe(array)
        described.append(description)
        pieces.append(piece)
    head = json.dumps(
        {"format": FORMAT, "kind": kind, **content, "arrays": described},
        allow_nan=False,
        separators=(",", ":"),
    ).encode("ascii")
    return [struct.pack("<Q", len(head)), head, *pieces]


def _sha256(pieces: Iterable[Any]) -> Any:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest


def _checked_bytes(path: Path, max_bytes: int) -> bytes:
    """All bytes behind the checksum, which they agree with."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise Unreadable("is no file, but a folder, a pipe or a device")
    with path.open("rb") as file:
        start = file.read(_START)
        if start[: len(_MAGIC)] != _MAGIC:
            raise Unreadable("was not written by this library")
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise Unreadable(f"has {size:,} bytes, and {max_bytes:,} are allowed")
        body = file.read(max(size - len(start), 0))
    if hashlib.sha256(body).digest() != start[len(_MAGIC) :]:
        raise Unreadable("has been changed or cut short since it was written: its checksum does not agree")
    return body


def _read_head(text: bytes, kind: str) -> dict[str, Any]:
    try:
        head = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = (
            str(error) if isinstance(error, Unreadable) else f"has a damaged head ({type(error).__name__})"
        )
        raise Unreadable(reason) from None
    if not isinstance(head, dict) or type(head.get("format")) is not int:
        raise Unreadable("has a head without a format")
    if head["format"] != FORMAT:
        written = str(head.get("library"))[:40]
        raise Unreadable(
            f"has format {head['format']}, written by rlselect {written!r}; this version reads {FORMAT} "
            "(a newer rlselect may read it)"
        )
    if set(head) != _KEYS or not isinstance(head["library"], str):
        raise Unreadable("has a head with other entries than this library writes")
    if head["kind"] != kind:
        raise Unreadable(f"holds a {str(head['kind'])[:40]!r}, and a {kind!r} is wanted")
    return head


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unreadable("names an entry of its head twice")
    return found


def _no_constant(name: str) -> None:
    raise Unreadable(f"holds {name} where JSON has no such number")


# ---- arrays ----


def _describe(array: np.ndarray) -> tuple[list[Any], Any]:
    """Type, shape and order of an array, and its bytes."""
    kind = form_of(array.dtype)
    # the order in memory decides in which order a product is summed up, and so its last bits
    order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    flat = np.asarray(array, dtype=_read_dtype(kind)).ravel(order=order)
    return [kind, list(array.shape), order], np.ascontiguousarray(flat).view(np.uint8).data


def form_of(dtype: np.dtype) -> Any:
    """How a file names a type of array: little-endian, records without gaps; `Unreadable` where it cannot."""
    little = dtype.newbyteorder("<")
    if little.fields is None:
        form: Any = little.str if little.itemsize else f"<{little.kind}1"
    else:
        form = [[name, little.fields[name][0].str] for name in little.names or ()]
    _read_dtype(form)
    return form


def _read_array(description: Any, body: memoryview, start: int) -> tuple[np.ndarray, int]:
    """An array of its own memory, and where the next one begins."""
    if not isinstance(description, list) or len(description) != 3:
        raise Unreadable("describes an array by something else than type, shape and order")
    dtype = _read_dtype(description[0])
    shape, order = description[1:]
    if not isinstance(shape, list) or len(shape) > 32 or order not in ("C", "F"):
        raise Unreadable("describes an array of an impossible shape")
    if any(type(length) is not int or not 0 <= length < 2**62 for length in shape):
        raise Unreadable("describes an array of an impossible shape")
    count = math.prod(shape)
    end = start + count * dtype.itemsize
    if end > len(body):
        raise Unreadable("describes an array that is larger than the file")
    flat = np.frombuffer(body, dtype=dtype, count=count, offset=start) if count else np.empty(0, dtype)
    for name in dtype.names or (None,):
        _check_cells(flat if name is None else flat[name])
    return np.array(flat.reshape(shape, order=order), order=order), end


def _read_dtype(given: Any) -> np.dtype:
    if isinstance(given, str):
        if _DTYPE.fullmatch(given):
            return np.dtype(given)
    elif isinstance(given, list) and 0 < len(given) <= 1000:
        pairs = [pair for pair in given if isinstance(pair, list) and len(pair) == 2]
        simple = [
            (name, form) for name, form in pairs if isinstance(name, str) and isinstance(form, str) and name
        ]
        if len(simple) == len(given) == len({name for name, _ in simple}):
            return np.dtype([(name, _read_dtype(form)) for name, form in simple])
    raise Unreadable(
        f"describes an array of type {str(given)[:40]!r}, which is none of numbers, text or times"
    )


def _check_cells(values: np.ndarray) -> None:
    """Refuse bytes that are no truth value or no character: NumPy trusts them, and may crash."""
    if not values.size:
        return
    raw = np.ascontiguousarray(values).view(np.uint8 if values.dtype.kind != "U" else "<u4")
    if values.dtype.kind == "b" and raw.max() > 1:
        raise Unreadable("holds truth values that are neither true nor false")
    if values.dtype.kind == "U" and raw.max() > _LAST_CHARACTER:
        raise Unreadable("holds text that is none")
