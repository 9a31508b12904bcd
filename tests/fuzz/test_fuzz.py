"""A hundred cases of the fuzzer, the same ones every time; `make fuzz` runs thousands of others."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from modes import MODES
from trials import Trial, judge_error, run, trials

EACH = 4


@pytest.mark.parametrize("mode", sorted(MODES))
def test_no_outcome_is_bad(mode):
    @settings(
        max_examples=EACH,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(trials(mode))
    def one(trial):
        outcome = run(trial)
        assert outcome.verdict != "bad", (outcome.why, outcome.where, trial)

    one()


def test_the_judge_knows_our_errors_from_others():
    refused = run(Trial("REVS", 0, 30, 3, faults=("column: a cell of 1e150",)))
    assert refused.verdict == "refused"
    assert "1e+130" in refused.why
    assert run(Trial("REVS", 0, 50, 3)).verdict == "right"
    with pytest.raises(IndexError) as caught:
        [][1]
    assert judge_error(caught.value).verdict == "bad"
