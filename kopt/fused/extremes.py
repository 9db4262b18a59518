"""Minimum and maximum of two numbers in a form that compilers vectorise; neither may be NaN."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _extreme(name: str) -> Any:
    def of_two(typing_context: Any, a: Any, b: Any) -> Any:
        if a != b or a not in (types.float32, types.float64):
            return None

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FloatType() if a == types.float32 else ir.DoubleType()
            function = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind, kind]))
            return builder.call(function, arguments, fastmath=("nnan", "nsz"))

        return a(a, b), build

    return intrinsic(of_two)


smaller = _extreme("llvm.minnum")
larger = _extreme("llvm.maxnum")
