"""LaTeX is typeset by MathJax 3.2.2, the version of JupyterLab, run inside the test process: no browser, no network.

The files of MathJax come with the package `sphinx-mathjax-offline`, the JavaScript engine with `quickjs-ng`. The
packages of TeX are the few that every notebook viewer has, and `textmacros`, which reads the argument of `\\text` as
LaTeX does. `noerrors` and `noundefined`, which show a mistake in red instead of reporting it, are left out.
"""

from functools import cache
from importlib.metadata import files
from pathlib import Path

import quickjs

COMPONENTS = (
    "core.js",
    "adaptors/liteDOM.js",
    "input/tex-base.js",
    "input/tex/extensions/ams.js",
    "input/tex/extensions/textmacros.js",
    "output/svg.js",
    "output/svg/fonts/tex.js",
)

# Each formula has an input processor of its own: a macro that it defines is unknown to the next one. MathJax reports
# every mistake while it compiles, before anything is laid out.
DRIVER = r"""
const {adaptors, core, handlers, input, mathjax, output} = MathJax._;
const adaptor = adaptors.liteAdaptor.liteAdaptor();
handlers.html_ts.RegisterHTMLHandler(adaptor);
const font = new output.svg.fonts.tex_ts.TeXFont({});
const OutputJax = new output.svg_ts.SVG({fontCache: 'none', font});

function convert(latex, end) {
    const InputJax = new input.tex_ts.TeX({
        packages: ['base', 'ams', 'textmacros'],
        formatError(jax, error) { throw new Error(error.message); },
    });
    return mathjax.mathjax.document('', {InputJax, OutputJax}).convert(latex, {display: true, end});
}

function mistake(latex) {
    try { convert(latex, core.MathItem.STATE.COMPILED); } catch (error) { return error.message; }
    return null;
}

function svg(latex) { return adaptor.innerHTML(convert(latex, core.MathItem.STATE.LAST)); }
"""

# Half of the stack that Linux gives a process: the engine reports an overflow instead of ending the process.
STACK_BYTES = 4 * 2**20


@cache
def _engine() -> quickjs.Context:
    root = next(Path(file.locate()).parent for file in files("sphinx-mathjax-offline") or () if file.name == "core.js")
    context = quickjs.Context()
    context.set_max_stack_size(STACK_BYTES)
    context.eval("var MathJax = {}")
    for component in COMPONENTS:
        context.eval((root / component).read_text(encoding="utf-8"))
    context.eval(DRIVER)
    return context


def errors(latex: str) -> list[str]:
    r"""What MathJax reports of a displayed formula, given without its delimiters: nothing, or its first mistake.

    >>> errors(r"\tfrac{1}{2} \lVert w \rVert^2")
    []
    >>> errors(r"\tfrac{1}{2} \lVert w \rVert^")
    ['Missing superscript or subscript argument']
    """
    message = _engine().get("mistake")(latex)
    return [] if message is None else [message]


def svg(latex: str) -> str:
    r"""The formula as a self-contained picture; a mistake raises `quickjs.JSException`.

    >>> svg("x")[:4]
    '<svg'
    """
    return _engine().get("svg")(latex)
