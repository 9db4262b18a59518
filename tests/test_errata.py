"""Every erratum is proved anew: the print fails, the correction holds, and a right print would not be convicted."""

import inspect
import json

import pytest

from kopt import Judgement, Reference, WrongPair, WrongStatement, equal
from kopt.cli import main
from kopt.cli.errata import chosen
from kopt.erratum import HOLDS, REFUTED

ERRATA = chosen([])
PAIRS = [cls for cls in ERRATA if issubclass(cls, WrongPair)]


@pytest.mark.parametrize("cls", ERRATA, ids=lambda cls: cls.__name__)
class TestEveryErratum:
    def test_the_print_is_refuted_and_the_correction_supported(self, cls):
        evidence = cls().evidence()
        assert evidence.refuted, evidence.words
        assert evidence.supported, evidence.words

    def test_it_says_where_and_what(self, cls):
        assert isinstance(cls.reference, Reference)
        assert cls.printed.strip()
        assert cls.correct.strip()
        assert cls.printed != cls.correct
        assert inspect.getdoc(cls)


@pytest.mark.parametrize("cls", PAIRS, ids=lambda cls: cls.__name__)
def test_a_right_pair_would_not_be_convicted(cls):
    """Being supported means that the corrected machine is judged exact, which must not count as a refutation."""
    assert cls.expected is not Judgement.EXACT


def test_all_texts_are_there():
    assert {cls.reference.text for cls in ERRATA} == {
        "6.867 lectures 7-8",
        "Cristianini and Shawe-Taylor",
        "Mohri, Rostamizadeh and Talwalkar",
        "Scheffer",
        "Shawe-Taylor and Cristianini",
    }


class Near(WrongStatement):
    """A statement that is off by less than what refutes and more than what holds."""

    reference, printed, correct = Reference("nowhere", "1"), "1 = 1", "1 = 1 + a little"

    def claims(self):
        return equal("a", 1.0, 1.0 + 0.5 * REFUTED), equal("a", 1.0, 1.0 + 2 * HOLDS)


@pytest.mark.parametrize("left", [2.0, float("nan"), float("inf")])
def test_a_right_statement_and_one_without_numbers_are_not_refuted(left):
    class Right(Near):
        def claims(self):
            return equal("a", left, 2.0), equal("a", 2.0, 2.0)

    evidence = Right().evidence()
    assert not evidence.refuted
    assert evidence.supported
    assert not evidence.convicts


def test_what_is_nearly_right_is_neither_refuted_nor_supported():
    evidence = Near().evidence()
    assert not evidence.refuted
    assert not evidence.supported
    assert not evidence.convicts


def test_the_command_prints_the_table(capsys):
    assert main(["errata", "Theorem", "7.38"]) == 0
    printed = capsys.readouterr().out
    assert printed.split()[:5] == ["text", "place", "printed", "correct", "evidence"]
    assert "1 errata, 0 without evidence" in printed


def test_the_command_prints_json(capsys):
    assert main(["errata", "7.38", "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert set(found) == {"name", "text", "place", "printed", "correct", "evidence", "refuted", "supported"}
    assert found["refuted"] is found["supported"] is True


def test_an_unknown_word_is_refused(capsys):
    assert main(["errata", "Theorem", "99"]) == 2
    assert "There is no erratum with Theorem and 99 in it." in capsys.readouterr().err


def test_missing_evidence_is_said(capsys, monkeypatch):
    monkeypatch.setattr("kopt.cli.errata.chosen", lambda words: [Near])
    assert main(["errata"]) == 1
    assert "EVIDENCE FAILS" in capsys.readouterr().out.replace("\n", " ")


def test_an_interruption_keeps_what_was_finished(capsys, monkeypatch):
    class Interrupted(Near):
        def claims(self):
            raise KeyboardInterrupt

    monkeypatch.setattr("kopt.cli.errata.chosen", lambda words: [Near, Interrupted])
    assert main(["errata"]) == 130
    caught = capsys.readouterr()
    assert "nowhere" in caught.out
    assert "1 of 2 errata not judged" in caught.err
