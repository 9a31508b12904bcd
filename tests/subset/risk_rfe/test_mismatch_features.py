"""Counts of k-mers against their definition."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from rlselect.subset import MismatchFeatures, RiskRFE


def _naive_counts(sequence, words, m):
    k = len(words[0])
    pieces = [sequence[i : i + k] for i in range(len(sequence) - k + 1)]
    return [sum(sum(a != b for a, b in zip(p, w, strict=True)) <= m for p in pieces) for w in words]


@pytest.mark.parametrize(("k", "m"), [(1, 0), (2, 0), (2, 1), (3, 1), (3, 2)])
def test_mismatch_counts_equal_the_definition(k, m):
    rng = np.random.default_rng(0)
    sequences = ["".join(rng.choice(list("ACGT"), size=length)) for length in (12, 20, 2)]
    features = MismatchFeatures(k=k, m=m, normalize=False).fit(sequences)
    words = features.get_feature_names_out()
    counts = features.transform(sequences).toarray()
    for row, sequence in zip(counts, sequences, strict=True):
        np.testing.assert_array_equal(row, _naive_counts(sequence, words, m))


def test_words_do_not_reach_over_the_end_of_a_sequence():
    alphabet = "\0a\ud800"
    sequences = ["", "a", "a\0", "aa\ud800", "é", "\0\0a", ""]
    features = MismatchFeatures(k=2, m=1, normalize=False, alphabet=alphabet).fit(sequences)
    words = features.get_feature_names_out()
    counts = features.transform(sequences).toarray()
    np.testing.assert_array_equal(counts, [_naive_counts(sequence, words, 1) for sequence in sequences])
    assert features.transform([]).shape == (0, 9)


def test_mismatch_normalises_and_skips_strange_letters():
    features = MismatchFeatures(k=2, alphabet="AC").fit(["AC"])
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
        MismatchFeatures(k=3),
        RiskRFE(loss="hinge", kernel="linear", regularization=0.01, step=0.3, stopping="loo-2se"),
    )
    pipeline.fit(sequences, labels)
    names = pipeline[0].get_feature_names_out()
    assert names[np.argmin(pipeline[1].ranking_)] in ("GTA", "GTG", "TGT")
    assert pipeline.score(sequences, labels) > 0.8
    assert clone(pipeline[0]).get_params()["k"] == 3


def test_the_summary_says_how_many_columns():
    features = MismatchFeatures(k=2).fit(["ACA"])
    assert features.summary().dict["facts"]["Columns"] == 4
    assert "becomes 4 counts, one for each word of 2 letters" in features.summary().dict["answer"]
