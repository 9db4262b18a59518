"""The figures as a table, for a terminal and for a README."""

from __future__ import annotations

from typing import Any

HEADER = ("case", "kopt [s]", "gap", "SVs", "measured", "other [s]", "other gap", "value", "target", "", "note")
#: Load of the machine beforehand above which timings mean little.
BUSY = 0.5
RIGHT = {"kopt [s]", "gap", "SVs", "other [s]", "other gap", "value", "target"}


def text(figures: dict[str, Any]) -> str:
    """Aligned columns, with everything around them."""
    rows = [HEADER, *_rows(figures)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]
    aligned = [
        "  ".join(
            cell.rjust(w) if HEADER[k] in RIGHT else cell.ljust(w)
            for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([*(line.rstrip() for line in aligned), "", *_around(figures)])


def markdown(figures: dict[str, Any]) -> str:
    """The same as Markdown."""
    rule = ["---:" if name in RIGHT else "---" for name in HEADER]
    table = [_bars(row) for row in (HEADER, rule, *_rows(figures))]
    return "\n".join([*table, "", *(f"- {line}" for line in _around(figures))])


def _bars(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _rows(figures: dict[str, Any]) -> list[tuple[str, ...]]:
    return [row for name, record in figures["cases"].items() for row in _rows_of(name, record)]


def _rows_of(name: str, record: dict[str, Any]) -> list[tuple[str, ...]]:
    if "error" in record:
        return [(name, *("-",) * (len(HEADER) - 2), record["error"].partition("\n")[0])]
    kopt, rows = record["kopt"], []
    ours = (name, _seconds(kopt), _gap(kopt.get("gap")), _whole(kopt.get("support_vectors")))
    for line in record["comparisons"]:
        other = line["other"] or {}
        first = ours if not rows else ("",) * len(ours)
        verdict = {None: "", True: "met", False: "missed"}[line["met"]]
        note = "; ".join(part for part in (line["spoilt"], line["note"]) if part)
        theirs = (_seconds(other), _gap(other.get("gap")), _value(line["value"]), _target(line))
        rows.append((*first, line["what"], *theirs, verdict, note))
    return rows


def _around(figures: dict[str, Any]) -> list[str]:
    machine, rules = figures["machine"], figures["rules"]
    lines = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_GB']} GB; {rules['threads']} threads for "
        f'everybody; median of {rules["repeat"]}, "once" where slower than {rules["once_beyond_seconds"]:g} s.',
        ", ".join(f"{name} {version}" for name, version in figures["versions"].items()) + ".",
        *rules["sentences"],
    ]
    if figures["scale"] != 1:
        lines.append(
            f"All numbers of points multiplied by {figures['scale']:g}: no figure here is one of the targets'."
        )
    lines += [_floor(name, record["floor"]) for name, record in figures["cases"].items() if "floor" in record]
    if "kernel_rows" in figures:
        rows = figures["kernel_rows"]
        lines.append(
            f"Gaussian kernel rows on one thread: {rows['single']:.2f} ns an entry in single precision "
            f"(added up by the solver), {rows['double']:.2f} ns in double (in a product by K)."
        )
    if figures["load_before"] > BUSY:
        lines.append(
            f"The load of the machine was {figures['load_before']:.1f} before this began: others were busy on it."
        )
    return lines


def _floor(name: str, floor: dict[str, Any]) -> str:
    stated, measured = floor["stated"], floor["measured"]
    return (
        f"{name}: {stated['ratio']:.1f} times the floor of {stated['seconds']:.3g} s with the stated costs an entry, "
        f"{measured['ratio']:.1f} times that of {measured['seconds']:.3g} s with the measured ones."
    )


def _seconds(timing: dict[str, Any]) -> str:
    if timing.get("median") is None:
        return "-"
    return f"{timing['median']:.3g}" + (" once" if timing.get("once") else "")


def _gap(gap: float | None) -> str:
    return "-" if gap is None else f"{gap:.1e}"


def _whole(number: int | None) -> str:
    return "-" if number is None else str(number)


def _value(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}" if 0 < value < 1e-3 else f"{value:.3g}"


def _target(line: dict[str, Any]) -> str:
    if line["target"] is None:
        return "-"
    return ("<= " if line["at_most"] else ">= ") + _value(line["target"])
