import numpy as np
import pytest

from rlselect import TemporalProcessRegression
from rlselect.simulate import make_adherence


def test_simulated_study_has_the_shape_of_the_trial():
    study = make_adherence(random_state=3)
    assert study.baseline["id"].nunique() == 401
    assert study.daily["day"].max() == 168
    assert study.weekly["week"].max() == 24
    assert 0.3 < study.baseline["svr"].mean() < 0.55
    again = make_adherence(random_state=3)
    assert again.weekly.equals(study.weekly)
    assert not make_adherence(random_state=4).weekly.equals(study.weekly)
    week3 = study.weekly[study.weekly["week"] == 3]
    never = week3[(week3["peginterferon"] == 0) & (week3["ribavirin"] < 1)]
    assert len(never) > 3
    assert (never["svr"] == 0).all()
    model = TemporalProcessRegression("svr ~ ribavirin * peginterferon", link="logit")
    model.fit(study.weekly, id="id", time="week")
    assert model.flags_[2].startswith("separation")
    days = make_adherence(50, 4, missing=0.0, random_state=0)
    assert len(days.daily) == 50 * 28
    assert len(days.weekly) == 200
    means = days.daily.groupby(["id", "week"])["ribavirin"].mean().to_numpy()
    np.testing.assert_allclose(means, days.weekly.sort_values(["id", "week"])["ribavirin"])
    for bad in ({"n_weeks": 3}, {"missing": 1.0}, {"n_subjects": 0}):
        with pytest.raises(ValueError, match="given"):
            make_adherence(**bad)
