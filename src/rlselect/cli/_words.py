"""What the library says, in the words of the command that runs: missing="drop" is --missing drop."""

import inspect
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import click

__all__ = ["in_flags", "report_in_flags"]

# parameters whose flag has another name
_OTHER_NAMES = {
    "sample_weight": "--weight",
    "random_state": "--seed",
    "signs": "--sign",
    "costs": "--cost",
    "n_splines": "--splines",
}
# values that are a flag, or a value of one, of another name; the first flag that the command has is meant
_OTHER_WORDS = {
    ("average", "False"): "--no-average",
    ("maximize", "False"): "--minimize",
    ("action_type", "dose"): "--dose",
    ("task", "regression"): "--family gaussian",
    ("task", "classification"): "--family binomial",
    ("loss", "squared"): "--family gaussian",
    ("loss", "squared_label"): "--family binomial",
    ("loss", "auto"): "--family auto",
}
# commands whose sentences speak of a fit that another command makes
_FITS = ("select", "datumwise", "regimes", "effects")
# X and y are words of Python, too
_PHRASES = (
    (r"\by=('[^']*'|\"[^\"]*\") is not a column of X\b", r"\1 is not a column of the data"),
    (r"^y (?=has|holds|is|must|was)", "The target "),
    (r"^(?:Input )?X (?=has|holds|contains|gives|is)", "The table "),
    (r"^Input y (?=contains)", "The target "),
)
# methods that a sentence names by their class, and who says which method
_METHODS = {"another method (ActorCriticPredictor)": ("select", "--method acp")}
# what another command does, or this one
_CALLS = {"report(X=X, y=y)": ("report", "--data FILE")}
_VALUE = r"""(?:(["'])([\w.-]+)\2|([\w.+-]*\w))"""


class _Flags:
    """The flags of one command, by the parameters of Python that they stand for."""

    def __init__(self, command: click.Command, of: str = "") -> None:
        options = [option for option in command.params if isinstance(option, click.Option)]
        self._words = {word: o for o in options for word in o.opts if word.startswith("--")}
        self._by_name = {word[2:].replace("-", "_"): word for word in self._words}
        self._by_name |= {name: word for name, word in _OTHER_NAMES.items() if word in self._words}
        self._of = f" of rlselect {of}" if of else ""

    def name(self, parameter: str) -> str | None:
        word = self._by_name.get(parameter)
        return None if word is None else f"{word}{self._of}"

    def setting(self, parameter: str, value: str) -> str | None:
        other = _OTHER_WORDS.get((parameter, value))
        word = self._by_name.get(parameter)
        if word is None:
            return f"{other}{self._of}" if other and other.split()[0] in self._words else None
        option = self._words[word]
        if isinstance(option.type, click.Choice) and value not in option.type.choices:
            return None
        if not option.is_flag:
            return f"{word} {value}{self._of}"
        otherwise = next(iter(option.secondary_opts), f"no {word}")
        return f"{word if value == 'True' else otherwise}{self._of}"


def in_flags(text: str, *, names: bool = True) -> str:
    """A sentence of the library in the words of the command that runs.

    What no flag stands for is said to be a word of Python.

    Parameters
    ----------
    text : str
        The sentence.
    names : bool, default=True
        Whether parameters are also known by their bare names, which could be names of columns in a report.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return text
    known, foreign = list(_known(context)), []

    def setting(found: re.Match[str]) -> str:
        parameter, value = found[1], found[3] or found[4]
        told = next((told for flags in known if (told := flags.setting(parameter, value))), None)
        if told is None and parameter in _parameters():
            foreign.append(parameter)
        return told or found[0]

    def listed(found: re.Match[str]) -> str:
        items = [item.strip().strip("'\"") for item in found[2].split(",")]
        told = next((told for flags in known if (told := flags.name(found[1]))), None)
        return found[0] if told is None else f"{told} {shlex.quote(','.join(items))}"

    def name(found: re.Match[str]) -> str:
        parameter = found[1] or found[2]
        told = next((told for flags in known if (told := flags.name(parameter))), None)
        if told is None and found[1] and parameter in _parameters():
            foreign.append(parameter)
        return told or found[0]

    for call, (command, flag) in _CALLS.items():
        told = flag if context.command.name == command else f"rlselect {command} MODEL {flag}"
        text = text.replace(call, told)
    for method, (command, told) in _METHODS.items():
        text = text.replace(method, told if context.command.name == command else method)
    if any(option.name == "drop_missing_target" for option in context.command.params):
        text = re.sub(r"(?<=\. )Remove these rows\.$", "Leave them out with --drop-missing-target.", text)
    text = re.sub(r"[,;] [^();]* of pandas(?=\))", "", text)
    text = re.sub(r"(?<![\w.'\"`])([a-z]\w*)=\[([^][]*)\]", listed, text)
    text = re.sub(rf"(?<![\w.'\"`])([a-z]\w*)={_VALUE}", setting, text)
    # `name`, and name where it cannot be an English word
    bare = r"|(?<![\w.'\"=-])([a-z]+(?:_[a-z]+)+)(?![\w'\"=(])" if names else "|(?!)()"
    text = re.sub(rf"(?<!['\"`])`([a-z]\w*)`{bare}", name, text)
    if names:
        text = re.sub(r"(?<![\w'\"`-])([a-z]\w*)()(?= was given)", name, text)
        for said, told in _PHRASES:
            text = re.sub(said, told, text)
    if foreign:
        words = " and ".join(dict.fromkeys(foreign))
        are = "is a word" if len(set(foreign)) == 1 else "are words"
        text += f" ({words} {are} of the Python interface.)"
    return text


def report_in_flags(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report whose sentences are in the words of the command that runs; names and numbers stay."""
    told = dict(report)
    if "notes" in told:
        told["notes"] = [in_flags(note, names=False) for note in told["notes"]]
    if "sections" in told:
        told["sections"] = [_section_in_flags(section) for section in told["sections"]]
    return told


def _section_in_flags(section: Mapping[str, Any]) -> dict[str, Any]:
    told = dict(section)
    if told.get("note"):
        told["note"] = in_flags(told["note"], names=False)
    if "rows" in told:
        told["rows"] = [[_cell_in_flags(cell) for cell in row] for row in told["rows"]]
    return told


def _cell_in_flags(cell: Any) -> Any:
    """A cell, which may be a sentence of ours; what is none may be a name or a level of the data."""
    is_sentence = isinstance(cell, str) and " " in cell and cell.endswith(".")
    return in_flags(cell, names=False) if is_sentence else cell


def _known(context: click.Context) -> Iterator[_Flags]:
    """Flags of the command that runs, then of those that its sentences may speak of."""
    yield _Flags(context.command)
    root = context.find_root().command
    commands = root.commands if isinstance(root, click.Group) else {}
    fits = any(option.name == "seed" for option in context.command.params)
    for name in ("predict",) if fits else (*_FITS, "predict"):
        command = commands.get(name)
        if isinstance(command, click.Group):
            command = next(iter(command.commands.values()))
        if command is not None and command is not context.command:
            yield _Flags(command, name)


@cache
def _parameters() -> frozenset[str]:
    """Parameters of what the commands call, which sentences may name."""
    found: set[str] = set()
    for room in ("subset", "datumwise", "regimes", "temporal"):
        module = import_module(f"rlselect.{room}")
        for one in (getattr(module, name) for name in module.__all__):
            # what a class is made with, and what its methods take
            called = inspect.getmembers(one, inspect.isroutine) if inspect.isclass(one) else [("", one)]
            for _, method in called:
                try:
                    found |= {*inspect.signature(method).parameters}
                except (TypeError, ValueError):
                    continue
    return frozenset(name for name in found if name.isidentifier() and not name.startswith("_")) - {"self"}
