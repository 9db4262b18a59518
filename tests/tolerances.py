"""Every tolerance of the conformance tests, and why it has its value. All are relative unless they say otherwise."""

# The tolerance that `kopt.solve` promises: what it does not meet, it warns about.
CERTIFIED = 1e-6

# Claims are equalities between quantities that each carry the error of a certified answer, so ten times that; the
# counting claims use the same number for "on the margin".
CLAIM = 1e-5

# A primal with a norm of its weight vector is a second-order cone for the solver, whose interior point method returns
# multipliers that are ten to a hundred times less accurate than those of a quadratic program.
PRIMAL_SIDE = 1e-5

# Two certified answers may each be off by CERTIFIED times the scale of the objective, in opposite directions.
VALUE = 2e-6

# An enclosure is computed from feasible points: it may miss the optimum by rounding only, and by the width of the
# enclosure that the optimum itself is known by, which the tests add.
ENCLOSURE = 1e-9

# The weight vector of a strongly convex program is known to the square root of the gap; primal and dual sides are
# solved to about 1e-9.
WEIGHT = 1e-4

# Below this, relative to the kernel's own size, an optimum is an exact zero that rounding blurred.
VANISHING = 1e-7

# Residuals of one and the same point computed in another order or in other units: only rounding differs, amplified by
# cancellation in the small ones (hence the absolute part).
SAME_RESIDUAL = 1e-6
SAME_RESIDUAL_ABSOLUTE = 1e-11

# Two certified solutions with a unique optimum, compared multiplier by multiplier: the square root of a gap of 1e-10,
# relative to the largest multiplier.
MULTIPLIER = 1e-4

# LIBSVM keeps kernel values in single precision (1e-7), and its stopping rule bounds the violation of one pair only.
LIBSVM = 1e-5

# The relative gap of an answer of LIBSVM: what its single precision leaves at large C, whatever its own tolerance.
LIBSVM_GAP = 1e-4

# A linear system of twenty unknowns, against a solver that stops at 1e-11.
LINEAR_SYSTEM = 1e-7

# Closed forms and maps between two certified solutions: values to VALUE, everything that is a root of a value or a
# quotient of two of them to this.
MAP = 1e-5

# A proof of infeasibility is checked in the squares of its numbers; what is left of them is rounding.
RAY = 1e-12

# Controls: two machines that are not the same must differ by this much, far more than any tolerance above.
DIFFERENT = 1e-2
