import numpy as np
import pytest

from rlselect import QLearning
from rlselect.regimes import StageRFE


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (
            {"algorithm": "best"},
            "algorithm='best' was given; it must be 'rfe', 'rfe-test', 'rfe-vpred' or 'rfe-vstage'",
        ),
        ({"safeguard": 1.0}, "safeguard=1.0 was given; it must be a share"),
        ({"bandwidths": [1.0, -1.0]}, "bandwidths=.* was given; it must be a list of positive numbers"),
        ({"bandwidths": "wide"}, "bandwidths='wide'"),
        ({"bandwidths": ()}, "list of positive"),
        ({"degree": 4}, "degree=4 was given; it must be 1, 2 or 3"),
        ({"algorithm": "rfe-test", "train_share": 0.0}, "train_share=0.0"),
        ({"train_share": 0.7}, "train_share=0.7 has no effect with algorithm='rfe'"),
        ({"algorithm": "rfe-vpred", "degree": 1}, "degree=1 has no effect with algorithm='rfe-vpred'"),
    ],
)
def test_what_is_refused(bad, sentence, trial):
    with pytest.raises(ValueError, match=sentence):
        QLearning(selection=StageRFE(**bad)).fit(trial)


def test_arrays_are_lists():
    StageRFE(bandwidths=np.array([0.5, 2.0])).check()
