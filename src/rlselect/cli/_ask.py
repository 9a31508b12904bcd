"""A dialogue in the terminal with a saved datum-wise model: one question at a time, then the answer."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from rlselect.cli._models import load_model
from rlselect.datumwise import DatumwiseClassifier, DatumwiseRegressor, Session
from rlselect.report import printable

__all__ = ["ask_questions", "open_session"]

# what a user may say of a value that cannot be had
_UNKNOWN = {"", "unknown", "?"}

# most classes whose probabilities are shown, and most levels that a question names
_CLASSES, _LEVELS = 5, 12


def open_session(path: Path, known: Sequence[str]) -> Session:
    """A session of the model in a file, with what is known from the start as words such as ``age=31``."""
    model = load_model(path)
    if not isinstance(model, DatumwiseClassifier | DatumwiseRegressor):
        raise ValueError(
            f"{str(path)!r} holds a {type(model).__name__}; ask needs a DatumwiseClassifier or a "
            "DatumwiseRegressor, as --save of rlselect datumwise or rlselect.save writes it."
        )
    values: dict[str, Any] = {}
    for word in known:
        name, mark, text = word.partition("=")
        if not mark:
            raise ValueError(f"--known {word!r} is not understood; write it as NAME=VALUE, such as age=31.")
        values[name] = _value(text)
    return model.start(known=values)


def ask_questions(session: Session, lines: Iterator[str], *, echo: bool) -> None:
    """Ask what the session asks for, take the lines as answers, and say the result.

    With `echo` the lines are printed after the questions, as a terminal would. When they end, the answer is
    by what is known then.
    """
    click.echo("Answer 'unknown' for what cannot be had.")
    ended = False
    while (question := session.next()) is not None and not ended:
        click.echo(f"\nSo far: {_probabilities(session)}")
        click.echo(printable(f"{question}: {session.explain()}"))
        ended = not _put(session, lines, echo)
    result = session.result()
    if ended:
        click.echo("\nThe input has ended; this is by what is known so far.")
    bought = ", ".join(map(str, result.acquired)) or "nothing"
    label: Any = f"{result.label:.4g}" if session.is_number else result.label
    label = label if result.decided else f"undecided; most likely {label}"
    click.echo(f"\nAnswer: {printable(str(label))}")
    click.echo(_probabilities(session))
    click.echo(printable(f"Asked: {bought}, for {result.cost:.4g}"))


def _put(session: Session, lines: Iterator[str], echo: bool) -> bool:
    """Ask until the session takes the values of the next unit; False when there are no more lines."""
    while True:
        values = {}
        for name, levels in session.fields():
            named = ", ".join(levels[:_LEVELS]) + (", ..." if len(levels) > _LEVELS else "") if levels else ""
            click.echo(printable(f"{name}{f' ({named})' if named else ''}? "), nl=False)
            line = next(lines, None)
            if line is None:
                click.echo()
                return False
            if echo:
                click.echo(printable(line.strip()))
            if levels and line.strip() not in {*levels, *_UNKNOWN}:
                click.echo("That is none of its levels; answer one of them, or 'unknown'.")
                break
            values[name] = line.strip() if levels else _value(line)
        else:
            told = {name: None if v in _UNKNOWN else v for name, v in values.items()}
            try:
                session.unavailable() if not any(v is not None for v in told.values()) else session.tell(told)
            except ValueError as error:
                click.echo(printable(f"{error}."))
                continue
            return True


def _value(text: str) -> Any:
    """A number where the text is one."""
    text = text.strip()
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return text


def _probabilities(session: Session) -> str:
    shares = session.result().probabilities
    if session.is_number:
        mean = float(shares @ session.classes)
        return f"{mean:.4g}, give or take {float(shares @ (session.classes - mean) ** 2) ** 0.5:.2g}"
    best = sorted(range(len(shares)), key=lambda k: -shares[k])[:_CLASSES]
    return printable(", ".join(f"{session.classes[k]} {shares[k]:.0%}" for k in best))
