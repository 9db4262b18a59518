"""Why a claimed objective differs from the dual function: hypotheses, each tested at all points of all instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kopt.referee.factors import recognised
from kopt.referee.finding import Finding, Sentences
from kopt.referee.pointwise import Comparison
from kopt.referee.trial import Trial
from kopt.referee.verdict import Kind

# A hypothesis fits if it explains the difference to this, relative to the terms.
FITS = 1e-6
# From so few points nothing follows.
LEAST = 3
MINIMISED = "minimum over "


@dataclass(frozen=True)
class Explanation:
    """A hypothesis that fits everywhere, with its factor on every instance."""

    cost: float
    kind: Kind
    where: str
    factors: list[float]
    say: Callable[[str], Sentences]


def explain(comparisons: Sequence[Comparison], settings: Sequence[dict[str, float]]) -> list[Finding]:
    """The simplest explanation of the differences; "wrong objective" where none fits."""
    fitting = [*_one_term(comparisons), *_library(comparisons)]
    if not fitting:
        fitting = list(_all_terms(comparisons)) or [_nothing(comparisons)]
        chosen = fitting
    else:
        chosen = [min(fitting, key=lambda e: e.cost + _doubt(e, settings))]
    findings = []
    for explanation in chosen:
        for i, comparison in enumerate(comparisons):
            point = comparison.worst
            factor = explanation.factors[i] if explanation.factors else None
            sign = comparison.trial.claimed.sign
            findings.append(
                Finding(
                    explanation.kind,
                    explanation.where,
                    comparison.trial,
                    explanation.say,
                    factor,
                    comparison.points[point],
                    sign * float(comparison.claimed[point]),
                    sign * float(comparison.true[point]),
                )
            )
    return findings


def _doubt(explanation: Explanation, settings: Sequence[dict[str, float]]) -> float:
    """A factor that is no simple expression of the parameters is less likely to be the right one."""
    return 0.0 if not explanation.factors or recognised(explanation.factors, settings) else 10.0


def _difference(comparison: Comparison) -> np.ndarray:
    return (comparison.true - comparison.claimed)[comparison.telling]


def _scalar_fit(comparison: Comparison, values: np.ndarray, difference: np.ndarray) -> float | None:
    """The c with difference = c * values at every point; None where there is none."""
    values, size = values[comparison.telling], comparison.size[comparison.telling]
    defined = np.isfinite(values)
    values, size, difference = values[defined], size[defined], difference[defined]
    weighted = values / size
    if np.sum(defined) < LEAST or not weighted.any():
        return None
    c = float(weighted @ (difference / size) / (weighted @ weighted))
    return c if np.max(np.abs(difference - c * values) / size) <= FITS else None


def _fit_all(comparisons: Sequence[Comparison], fit: Callable[[Comparison], float | None]) -> list[float] | None:
    found = []
    for comparison in comparisons:
        factor = fit(comparison)
        if factor is None:
            return None
        found.append(factor)
    return found


def _one_term(comparisons: Sequence[Comparison]) -> Iterator[Explanation]:
    """One term of the claimed objective needs another factor."""
    first = comparisons[0].trial
    for k, term in enumerate(first.claimed.terms):

        def fit(comparison: Comparison, k: int = k) -> float | None:
            return _scalar_fit(comparison, comparison.terms[:, k], _difference(comparison))

        changes = _fit_all(comparisons, fit)
        if changes is not None and np.max(np.abs(changes)) > FITS:
            yield _coefficient(first.words.term(term), [1.0 + change for change in changes], cost=k / 100)


def _coefficient(text: str, factors: list[float], cost: float) -> Explanation:
    superfluous = bool(np.max(np.abs(factors)) <= 1e-7)

    def say(factor: str) -> Sentences:
        if superfluous:
            return (
                f"The term {text} of the dual objective does not belong there.",
                "The minimum of the Lagrangian equals the claimed objective without it, at every point tried.",
                f"Leave out {text}.",
            )
        return (
            f"The term {text} of the dual objective has to be multiplied by {factor}.",
            "The minimum of the Lagrangian equals the claimed objective with that factor, at every point tried.",
            f"Multiply {text} by {factor}.",
        )

    kind = Kind.WRONG_TERM if superfluous else Kind.WRONG_COEFFICIENT
    return Explanation(cost, kind, text, [] if superfluous else factors, say)


def _all_terms(comparisons: Sequence[Comparison]) -> Iterator[Explanation]:
    """Several terms need other factors: the least-squares fit on all of them."""
    fits = []
    for comparison in comparisons:
        known, size = comparison.telling, comparison.size[comparison.telling]
        matrix = comparison.terms[known] / size[:, None]
        if len(matrix) < matrix.shape[1] or np.linalg.matrix_rank(matrix, tol=1e-6) < matrix.shape[1]:
            return
        factors = np.linalg.lstsq(matrix, comparison.true[known] / size, rcond=None)[0]
        if np.max(np.abs(matrix @ factors - comparison.true[known] / size)) > FITS:
            return
        fits.append(factors)
    first = comparisons[0].trial
    for k, term in enumerate(first.claimed.terms):
        factors = [float(fit[k]) for fit in fits]
        if np.max(np.abs(np.array(factors) - 1)) > FITS:
            yield _coefficient(first.words.term(term), factors, cost=k / 100)


def _library(comparisons: Sequence[Comparison]) -> Iterator[Explanation]:
    """A term is missing, or stands in the place of another."""
    libraries = {id(comparison): library(comparison.trial, comparison.points) for comparison in comparisons}
    first = comparisons[0].trial
    for j, text in enumerate(libraries[id(comparisons[0])]):
        if any(text not in each for each in libraries.values()):
            continue
        for k in (None, *range(len(first.claimed.terms))):

            def fit(comparison: Comparison, text: str = text, k: int | None = k) -> float | None:
                values = libraries[id(comparison)][text]
                difference = _difference(comparison)
                if k is not None:
                    difference = difference + comparison.terms[comparison.telling, k]
                return _scalar_fit(comparison, values, difference)

            factors = _fit_all(comparisons, fit)
            if factors is not None and np.max(np.abs(factors)) > FITS:
                old = None if k is None else first.words.term(first.claimed.terms[k])
                yield _replaced(text, old, [first.claimed.sign * f for f in factors], 1.0 + (k is not None) + j / 100)


def _replaced(text: str, old: str | None, factors: list[float], cost: float) -> Explanation:
    def say(factor: str) -> Sentences:
        if text.startswith(MINIMISED):
            return _derive_again(text.removeprefix(MINIMISED), old)
        new = factor if text == "1" else text if factor == "1" else f"{factor} * {text}"
        if old is None:
            what, fix = f"The dual objective lacks the term {new}.", f"Add {new}."
        else:
            what, fix = f"The term {old} of the dual objective has to be {new}.", f"Write {new} for {old}."
        return what, "The minimum of the Lagrangian equals the claimed objective then, at every point tried.", fix

    if old is None:
        return Explanation(cost, Kind.MISSING_TERM, text, factors, say)
    return Explanation(cost, Kind.WRONG_TERM, old, factors, say)


def _derive_again(vector: str, old: str | None) -> Sentences:
    term = "a term" if old is None else f"the term {old}"
    return (
        f"In the dual objective, {term} is not what the minimisation over {vector} gives.",
        f"With the minimum over {vector} in its place the claimed objective is right, at every point tried.",
        f"Derive the terms with {vector} again: substitute its stationary point into the Lagrangian.",
    )


def _nothing(comparisons: Sequence[Comparison]) -> Explanation:
    trial = comparisons[0].trial

    def say(_: str) -> Sentences:
        text = trial.words.text(trial.claimed.program.objective.expr)
        return (
            f"The dual objective {text} is not the minimum of the Lagrangian.",
            "At the point shown the two values differ; no change of a single term explains all points.",
            "Derive it again: substitute the stationary point of each primal variable into the Lagrangian.",
        )

    return Explanation(0.0, Kind.WRONG_OBJECTIVE, "objective", [], say)


def library(trial: Trial, points: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Terms that duals are made of, at points; by their text."""
    values: dict[str, list[float]] = {}
    for z in points:
        for text, value in [*_terms_at(trial, trial.claimed.by_name(z)), *_lagrangian_parts(trial, z)]:
            values.setdefault(text, []).append(value)
    return {text: np.array(found) for text, found in values.items()}


def _terms_at(trial: Trial, point: dict[str, np.ndarray]) -> Iterator[tuple[str, float]]:
    yield "1", 1.0
    vectors = {name: v for name, v in point.items() if v.shape == (trial.sample.n,)}
    names = list(vectors)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            vectors[f"({second} - {first})"] = vectors[second] - vectors[first]
            vectors[f"({second} + {first})"] = vectors[second] + vectors[first]
    for name, value in vectors.items():
        yield from _vector_terms(trial, name, value)
    for name, value in point.items():
        if value.ndim == 0:
            yield name, float(value)
            yield f"{name}^2", float(value) ** 2
            yield f"1/{name}", 1 / float(value) if value else np.inf
        elif value.ndim == 2 and value.shape[0] == value.shape[1]:
            yield f"trace({name})", float(np.trace(value))
            yield f"||{name}||_F^2", float(np.sum(value**2))
            if len(value) == trial.sample.n:
                yield f"<K, {name}>", float(np.sum(value * trial.sample.gram().dense))
        if value.shape not in ((), (trial.sample.n,)):
            yield f"sum({name})", float(np.sum(value))
            yield f"sum({name}^2)", float(np.sum(value**2))


def _lagrangian_parts(trial: Trial, z: np.ndarray) -> Iterator[tuple[str, float]]:
    """What the minimisation over each vector contributes, for terms that are none of the usual ones."""
    m = trial.multipliers(z)
    for group in trial.lagrangian.features.groups:
        yield f"{MINIMISED}{group.name}", sum(value for value, _ in group.minimise(m))


def _vector_terms(trial: Trial, name: str, v: np.ndarray) -> Iterator[tuple[str, float]]:
    K, y = trial.sample.gram().dense, trial.sample.y
    yield f"sum({name})", float(np.sum(v))
    yield f"sum({name}^2)", float(np.sum(v**2))
    yield f"sum({name}^2 / c)", float(np.sum(v**2 / trial.sample.costs))
    yield f"||{name}||_1", float(np.sum(np.abs(v)))
    yield f"sum(diag(K) * {name})", float(trial.sample.gram().diagonal @ v)
    signed = [(f"{name}", v)]
    if y is not None:
        yield f"sum(y * {name})", float(y @ v)
        signed.append((f"(y * {name})", y * v))
    for text, vector in signed:
        square = float(vector @ K @ vector)
        yield f"{text}' K {text}", square
        yield f"({text}' K {text})^(1/2)", float(np.sqrt(max(0.0, square)))
        yield f"{text}' K {text} / sum({name})", square / float(np.sum(v)) if np.sum(v) else np.nan
