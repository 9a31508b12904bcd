"""What surrounds RiskRFE: k-mers, designs and the scree graph."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from rlselect.simulate import make_rational, make_sparse_linear
from rlselect.subset import MismatchFeatures, ReverseScreeDisplay, RiskRFE, Threshold


def _naive_counts(sequence, words, m):
    k = len(words[0])
    pieces = [sequence[i : i + k] for i in range(len(sequence) - k + 1)]
    return [sum(sum(a != b for a, b in zip(p, w, strict=True)) <= m for p in pieces) for w in words]


@pytest.mark.parametrize(("k", "m"), [(1, 0), (2, 0), (2, 1), (3, 1), (3, 2)])
def test_mismatch_counts_equal_the_definition(k, m):
    rng = np.random.default_rng(0)
    sequences = ["".join(rng.choice(list("ACGT"), size=length)) for length in (12, 20, 2)]
    features = MismatchFeatures(k, m, normalize=False).fit(sequences)
    words = features.get_feature_names_out()
    counts = features.transform(sequences).toarray()
    for row, sequence in zip(counts, sequences, strict=True):
        np.testing.assert_array_equal(row, _naive_counts(sequence, words, m))


def test_mismatch_normalises_and_skips_strange_letters():
    features = MismatchFeatures(2, alphabet="AC").fit(["AC"])
    values = features.transform(["ACCA", "ANNC", ""]).toarray()
    assert np.linalg.norm(values[0]) == pytest.approx(1.0)
    np.testing.assert_array_equal(values[1:], 0.0)
    letters = np.array([list("ACCA"), list("CCCC")])
    np.testing.assert_array_equal(features.transform(letters).toarray()[0], values[0])


@pytest.mark.parametrize(
    ("options", "X", "error"),
    [
        ({"k": 0}, ["AC"], ValueError),
        ({"k": 2, "m": 2}, ["AC"], ValueError),
        ({"k": 12}, ["ACGT"], ValueError),
        ({}, "ACGT", TypeError),
        ({}, [1, 2], TypeError),
        ({}, [""], ValueError),
    ],
)
def test_mismatch_refuses(options, X, error):
    with pytest.raises(error):
        MismatchFeatures(**options).fit(X)


def test_sequences_end_to_end():
    rng = np.random.default_rng(0)
    sequences = ["".join(rng.choice(list("ACGT"), size=40)) for _ in range(80)]
    labels = np.array(["GT" * 2 in s or "GTA" in s for s in sequences])
    pipeline = make_pipeline(
        MismatchFeatures(3), RiskRFE(loss="hinge", kernel="linear", regularization=0.01, step=0.3)
    )
    pipeline.fit(sequences, labels)
    names = pipeline[0].get_feature_names_out()
    assert names[np.argmin(pipeline[1].ranking_)] in ("GTA", "GTG", "TGT")
    assert pipeline.score(sequences, labels) > 0.8
    assert clone(pipeline[0]).get_params()["k"] == 3


def test_designs_are_seeded_and_checked():
    X, y, informative = make_sparse_linear(50, 6, 2, task="regression", random_state=1)
    again = make_sparse_linear(50, 6, 2, task="regression", random_state=1)
    np.testing.assert_array_equal(y, again[1])
    assert informative.tolist() == [True, True, False, False, False, False]
    assert np.abs(X).max() <= 1
    with pytest.raises(ValueError, match="task"):
        make_sparse_linear(task="ranking")
    with pytest.raises(ValueError, match="n_informative"):
        make_sparse_linear(n_features=3, n_informative=4)
    with pytest.raises(ValueError, match="pole"):
        make_rational(a2=0.5)


@pytest.mark.parametrize("rule", ["change-point", "loo-2se", Threshold(lambda size: 1.0 / size)])
def test_display(rule):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    X, y, _ = make_rational(60, n_features=8, random_state=0)
    selector = RiskRFE(stopping=rule).fit(X, y)
    display = ReverseScreeDisplay.from_estimator(selector)
    top, bottom = display.axes_
    assert display.n_removed == 8 - selector.n_features_
    np.testing.assert_allclose(top.lines[0].get_ydata(), selector.objective_path_["objective"])
    assert bottom.get_xlabel() == "features removed"
    assert len(top.lines) == (5 if isinstance(rule, Threshold) else 4)
    plt.close(display.figure_)
