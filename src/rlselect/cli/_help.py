"""Help like a table of contents: commands under what they are for, and examples."""

import shlex
from typing import Any

import click

from rlselect.cli._errors import BadInput
from rlselect.report import printable

__all__ = ["COMMAND", "Contents", "FirstByDefault", "examples"]


# where the context of a command keeps the line that was typed
COMMAND = "rlselect.command"


def examples(*lines: str, about: str = "") -> str:
    """Examples for the end of a help text, a line each, with a sentence about the data before them."""
    # \b keeps click from filling the lines into one paragraph
    return "\n".join(["\b", *([about] if about else []), "Examples:", *(f"  {line}" for line in lines)])


class Contents(click.Group):
    """Commands under headings, whose complaints can be shown: a word that was given may be a file's name.

    Parameters
    ----------
    headings : dict
        Heading -> names of commands; those that stand nowhere come last.
    **attributes : object
        As for `click.Group`.
    """

    def __init__(self, *, headings: dict[str, list[str]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._headings = headings

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[COMMAND] = shlex.join(["rlselect", *args])
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        named = [name for names in self._headings.values() for name in names if name in self.commands]
        return [*named, *(name for name in self.commands if name not in named)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        named = {name for names in self._headings.values() for name in names}
        others = [name for name in self.commands if name not in named]
        for heading, names in [*self._headings.items(), ("Others", others)]:
            rows = [
                (f"{name:{width}}", self.commands[name].get_short_help_str(72))
                for name in names
                if name in self.commands
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if not isinstance(error, BadInput):
                error.message = printable(error.message)  # type: ignore[misc]
            raise


class FirstByDefault(click.Group):
    """Commands of which the first is meant where none is named: `datumwise FILE` learns from the file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)
