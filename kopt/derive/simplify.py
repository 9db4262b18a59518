"""What a person would do with a dual: multipliers eliminated, a curvature read off an equality, a ball's multiplier
maximised out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from kopt.derive.dual import Bound, Dual, Eliminated
from kopt.derive.forms import LinearForm, Term
from kopt.derive.monomial import Monomial
from kopt.derive.pieces import Lengths, Square, SquareOver


def simplified(dual: Dual) -> Dual:
    """The same dual with fewer multipliers."""
    for name in list(dual.equalities):
        _eliminate_sign(dual, name)
    for name, piece in list(dual.pieces.items()):
        if isinstance(piece, SquareOver):
            _fix_curvature(dual, name, piece)
    for name in list(dual.variables):
        _maximise_out(dual, name)
    return dual


def _eliminate_sign(dual: Dual, name: str) -> None:
    """slope = 0 solved for the multiplier of a constraint that is about this variable alone, such as xi >= 0."""
    slope = dual.equalities[name]
    for multiplier, matrix in slope.matrices.items():
        row = dual.reading.constraints[multiplier]
        elsewhere = sum(multiplier in form.matrices for form in dual.forms) > 1
        diagonal = matrix.diagonal()
        invertible = matrix.shape[0] == matrix.shape[1] and matrix.nnz == len(diagonal) == np.count_nonzero(diagonal)
        if elsewhere or not invertible or len(row.affine.parts) > 1 or row.costs:
            continue
        own = next(term.monomial for term in slope.terms if term.multiplier == multiplier)
        value = slope.without(multiplier).scaled(Monomial.constant(-1.0) / own, -1 / diagonal)
        if value.constant:
            continue
        dual.eliminated[multiplier] = Eliminated(form=value)
        dual.linear = dual.linear.substituted(multiplier, value)
        del dual.equalities[name]
        if dual.multipliers[multiplier].signed:
            plain = not row.affine.offset.any() and bool(np.all(diagonal == -1))
            dual.bounds.append(Bound(value, name, named=plain))
        return


def _fix_curvature(dual: Dual, name: str, piece: SquareOver) -> None:
    """A curvature that an equality of the dual makes a number, such as sum_i alpha_i = 1."""
    a = piece.a
    for form in dual.equalities.values():
        if form.index:
            (multiplier, matrix), *others = form.matrices.items()
            diagonal = matrix.diagonal()
            if others or matrix.nnz != len(diagonal) or multiplier not in a.matrices:
                continue
            own = next(term.monomial for term in form.terms if term.multiplier == multiplier)
            a = a.substituted(multiplier, form.without(multiplier).scaled(Monomial.constant(-1.0) / own, -1 / diagonal))
        elif _proportion(a, form) is not None:
            ratio = _proportion(a, form)
            assert ratio is not None
            a = a + form.scaled(Monomial.constant(-ratio), -ratio)
    if a.constant and a.offset[0] > 0:
        dual.pieces[name] = Square(piece.slope, float(a.offset[0]), a.constants)


def _proportion(a: LinearForm, form: LinearForm) -> float | None:
    """The r for which the multipliers in a are r times those in a form."""
    if set(a.matrices) != set(form.matrices) or not a.matrices:
        return None
    first = next(iter(a.matrices))
    r = float(a.matrices[first].data[0] / form.matrices[first].data[0]) if form.matrices[first].nnz else 0.0
    apart = max(float(np.max(np.abs((a.matrices[m] - r * form.matrices[m]).toarray()))) for m in a.matrices)
    return r if r and apart <= 1e-12 * abs(r) else None


def _maximise_out(dual: Dual, name: str) -> None:
    """max over lambda of -T^2 / (4 lambda) - r lambda is -r^(1/2) T, at lambda = T / (2 r^(1/2)); likewise for balls."""
    multiplier = dual.multipliers[name]
    if multiplier.shape != () or not multiplier.signed or name not in dual.linear.matrices:
        return
    r = -float(dual.linear.matrices[name].data[0])
    if not r > 0:
        return
    r_name = -next(term.monomial for term in dual.linear.terms if term.multiplier == name)
    curved = {k: p for k, p in dual.pieces.items() if isinstance(p, SquareOver) and set(p.a.matrices) == {name}}
    balls = [ball for ball in dual.balls if set(ball.radius.matrices) == {name}]
    uses = sum(name in form.matrices for form in dual.forms)
    if uses != len(curved) + len(balls) or not uses or (curved and balls):
        return
    if balls:
        _maximise_out_of_balls(dual, name, r, r_name, balls)
        return
    scales = {float(p.a.matrices[name].data[0]) for p in curved.values()}
    if len(scales) > 1 or any(p.a.offset.any() for p in curved.values()):
        return
    kappa = scales.pop()
    kappa_name = next(iter(curved.values())).a.terms[0].monomial
    half = Fraction(1, 2)
    slopes = tuple(piece.slope for piece in curved.values())
    factor = Lengths(slopes, (r / kappa) ** 0.5, (r_name / kappa_name) ** half)
    value = Lengths(slopes, 0.5 / (r * kappa) ** 0.5, Monomial(half) / (r_name * kappa_name) ** half)
    for each in curved:
        del dual.pieces[each]
    dual.pieces[" and ".join(curved)] = factor
    dual.linear = dual.linear.without(name)
    dual.eliminated[name] = Eliminated(lengths=value)


def _maximise_out_of_balls(dual: Dual, name: str, r: float, r_name: Monomial, balls: list) -> None:  # type: ignore[type-arg]
    """||u|| <= kappa lambda at the price r: lambda = ||u|| / kappa."""
    if len(balls) > 1 or balls[0].radius.offset.any():
        return
    ball = balls[0]
    kappa, kappa_name = float(ball.radius.matrices[name].data[0]), ball.radius.terms[0].monomial
    dual.balls.remove(ball)
    dual.pieces[ball.slope.weight] = Lengths((ball.slope,), r / kappa, r_name / kappa_name)
    dual.linear = dual.linear.without(name)
    dual.eliminated[name] = Eliminated(lengths=Lengths((ball.slope,), 1 / kappa, Monomial() / kappa_name))


__all__ = ["Term", "replace", "simplified", "sp"]
