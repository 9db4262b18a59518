"""Verdicts of the referee as text, as HTML and as plain data."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kopt.show import html
from kopt.show.table import GAP, row
from kopt.show.text import Branch, tree

if TYPE_CHECKING:
    from kopt.derive.compare import Comparison, Row
    from kopt.referee.verdict import CounterExample, Fault, Judgement, Verdict

WIDTH = 100
# The most rows and columns of an array that are shown; the rest stays in the verdict.
LARGEST = 12
# Entries this far below the largest one of their array are the rounding of a zero.
_ROUNDING = 1e-13
_LOUD = ("wrong", "undecided")
_TONES = {
    "exact": html.Tone.GOOD,
    "scaled": html.Tone.MIXED,
    "restricted": html.Tone.MIXED,
    "wrong": html.Tone.BAD,
    "undecided": html.Tone.UNSURE,
}
_COLUMNS = ("", "derived", "claimed", "")
_BESIDE = "the claim beside the derived dual"
_ALIKE = "Every term and every constraint is that of the derived dual."
# The width of the last column of a comparison.
_NOTE = 30
# The two values of a counter-example, and the word for a claimed one that is not there.
_COMPARED = {
    "wrong recovery": ("best value with it as recovered", "optimum of the primal", "no feasible point"),
    "missing bound": ("claimed value", "value of the dual function", "forbidden"),
    "wrong bound": ("claimed value", "value of the dual function", "forbidden"),
    "duality gap": ("optimum of the claimed dual", "optimum of the primal", "unknown"),
}


def verdict_tree(verdict: Verdict) -> str:
    """A verdict: the judgement, each fault with its counter-example, the derived dual beside it, the notes."""
    evidence = f"{counted(verdict.instances, 'instance')}, {counted(verdict.points, 'point')}"
    discrepancy = f"largest relative discrepancy {short(verdict.discrepancy, 2)}"
    factor = f", {verdict.factor}" if verdict.factor else ""
    title = f"{verdict.name}: {word(verdict.judgement)}{factor} ({evidence}, {discrepancy}, {verdict.seconds:.1f} s)"
    branches: list[Branch] = [(_wrapped("", text), []) for text in _sentences(verdict)]
    branches += [(_wrapped("", _headline(fault)), list(_fault(fault, twin))) for fault, twin in _with_twins(verdict)]
    branches += [(beside, []) for beside in _comparison(verdict)]
    branches += [(_wrapped("note: ", note), []) for note in verdict.notes]
    return tree(title, branches)


def verdict_html(verdict: Verdict) -> str:
    """A verdict for a notebook: one row of numbers, and the faults to unfold."""
    header = ("formulation", "verdict", "instances", "points", "largest relative discrepancy", "seconds")
    row = (
        html.element("b", verdict.name),
        html.badge(word(verdict.judgement), _TONES[verdict.judgement.word]),
        verdict.instances,
        verdict.points,
        short(verdict.discrepancy, 2),
        f"{verdict.seconds:.1f}",
    )
    factor = [f"Here it is {verdict.factor}."] if verdict.factor else []
    sentences = [html.element("div", text) for text in (*_sentences(verdict), *factor)]
    faults = [_fault_html(fault, twin, opened=i == 0) for i, (fault, twin) in enumerate(_with_twins(verdict))]
    notes = [html.element("div", html.muted(f"note: {note}")) for note in verdict.notes]
    return html.block(html.table([row], header), *sentences, *faults, *_comparison_html(verdict), *notes)


def comparison_table(comparison: Comparison) -> str:
    """The rows under a header, each cell wrapped where the line would be too long."""
    rows = [_COLUMNS, *map(_comparison_cells, comparison.rows)]
    part, derived, claimed, note = (max(map(len, column)) for column in zip(*rows, strict=True))
    note = min(note, _NOTE)
    room = WIDTH - part - note - 3 * len(GAP)
    left = min(derived, max(room - claimed, room // 2))
    return "\n".join(row(cells, (part, left, min(claimed, room - left), note)) for cells in rows)


def verdict_dict(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain data that strict JSON can hold; numbers that are not finite become words."""
    return {
        "name": verdict.name,
        "judgement": verdict.judgement.word,
        "sentence": verdict.judgement.value,
        "accepts": verdict.accepts,
        "instances": verdict.instances,
        "points": verdict.points,
        "discrepancy": plain(verdict.discrepancy),
        "factor": verdict.factor,
        "faults": [_fault_dict(fault) for fault in verdict.faults],
        "comparison": _comparison_dicts(verdict),
        "no_comparison": verdict.no_comparison if _is_compared(verdict) else "",
        "notes": list(verdict.notes),
        "seconds": plain(verdict.seconds),
    }


def word(judgement: Judgement) -> str:
    """The judgement in one word, in capitals where somebody has to act."""
    return judgement.word.upper() if judgement.word in _LOUD else judgement.word


def gist(verdict: Verdict, width: int = 60) -> str:
    """The factor of a scaled dual or the first fault, in a few words; nothing where all is well."""
    if verdict.factor:
        return shortened(verdict.factor, width)
    if not verdict.faults:
        return ""
    fault = verdict.faults[0]
    times = f", times {fault.factor}" if fault.factor else ""
    return shortened(_headline(fault), width - len(times)) + times


def shortened(text: str, width: int = 60) -> str:
    """The beginning of a text.

    >>> shortened("sum(alpha) - 0.5 * norm_squared(y * alpha)", 20)
    'sum(alpha) - 0.5 ...'
    """
    return textwrap.shorten(text, width, placeholder=" ...")


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "point"), counted(2, "point")
    ('1 point', '2 points')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def short(number: float, digits: int = 5) -> str:
    """A number with few digits.

    >>> short(2.0), short(-0.0), short(1 / 3), short(float("inf"))
    ('2', '0', '0.33333', 'infinite')
    """
    if np.isnan(number):
        return "unknown"
    if np.isinf(number):
        return "infinite" if number > 0 else "-infinite"
    return f"{number + 0.0:.{digits}g}"


def plain(value: Any) -> Any:
    """A value as JSON has it.

    >>> plain({"K": np.eye(2), "C": np.float64("inf"), "d": np.int64(3)})
    {'K': [[1.0, 0.0], [0.0, 1.0]], 'C': 'inf', 'd': 3}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _sentences(verdict: Verdict) -> list[str]:
    """What the judgement means, for all but exact ones."""
    return [] if verdict.judgement.word == "exact" else [verdict.judgement.value]


def _is_compared(verdict: Verdict) -> bool:
    """Whether the derived dual is shown: where the verdict is exact it costs time and says nothing new."""
    return verdict.judgement.word != "exact"


def _comparison(verdict: Verdict) -> Iterator[str]:
    """The derived dual beside the claimed one, or why there is none."""
    if not _is_compared(verdict):
        return
    if verdict.no_comparison:
        yield _wrapped("no derived dual: ", verdict.no_comparison)
    elif verdict.comparison is not None:
        yield _ALIKE if verdict.comparison.same else f"{_BESIDE}\n{comparison_table(verdict.comparison)}"


def _comparison_html(verdict: Verdict) -> Iterator[html.Html]:
    if not _is_compared(verdict):
        return
    if verdict.no_comparison:
        yield html.element("div", html.muted(f"no derived dual: {verdict.no_comparison}"))
    elif verdict.comparison is not None and verdict.comparison.same:
        yield html.element("div", _ALIKE)
    elif verdict.comparison is not None:
        rows = [_comparison_row_html(each) for each in verdict.comparison.rows]
        yield html.details(_BESIDE, html.table(rows, _COLUMNS), opened=True)


def _comparison_row_html(each: Row) -> tuple[object, ...]:
    part, derived, claimed, note = _comparison_cells(each)
    return html.muted(part), html.code(derived), html.code(claimed), note if each.same else html.element("b", note)


def _comparison_cells(each: Row) -> tuple[str, str, str, str]:
    return each.part, each.derived or "-", each.claimed or "-", each.note


def _comparison_dicts(verdict: Verdict) -> list[dict[str, Any]] | None:
    comparison = verdict.comparison if _is_compared(verdict) else None
    return None if comparison is None else [{**vars(each), "same": each.same} for each in comparison.rows]


def _headline(fault: Fault) -> str:
    return f"{fault.kind.value}: {fault.where}"


def _explanation(fault: Fault) -> list[tuple[str, str]]:
    return [("what", fault.what), ("why", fault.why), ("fix", fault.fix)]


def _with_twins(verdict: Verdict) -> Iterator[tuple[Fault, str]]:
    """Each fault, and the headline of an earlier one with the same counter-example."""
    seen: list[tuple[Any, Fault]] = []
    for fault in verdict.faults:
        example = _example_dict(fault)
        yield fault, next((_headline(earlier) for known, earlier in seen if known == example is not None), "")
        seen.append((example, fault))


def _fault(fault: Fault, twin: str) -> Iterator[Branch]:
    for label, text in _explanation(fault):
        yield _wrapped(f"{label}: ".ljust(6), text), []
    if twin:
        yield _wrapped("", f"counter-example: as for {twin}"), []
    elif fault.example is not None:
        facts = [*_givens(fault.example), *_values(fault)]
        width = max(len(name) for name, _ in facts)
        yield "counter-example", [(_aligned(f"{name:<{width}}  ", cells), []) for name, cells in facts]


def _fault_html(fault: Fault, twin: str, opened: bool) -> html.Html:
    contents = [html.table((html.muted(label), text) for label, text in _explanation(fault))]
    if twin:
        contents.append(html.muted(f"counter-example: as for {twin}"))
    elif fault.example is not None:
        givens = [(html.code(name), _cells_html(cells)) for name, cells in _givens(fault.example)]
        values = [(label, html.element("b", cells[0][0])) for label, cells in _values(fault)]
        contents += [html.muted("counter-example"), html.table([*givens, *values])]
    summary = html.Html(f"{html.element('b', fault.kind.value)}: {html.code(fault.where)}")
    return html.details(summary, *contents, opened=opened)


def _fault_dict(fault: Fault) -> dict[str, Any]:
    return {
        "kind": fault.kind.value,
        "where": fault.where,
        "what": fault.what,
        "why": fault.why,
        "fix": fault.fix,
        "factor": fault.factor,
        "example": _example_dict(fault),
    }


def _example_dict(fault: Fault) -> dict[str, Any] | None:
    return None if fault.example is None else dict(plain(vars(fault.example)))


Cells = list[list[str]]


def _givens(example: CounterExample) -> Iterator[tuple[str, Cells]]:
    """The instance and the point, each by name, as rows of written numbers."""
    for name, value in example.parameters.items():
        yield name, _cells(value)
    if example.y is not None:
        yield "y", _cells(example.y)
    if example.costs is not None and np.any(example.costs != 1):
        yield "costs", _cells(example.costs)
    for name, gram in example.grams.items():
        yield "K" if len(example.grams) == 1 else f"K[{name}]", _cells(gram)
    for name, value in example.point.items():
        yield name, _cells(value)


def _values(fault: Fault) -> Iterator[tuple[str, Cells]]:
    """What a person should find by hand."""
    if fault.example is None:
        return
    labels = _COMPARED.get(
        fault.kind.value, ("claimed value", f"{fault.example.extremum} of the Lagrangian", "forbidden")
    )
    claimed, true = _told_apart(fault.example.claimed, fault.example.true)
    yield labels[0], [[labels[2] if np.isnan(fault.example.claimed) else claimed]]
    yield labels[1], [[true]]


def _told_apart(first: float, second: float) -> tuple[str, str]:
    """Two numbers with one digit more than it takes to tell them apart."""
    needed = next((d for d in range(4, 17) if f"{first:.{d}g}" != f"{second:.{d}g}"), 5)
    return _value(first, needed + 1), _value(second, needed + 1)


def _value(number: float, digits: int) -> str:
    if np.isinf(number):
        return f"unbounded {'above' if number > 0 else 'below'}"
    return short(number, digits)


def _cells(value: Any) -> Cells:
    """A number, a vector or a matrix as rows of text; of a large one the beginning."""
    array = np.atleast_2d(np.asarray(value))
    if array.dtype.kind not in "fiu" or array.size == 0:
        return [[str(value)]]
    array = array.reshape(-1, array.shape[-1])
    largest = np.max(np.abs(array), initial=0.0, where=np.isfinite(array))
    rounded = np.where(np.abs(array) <= _ROUNDING * largest, 0.0, array)
    cells = [[short(entry) for entry in row[:LARGEST]] for row in rounded[:LARGEST]]
    if array.shape[1] > LARGEST:
        cells = [[*row, "..."] for row in cells]
    return cells if len(array) <= LARGEST else [*cells, ["..."] * len(cells[0])]


def _cells_html(cells: Cells) -> html.Html:
    return html.escape(cells[0][0]) if len(cells) == len(cells[0]) == 1 else html.matrix(_padded(cells))


def _aligned(label: str, cells: Cells) -> str:
    """Rows of numbers with their points under each other, the first one after the label."""
    lines = ["  ".join(row).rstrip() for row in _padded(cells)]
    return label + f"\n{' ' * len(label)}".join(lines)


def _padded(cells: Cells) -> list[tuple[str, ...]]:
    return list(zip(*map(_column, zip(*cells, strict=True)), strict=True))


def _column(entries: Sequence[str]) -> list[str]:
    if len(entries) == 1:
        return list(entries)
    whole = [len(re.split("[.e]", entry)[0]) for entry in entries]
    padded = [" " * (max(whole) - digits) + entry for entry, digits in zip(entries, whole, strict=True)]
    return [entry.ljust(max(map(len, padded))) for entry in padded]


def _wrapped(label: str, text: str) -> str:
    hang = " " * len(label)
    return textwrap.fill(text, WIDTH, initial_indent=label, subsequent_indent=hang, break_on_hyphens=False)
