"""Pieces of HTML for notebooks: self-contained, without scripts, legible on light and dark pages."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from enum import Enum

_LINE = "1px solid rgba(128,128,128,.35)"
# Notebooks stripe, right-align and indent tables of their own accord.
_ROW = "background:transparent"
_CELL = "text-align:left;vertical-align:top;padding:2px 14px 2px 0;border:none;white-space:normal"
_NUMBER = "text-align:left;padding:0 6px;border:none;white-space:pre;font-family:monospace"


class Html(str):
    """Text that is HTML already; any other text is escaped where it enters."""

    __slots__ = ()


class Tone(Enum):
    """Background and letters of a badge; told apart in every kind of colour vision, and never without the word."""

    GOOD = ("#0060a8", "#ffffff")
    MIXED = ("#8fd0f5", "#000000")
    BAD = ("#f09000", "#000000")
    UNSURE = ("#6a6a6a", "#ffffff")


def escape(content: object) -> Html:
    """The content as HTML: unchanged where it is HTML already.

    >>> escape("a < b"), escape(Html("<b>a</b>"))
    ('a &lt; b', '<b>a</b>')
    """
    return content if isinstance(content, Html) else Html(html.escape(str(content)))


def element(tag: str, *contents: object, style: str = "") -> Html:
    """One element around its contents.

    >>> element("p", "a < b", element("b", "!"))
    '<p>a &lt; b<b>!</b></p>'
    """
    attribute = f' style="{html.escape(style)}"' if style else ""
    return Html(f"<{tag}{attribute}>{''.join(map(escape, contents))}</{tag}>")


def block(*contents: object) -> Html:
    """The outermost element of what a notebook shows."""
    return element("div", *contents, style="font-size:13px;line-height:1.5;max-width:64em")


def code(text: object) -> Html:
    """A piece of a declaration."""
    return element("code", text, style="background:transparent;color:inherit;padding:0;font-size:12px")


def muted(text: object) -> Html:
    """What is said in passing."""
    return element("span", text, style="opacity:.7")


def badge(word: str, tone: Tone) -> Html:
    """One word on a coloured ground."""
    background, letters = tone.value
    shape = "border-radius:4px;padding:1px 8px;font-weight:600;white-space:nowrap"
    return element("span", word, style=f"background:{background};color:{letters};{shape}")


def table(rows: Iterable[Sequence[object]], header: Sequence[object] = ()) -> Html:
    """A table whose cells are text or HTML."""
    head = [_row(header, "th", f"{_CELL};font-weight:normal;opacity:.7;border-bottom:{_LINE}")] if header else []
    body = [_row(row, "td", _CELL) for row in rows]
    return element("table", *head, *body, style="border-collapse:collapse;border:none;margin:4px 0;font-size:inherit")


def matrix(rows: Iterable[Sequence[object]]) -> Html:
    """Numbers between two brackets; spaces count, so that points can stand under each other."""
    brackets = (
        "border-collapse:separate;border-spacing:0;border:solid currentColor;border-width:0 1px;border-radius:6px"
    )
    body = [_row(row, "td", _NUMBER) for row in rows]
    return element("table", *body, style=f"{brackets};margin:2px 0;font-size:12px")


def details(summary: object, *contents: object, opened: bool = False) -> Html:
    """Contents that unfold under their summary."""
    head = element("summary", summary, style="cursor:pointer;display:list-item")
    body = element("div", *contents, style=f"margin:2px 0 6px 5px;padding-left:12px;border-left:{_LINE}")
    return Html(f'<details style="margin:4px 0"{" open" if opened else ""}>{head}{body}</details>')


def _row(cells: Sequence[object], tag: str, style: str) -> Html:
    return element("tr", *(element(tag, cell, style=style) for cell in cells), style=_ROW)
