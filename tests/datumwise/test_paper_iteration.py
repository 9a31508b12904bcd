"""The algorithm of the paper."""

import numpy as np
import pytest

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PaperIteration


def test_paper_learns_a_linear_problem():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 6))
    y = (X[:, 2] > 0).astype(int)
    model = DatumwiseClassifier.paper(0.02, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.unit_inclusion_[2] == 1.0
    assert len(model.path_["value"]) == 10
    best = DatumwiseClassifier.paper(0.02, search=PaperIteration(keep="best"), random_state=0).fit(X, y)
    assert best.value_ == best.path_["value"].max()


def test_paper_takes_its_own_knobs_and_any_option():
    model = DatumwiseClassifier.paper(0.02, n_iter=3, keep="best", budget=2)
    assert model.search == PaperIteration(n_iter=3, keep="best")
    assert (model.scoring, model.feature_cost, model.budget, model.relation) == ("linear", 0.02, 2, "any")
    assert DatumwiseClassifier.paper(related=np.eye(3)).relation == "all"
    with pytest.raises(ValueError, match=r"search= was given beside n_iter; say all of it in search="):
        DatumwiseClassifier.paper(n_iter=3, search=PaperIteration())
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_itr'"):
        DatumwiseClassifier.paper(n_itr=3)
