"""What a person does with a dual: multipliers eliminated, a curvature read off an equality, a ball maximised out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from kopt.derive.dual import Ball, Bound, Dual, Eliminated
from kopt.derive.forms import LinearForm
from kopt.derive.monomial import Monomial
from kopt.derive.pieces import Image, Lengths, Square, SquareOver

_HALF = Fraction(1, 2)


def simplified(dual: Dual) -> Dual:
    """The same dual with fewer multipliers, in place."""
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
    found = [m for m in slope.matrices if len(slope.matrices) > 1 and _about_one_variable(dual, slope, m)]
    at_zero = [m for m in found if not dual.reading.constraints[m].affine.offset.any()]
    if len(found) > 1 and not at_zero:  # bounds on both sides: neither is to be preferred
        return
    for multiplier in (at_zero or found)[:1]:
        value = slope.solved_for(multiplier)
        if value.index and multiplier in dual.linear.matrices and any(t.over is not None for t in value.terms):
            return  # a sum inside a sum
        del dual.equalities[name]
        dual.eliminated[multiplier] = Eliminated(form=value)
        dual.linear = dual.linear.substituted(multiplier, value, dual.reading.points)
        if dual.multipliers[multiplier].signed:
            plain = bool(at_zero) and bool(np.all(slope.diagonal(multiplier) == -1))
            dual.bounds.append(Bound(value, name, named=plain))


def _about_one_variable(dual: Dual, slope: LinearForm, multiplier: str) -> bool:
    """Whether a multiplier belongs to a constraint on single entries of one variable, and to no other slope."""
    row = dual.reading.constraints[multiplier]
    elsewhere = sum(multiplier in form.matrices for form in dual.forms) > 1
    alone = len(row.affine.parts) == 1 and not row.costs and not row.lengths
    return alone and not elsewhere and slope.diagonal(multiplier) is not None


def _fix_curvature(dual: Dual, name: str, piece: SquareOver) -> None:
    """A curvature that the equalities of the dual make a number, such as sum_i alpha_i = 1."""
    a = piece.a
    for form in dual.equalities.values():
        only = next(iter(form.matrices)) if len(form.matrices) == 1 else None
        ratio = None if form.index else _ratio(a, form)
        if ratio is not None:
            a = a + form.scaled(Monomial.constant(-ratio), -ratio)
        elif only in a.matrices and form.diagonal(str(only)) is not None:
            a = a.substituted(str(only), form.solved_for(str(only)), dual.reading.points)
    if a.constant and a.offset[0] > 0:
        dual.pieces[name] = Square(piece.slope, float(a.offset[0]), a.constants)


def _ratio(a: LinearForm, form: LinearForm) -> float | None:
    """The r for which the multipliers in a are r times those in a form."""
    if set(a.matrices) != set(form.matrices) or not a.matrices:
        return None
    first = next(iter(a.matrices))
    r = float(a.matrices[first].data[0] / form.matrices[first].data[0])
    apart = max(float(np.max(np.abs((a.matrices[m] - r * form.matrices[m]).toarray()))) for m in a.matrices)
    return r if apart <= 1e-12 * abs(r) else None


def _maximise_out(dual: Dual, name: str) -> None:
    """The multiplier of a ball, where it occurs in a price r and in curvatures or radii kappa lambda alone.

    max over lambda of -T^2 / (4 kappa lambda) - r lambda is -(r / kappa)^(1/2) T, at lambda = T / (2 (r kappa)^(1/2));
    a radius ||u|| <= kappa lambda at the price r leaves -(r / kappa) ||u||, at lambda = ||u|| / kappa.
    """
    multiplier = dual.multipliers[name]
    if multiplier.shape != () or not multiplier.signed or name not in dual.linear.matrices or len(dual.variables) == 1:
        return
    r = -float(dual.linear.matrices[name].data[0])
    curved = {k: p for k, p in dual.pieces.items() if isinstance(p, SquareOver) and set(p.a.matrices) == {name}}
    balls = [ball for ball in dual.balls if set(ball.radius.matrices) == {name}]
    prices = [*(piece.a for piece in curved.values()), *(ball.radius for ball in balls)]
    uses = sum(name in form.matrices for form in dual.forms)
    alike = len({float(form.matrices[name].data[0]) for form in prices}) == 1
    if r <= 0 or uses != len(prices) or not alike or any(form.offset.any() for form in prices):
        return
    r_name = -next(term.monomial for term in dual.linear.terms if term.multiplier == name)
    kappa, kappa_name = float(prices[0].matrices[name].data[0]), prices[0].terms[0].monomial
    if curved and not balls:
        slopes = tuple(piece.slope for piece in curved.values())
        left = Lengths(slopes, (r / kappa) ** 0.5, (r_name / kappa_name) ** _HALF)
        value = Lengths(slopes, 0.5 / (r * kappa) ** 0.5, Monomial(_HALF) / (r_name * kappa_name) ** _HALF)
    elif len(balls) == 1 and not curved and isinstance(balls[0].slope, Image):
        slopes = (balls[0].slope,)
        left = Lengths(slopes, r / kappa, r_name / kappa_name)
        value = Lengths(slopes, 1 / kappa, Monomial() / kappa_name)
    else:
        return
    _replace(dual, name, curved, balls, left, value)


def _replace(
    dual: Dual, name: str, curved: dict[str, SquareOver], balls: list[Ball], left: Lengths, value: Lengths
) -> None:
    for each in curved:
        del dual.pieces[each]
    dual.balls = [ball for ball in dual.balls if not any(ball is each for each in balls)]
    dual.pieces[" and ".join(slope.weight for slope in left.slopes)] = left
    dual.linear = dual.linear.without(name)
    dual.eliminated[name] = Eliminated(lengths=value)
