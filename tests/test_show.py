"""What people see of a verdict: text, HTML and JSON."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from kopt.referee.verdict import CounterExample, Fault, Judgement, Kind, Verdict
from kopt.show.verdict import gist, word

EXAMPLE = CounterExample(
    parameters={"C": np.float64(1.7), "nu": 0.25},
    grams={"k": np.array([[2.0, -0.125, 1e-18], [-0.125, 10.0, 3.5], [1e-18, 3.5, 1 / 3]])},
    y=np.array([1.0, -1.0, 1.0]),
    costs=np.ones(3),
    point={"alpha": np.array([0.5, 0.75, 0.25])},
    claimed=1.234567891,
    true=1.234567456,
)
FAULT = Fault(
    kind=Kind.WRONG_COEFFICIENT,
    where="-norm_squared(y * alpha)",
    what="The term has the coefficient -1, where the dual has -1/2.",
    why="Minimising over w gives w = sum_i y_i alpha_i phi(x_i), where 1/2 <w, w> - <w, w> comes to -1/2 <w, w>.",
    fix="Multiply the term by 1/2.",
    factor="1/2",
    example=EXAMPLE,
)
WRONG = Verdict(
    name="Forgetful",
    judgement=Judgement.WRONG,
    instances=8,
    points=312,
    discrepancy=0.481234,
    factor=None,
    faults=(FAULT,),
    notes=("Recovery was not tested, because the formulation declares none.",),
    seconds=0.94,
)
EXACT = replace(WRONG, name="SoftMargin", judgement=Judgement.EXACT, discrepancy=3.14e-14, faults=(), notes=())


def with_example(**changes):
    return replace(WRONG, faults=(replace(FAULT, example=replace(EXAMPLE, **changes)),))


def test_an_exact_verdict_is_one_line():
    line = "SoftMargin: exact (8 instances, 312 points, largest relative discrepancy 3.1e-14, 0.9 s)"
    assert str(EXACT) == line


def test_a_wrong_verdict_can_be_checked_by_hand():
    assert str(WRONG) == "\n".join(
        [
            "Forgetful: WRONG (8 instances, 312 points, largest relative discrepancy 0.48, 0.9 s)",
            "├─ The claimed dual is not the dual.",
            "├─ wrong coefficient: -norm_squared(y * alpha)",
            "│  ├─ what: The term has the coefficient -1, where the dual has -1/2.",
            "│  ├─ why:  Minimising over w gives w = sum_i y_i alpha_i phi(x_i), where 1/2 <w, w> - <w, w> comes to",
            "│  │        -1/2 <w, w>.",
            "│  ├─ fix:  Multiply the term by 1/2.",
            "│  └─ counter-example",
            "│     ├─ C                          1.7",
            "│     ├─ nu                         0.25",
            "│     ├─ y                          1  -1  1",
            "│     ├─ K                           2      -0.125  0",
            "│     │                             -0.125  10      3.5",
            "│     │                              0       3.5    0.33333",
            "│     ├─ alpha                      0.5  0.75  0.25",
            "│     ├─ claimed value              1.2345679",
            "│     └─ minimum of the Lagrangian  1.2345675",
            "└─ note: Recovery was not tested, because the formulation declares none.",
        ]
    )


@pytest.mark.parametrize("judgement", [Judgement.SCALED, Judgement.RESTRICTED, Judgement.UNDECIDED])
def test_the_head_line_says_the_judgement_and_the_next_one_the_sentence(judgement):
    head, sentence = str(replace(EXACT, judgement=judgement)).splitlines()
    assert head.startswith(f"SoftMargin: {word(judgement)} (")
    assert sentence == f"└─ {judgement.value}"


def test_only_what_asks_for_action_is_in_capitals():
    assert list(map(word, Judgement)) == ["exact", "scaled", "restricted", "WRONG", "UNDECIDED"]


def test_a_scaled_verdict_says_its_factor():
    scaled = replace(EXACT, judgement=Judgement.SCALED, factor="2 times the dual function")
    assert str(scaled).startswith("SoftMargin: scaled, 2 times the dual function (8 instances, ")
    assert "Here it is 2 times the dual function." in scaled._repr_html_()
    assert gist(scaled) == "2 times the dual function"


def test_the_gist_of_a_verdict_is_short():
    assert gist(EXACT) == ""
    assert gist(WRONG) == "wrong coefficient: -norm_squared(y * alpha), times 1/2"
    assert len(gist(replace(WRONG, faults=(replace(FAULT, where="alpha + " * 40),)))) <= 60


def test_a_wrong_recovery_compares_primal_values():
    fault = replace(FAULT, kind=Kind.WRONG_RECOVERY, where="b", example=replace(EXAMPLE, claimed=np.nan, true=2.5))
    text = str(replace(WRONG, faults=(fault,)))
    assert "best value with it as recovered  no feasible point" in text
    assert "optimum of the primal            2.5" in text


@pytest.mark.parametrize(
    ("claimed", "true", "lines"),
    [
        (1.5, -np.inf, ["claimed value              1.5", "minimum of the Lagrangian  unbounded below"]),
        (np.nan, 1.5, ["claimed value              forbidden", "minimum of the Lagrangian  1.5"]),
        (1000.0, 1000.001, ["claimed value              1000", "minimum of the Lagrangian  1000.001"]),
        (0.0, 1e-9, ["claimed value              0", "minimum of the Lagrangian  1e-09"]),
    ],
)
def test_the_two_values_are_told_apart(claimed, true, lines):
    text = str(with_example(claimed=claimed, true=true))
    assert all(line in text for line in lines)


def test_the_same_counter_example_is_shown_once():
    verdict = replace(WRONG, faults=(FAULT, replace(FAULT, where="sum(alpha)")))
    assert str(verdict).count("claimed value") == 1
    assert "counter-example: as for wrong coefficient: -norm_squared(y * alpha)" in str(verdict)
    assert verdict._repr_html_().count("claimed value") == 1
    without = replace(FAULT, example=None)
    assert "as for" not in str(replace(WRONG, faults=(without, without)))


def test_costs_and_several_kernels_are_shown_where_they_matter():
    text = str(with_example(costs=np.array([1.0, 2.0, 0.5]), grams={"near": np.eye(3), "far": 2 * np.eye(3)}, y=None))
    assert "costs                      1  2  0.5" in text
    assert "K[near] " in text
    assert "K[far] " in text
    assert "─ y " not in text


def test_large_arrays_are_cut():
    lines = str(with_example(grams={"k": np.eye(80)})).splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) < 120
    assert any(line.endswith("...") for line in lines)


def test_points_may_be_numbers_matrices_and_stacks_of_them():
    point = {"b": np.array(0.5), "S": np.array([[1.0, 2.0], [3.0, 4.0]]), "T": np.zeros((2, 2, 2)), "e": np.zeros(0)}
    text = str(with_example(point=point))
    assert "b                          0.5" in text
    assert "S                          1  2" in text


def test_nothing_infinite_is_printed_as_a_number():
    assert "largest relative discrepancy infinite" in str(replace(WRONG, discrepancy=np.inf))


class Balanced(HTMLParser):
    """Every tag closed in order; no scripts."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_well_formed_and_has_everything():
    html = WRONG._repr_html_()
    parser = Balanced()
    parser.feed(html)
    assert not parser.open
    assert {"table", "details", "summary"} <= set(parser.seen)
    assert "script" not in parser.seen
    for part in ("WRONG", "wrong coefficient", "Multiply the term by 1/2.", "1.2345675", "0.33333", "note: "):
        assert part in html


def test_html_is_escaped():
    fault = replace(FAULT, where="<i>alpha</i>", what="a < b & c", example=replace(EXAMPLE, point={"<b>": np.ones(2)}))
    html = replace(WRONG, name="<script>", faults=(fault,), notes=("<u>",))._repr_html_()
    for raw in ("<script>", "<i>", "a < b", "<b>:", "<u>"):
        assert raw not in html
    assert "&lt;i&gt;alpha&lt;/i&gt;" in html
    assert "a &lt; b &amp; c" in html


def test_an_exact_verdict_shows_no_faults_as_html():
    html = EXACT._repr_html_()
    assert "exact" in html
    assert "details" not in html


def test_json_is_strict_and_complete():
    verdict = replace(with_example(claimed=np.nan, true=-np.inf), discrepancy=np.inf)
    read = json.loads(json.dumps(verdict.as_dict(), allow_nan=False))
    assert read["judgement"] == "wrong"
    assert read["accepts"] is False
    assert read["discrepancy"] == "inf"
    fault = read["faults"][0]
    assert fault["kind"] == "wrong coefficient"
    assert fault["factor"] == "1/2"
    assert fault["example"]["claimed"] == "nan"
    assert fault["example"]["true"] == "-inf"
    assert fault["example"]["grams"]["k"] == EXAMPLE.grams["k"].tolist()
    assert fault["example"]["parameters"] == {"C": 1.7, "nu": 0.25}


def test_json_of_a_fault_without_an_example():
    assert replace(WRONG, faults=(replace(FAULT, example=None),)).as_dict()["faults"][0]["example"] is None
