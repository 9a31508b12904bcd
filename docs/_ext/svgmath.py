"""Formulas as inline SVG, drawn by matplotlib when the pages are built: they need no network and no script.

Matplotlib knows a part of TeX only; a formula beyond it stops the build, with its text in the message.
"""

from html import escape

from docutils import nodes
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath, text_to_path

_LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}
_SIZE = 100.0
_PAD = 4.0


def draw(tex):
    """Return the formula as an ``<svg>`` element in the size and colour of the text around it."""
    text = "$" + " ".join(tex.replace(r"\,", r"\/").split()) + "$"
    font = FontProperties(size=_SIZE, math_fontfamily="stix")
    width, height, depth = text_to_path.get_text_width_height_descent(text, font, True)
    outline = TextPath((0, 0), text, prop=font)
    parts = []
    for points, code in outline.iter_segments(curves=True, simplify=False):
        flipped = [f"{-v:.1f}" if k % 2 else f"{v:.1f}" for k, v in enumerate(points)]
        parts.append(_LETTERS[code] + ("" if code == Path.CLOSEPOLY else " ".join(flipped)))
    em = 1.1 / _SIZE  # the letters of the formula look as large as those of the text
    box = f"{-_PAD:.0f} {depth - height - _PAD:.0f} {width + 2 * _PAD:.0f} {height + 2 * _PAD:.0f}"
    style = (
        f"height:{(height + 2 * _PAD) * em:.2f}em;vertical-align:{-(depth + _PAD) * em:.2f}em;max-width:100%"
    )
    return (
        f'<svg role="img" aria-label="{escape(tex)}" viewBox="{box}" style="{style}">'
        f'<path fill="currentColor" d="{"".join(parts)}"/></svg>'
    )


def _draw_or_stop(node):
    try:
        return draw(node.astext())
    except ValueError as error:
        raise ValueError(f"matplotlib cannot draw the formula {node.astext()!r}") from error


def visit_inline(translator, node):
    """Write a formula within a line."""
    translator.body.append(_draw_or_stop(node))
    raise nodes.SkipNode


def visit_display(translator, node):
    """Write a formula of its own."""
    translator.body.append(f'<p style="text-align:center">{_draw_or_stop(node)}</p>\n')
    raise nodes.SkipNode


def setup(app):
    """Tell Sphinx how formulas are drawn."""
    app.add_html_math_renderer("svg", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
