"""Comparisons are only as good as their peers: each finds an easy truth and answers in the agreed form."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from rlselect.simulate import make_acp

FOLDER = str(Path(__file__).resolve().parents[2] / "benchmarks")
FUNCTION = {"gaussian": "linear", "binomial": "logistic", "multinomial": "multiclass"}
# Minutes, or estimators of ours, which have tests of their own.
OURS = {"acp", "acp-eager", "acp-linear", "acp-literal", "acp-published", "tvs-trees", "fstd", "fuse", "cfs"}
SLOW = OURS | {"fstd-short", "boruta", "lassonet"}
SELECTORS = ("lasso-aic", "lasso-bic", "lasso-cv", "relaxed-lasso", "l1-logistic", "forest", "tvs", "forward")
RANKINGS = ("lasso-bic", "lasso-cv", "l1-logistic", "l2-logistic", "forest")


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    # Other folders may have modules of the same names.
    for name in ("peers", "_tables", "_real", "_acp", "_runner"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import peers

    return peers


def test_no_peer_is_forgotten(benchmarks):
    assert set(benchmarks.ACP) - SLOW == set(SELECTORS)
    assert set(benchmarks.RANKINGS) - SLOW == set(RANKINGS)


@pytest.mark.parametrize("name", SELECTORS)
def test_selection(benchmarks, name):
    peer = benchmarks.ACP[name]
    assert peer.available()
    for family in peer.FAMILIES:
        data = make_acp(400, 20, function=FUNCTION[family], random_state=0)
        support = _quiet(peer.select, data, family)
        assert support.dtype == bool
        assert support.shape == (20,)
        assert support[:8].sum() >= 7
        assert not support.all()


@pytest.mark.parametrize("name", RANKINGS)
def test_ranking(benchmarks, name):
    peer = benchmarks.RANKINGS[name]
    for family in peer.FAMILIES:
        data = make_acp(400, 20, function=FUNCTION[family], random_state=0)
        order = _quiet(peer.rank, data, family)
        assert sorted(order) == list(range(20))
        assert np.sum(order[:8] < 8) >= 6


@pytest.mark.parametrize("name", ["boruta", "lassonet"])
def test_a_missing_package_is_no_error(benchmarks, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    assert benchmarks.ACP[name].available() is False


def test_accuracy_counts_both_errors(benchmarks):
    from _tables import Fit, spread

    truth = np.arange(10) < 4
    fit = Fit("cell", "method", 0, 5, 10, False)
    fit.score(np.array([1, 1, 1, 0, 1, 0, 0, 0, 0, 0], dtype=bool), truth)
    assert fit.accuracy == pytest.approx(0.8)
    assert spread([fit], "accuracy") == "0.800 ± 0.000"


def test_held_out_rows_never_rank(benchmarks, monkeypatch):
    """Rank on 70 of 100 rows; the score is that of the other 30."""
    import _real

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6))
    y = (X[:, 2] > 0).astype(int)
    monkeypatch.setattr(_real, "load", lambda name, scaling: (X, y, "binomial"))
    seen = []

    class Peer:
        NAME = "peer"

        @staticmethod
        def rank(part, labels, family, *, seed):
            seen.append(len(part))
            return np.array([2, 0, 1, 3, 4, 5])

    found = _real.scores("any", Peer, 0, [1, 6])
    assert seen == [100, 70]
    assert [(s.rows, s.k) for s in found] == [("cv", 1), ("cv", 6), ("held-out", 1), ("held-out", 6)]
    assert found[0].score > 0.9
    assert found[2].score > 0.9


def test_a_table_borrows_what_another_has_measured(benchmarks, tmp_path):
    from _real import Book, Score

    figure = Book(tmp_path / "figure.csv", resume=False)
    ways = [("cv", 0.9), ("held-out", 0.8)]
    for seed in (1, 2, 3):
        figure.add([Score("d", "log", "m", seed, way, k, v, 1.5) for way, v in ways for k in (10, 20)])
    book = Book(tmp_path / "table.csv", resume=False)
    book.add([Score("d", "log", "m", 1, way, 20, 0.5, 1.0) for way, _ in ways])
    book.borrow(tmp_path / "figure.csv", range(1, 3), data="d", scaling="log", method="m", k=20)
    book.borrow(tmp_path / "nowhere.csv", range(9), data="d")
    # its own seed stays, both ways of the other one come, the third was not asked for
    expected = [(1, 0.5), (1, 0.5), (2, 0.9), (2, 0.8)]
    assert [(s.seed, s.score) for s in book.scores] == expected
    assert Book(tmp_path / "table.csv", resume=True).scores == book.scores


def _quiet(call, data, family):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(data.X, data.y, family, seed=0)
