"""Text for terminals and files: nothing in it moves a cursor, and a file is written whole or not at all."""

import errno
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

__all__ = ["printable", "replace_file", "unwritable", "write_whole"]


def printable(text: object, *, lines: bool = False) -> str:
    r"""Text as it may go to a terminal: control characters, escapes and marks of direction as ``\x1b``.

    Parameters
    ----------
    text : object
        Names of columns, labels, file names, messages.
    lines : bool, default=False
        Whether line ends stay, as in a page; a name with a line end could pass for two lines.

    Returns
    -------
    str

    Examples
    --------
    >>> print(printable("age\x1b[2J\u202e\n"))
    age\x1b[2J\u202e\n
    """
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(c if _is_harmless(c) or (lines and c == "\n") else _escaped(c) for c in whole)


def _is_harmless(character: str) -> bool:
    # spaces that are wider, or hold words together, count as not printable
    return character.isprintable() or (character.isspace() and character in "\u00a0\u2007\u202f\u3000")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def write_whole(path: str | Path, text: str) -> None:
    """Write a text file; whatever happens, the old content or the new one is there, never a part.

    Parameters
    ----------
    path : str or Path
        The file; where it is a link, what it leads to is written.
    text : str
        Its content, as UTF-8.

    Raises
    ------
    OSError
        If the place cannot be written, with a sentence that says why.
    """
    place = Path(os.path.realpath(path))
    try:
        if place.exists() and not place.is_file():
            # a pipe or a terminal has no content that could be kept
            place.write_text(text, encoding="utf-8")
        else:
            replace_file(place, [text.encode()], place.stat().st_mode & 0o7777 if place.exists() else None)
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: str | Path, error: OSError) -> OSError:
    """What the system says of a place, as a sentence."""
    reason = error.strerror or type(error).__name__
    return OSError(
        f"{str(path)!r} cannot be written: {reason}. Give a file in a folder that you may write to and "
        "that has room; nothing was changed."
    )


def replace_file(path: Path, pieces: Iterable[bytes | memoryview], mode: int | None = None) -> None:
    """Write bytes one piece after the other; a kill at any moment leaves the old file or the new one.

    A link is replaced and not followed. `mode` are the rights of the new file, the usual ones by default. The
    system's own `OSError` tells what went wrong.
    """
    if path.exists() and not (path.is_file() or path.is_symlink()):
        # who may do so would replace a device by a file
        raise OSError(errno.EINVAL, "it is a folder, a pipe or a device")
    # a name that nobody can have laid out beforehand, in the same folder so that it can be moved into place
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            part.chmod(mode)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
