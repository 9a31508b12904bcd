"""Cases that need different columns."""

import numpy as np
import pytest

from rlselect.simulate import make_routes


def test_the_first_column_chooses_the_one_that_counts():
    made = make_routes(3000, 9, n_routes=3, random_state=1)
    assert set(np.unique(made.X[:, 0])) == {0.0, 1.0, 2.0}
    assert made.support.tolist() == [True] * 4 + [False] * 5
    for route in range(3):
        rows = made.X[:, 0] == route
        np.testing.assert_array_equal(made.y[rows], made.X[rows, 1 + route] > 0)
        # the others say nothing
        others = [j for j in range(1, 9) if j != 1 + route]
        means = made.X[np.ix_(rows & (made.y == 1), others)].mean(axis=0)
        assert np.abs(means).max() < 4 / np.sqrt((rows & (made.y == 1)).sum())


def test_the_same_seed_gives_the_same_data():
    one, two, other = (make_routes(20, 6, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.X, two.X)
    assert not np.array_equal(one.X, other.X)


@pytest.mark.parametrize("options", [{"p": 4}, {"n_routes": 0}, {"n": 0}, {"n_routes": 2.5}])
def test_what_cannot_be_is_refused(options):
    with pytest.raises(ValueError, match="was given"):
        make_routes(**{"n": 30, "p": 10, **options})
