"""What y may be for classes, ordered classes and times, and what is said otherwise."""

import numpy as np
import pandas as pd
import pytest

from rlselect import REVS
from rlselect.subset.revs._outcome_kind import is_survival, read_survival, survival_parts
from rlselect.subset.revs._problem import read_response

TIME, EVENT = np.array([3.0, 1.0, 3.0, 2.0]), np.array([True, False, True, True])


def structured(names):
    y = np.zeros(4, dtype=[(names[0], bool), (names[1], float)])
    y[names[0]], y[names[1]] = EVENT, TIME
    return y


@pytest.mark.parametrize(
    "y", [structured(("event", "time")), structured(("died", "days")), {"time": TIME, "event": EVENT}]
)
def test_times_come_in_several_forms(y):
    assert is_survival(y)
    parts = survival_parts(y)
    np.testing.assert_array_equal(parts["time"], TIME)
    np.testing.assert_array_equal(parts["event"], EVENT)


@pytest.mark.parametrize(
    "y",
    [
        pd.DataFrame({"time": TIME, "event": EVENT}),
        pd.DataFrame({"status": EVENT.astype(int), "days": TIME}),
        np.column_stack([TIME, EVENT]),
        np.array([(t, int(e)) for t, e in zip(TIME, EVENT, strict=True)], [("days", float), ("status", int)]),
    ],
)
def test_told_the_family_columns_are_times_and_events(y):
    parts = survival_parts(y)
    np.testing.assert_array_equal(parts["time"], TIME)
    np.testing.assert_array_equal(parts["event"], EVENT)
    assert survival_parts(["days", "died"]) == {"time": "days", "event": "died"}


def test_a_frame_of_times_and_events_needs_no_family():
    frame = pd.DataFrame({"event": EVENT, "time": TIME})
    assert is_survival(frame)
    assert is_survival(frame.assign(stratum=["a", "b", "a", "b"], event=EVENT * 1))
    # of other names, and of other values, each column is a response
    assert not is_survival(frame.rename(columns={"event": "died"}))
    assert not is_survival(frame.assign(age=TIME))
    assert not is_survival(frame.assign(event=TIME))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = pd.DataFrame({"time": rng.exponential(np.exp(-X[:, 1])), "event": np.arange(80) % 4 > 0})
    model = REVS(random_state=0).fit(X, y)
    assert model.family_ == "cox"
    assert model.score(X, y) > 0.5


def test_events_in_words_are_refused_with_the_comparison_to_make():
    with pytest.raises(TypeError, match="as in event == 'yes'"):
        read_survival(TIME, {"event": np.array(["yes", "no", "yes", "no"])}, "efron")


def test_equal_rows_share_a_record():
    kind, codes, strata = read_survival(TIME, {"event": EVENT.astype(int)}, "efron")
    assert codes[0] == codes[2] != codes[1]
    np.testing.assert_array_equal(kind.records[codes.astype(int)][:, 0], TIME)
    assert not kind.late
    assert not kind.strata
    assert len(strata) == 1
    more = {"event": EVENT, "entry": [0, 0.5, 1, 0], "stratum": np.array(list("abab"), dtype=object)}
    kind, codes, strata = read_survival(TIME, {k: np.asarray(v) for k, v in more.items()}, "breslow")
    assert kind.late
    assert kind.strata
    np.testing.assert_array_equal(strata, ["a", "b"])
    assert len(np.unique(codes)) == 4


def test_events_without_company_are_refused():
    with pytest.raises(ValueError, match="another row of its stratum at risk"):
        read_survival(TIME, {"event": EVENT, "stratum": np.arange(len(TIME))}, "efron")
    alone = {"event": np.arange(3) == 2, "entry": np.zeros(3)}
    with pytest.raises(ValueError, match="another row at risk"):
        read_survival(np.arange(1.0, 4.0), alone, "efron")


def test_an_event_at_the_start_is_at_risk():
    parts = {"event": np.ones(3, dtype=bool), "entry": np.array([0.0, 0.0, 1.0])}
    kind, codes, _ = read_survival(np.array([0.0, 2.0, 3.0]), parts, "efron")
    outcome = kind.make(codes, None, None)
    # one of two, then of two, then alone
    assert outcome.at(np.zeros(0), np.zeros((1, 3))).value == pytest.approx(-2 * np.log(2))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (TIME, "structured array with the fields 'event' and 'time'"),
        (np.column_stack([TIME, TIME]), "then zeros and ones"),
        (pd.DataFrame({"a": TIME, "b": TIME}), "y has no 'time'"),
        (pd.DataFrame({"days": TIME, "status": EVENT + 1}), r"as in y\['status'\] == 2"),
        ({"time": TIME}, "y has no 'event'"),
        ({"time": TIME, "event": EVENT, "age": TIME}, "y has a field 'age'"),
    ],
)
def test_other_forms_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        survival_parts(y)


@pytest.mark.parametrize(
    ("time", "parts", "message"),
    [
        (-TIME, {"event": EVENT}, r"time holds -3 \(row 0\); times of zero or more"),
        (TIME, {"event": np.array([0, 1, 2, 0])}, r"event holds 2 \(row 2\); truth values"),
        (TIME, {"event": EVENT + 1}, "as in event == 2, where 2 marks an event"),
        (EVENT * 1.0, {"event": TIME}, "swap them"),
        (TIME, {"event": EVENT, "entry": np.array([0, 1.0, 0, 0])}, r"entry holds 1 \(row 1\)"),
        (TIME, {"event": np.zeros(4, dtype=bool)}, "no event"),
    ],
)
def test_impossible_times_are_told(time, parts, message):
    with pytest.raises(ValueError, match=message):
        read_survival(time, parts, "efron")


def test_a_tuple_of_two_responses_is_told_from_a_time_and_its_event():
    frame = pd.DataFrame({"a": TIME, "b": TIME + 1.0, "event": EVENT, "x": [0.0, 1.0, 3.0, 2.0]})
    with pytest.raises(ValueError, match=r"two responses are a list, y=\['a', 'b'\]"):
        REVS().fit(frame, ("a", "b"))
    # two names of which one holds events are what they seem
    with pytest.raises(ValueError, match="swap them"):
        REVS().fit(frame, ("event", "a"))


def test_three_labels_are_classes():
    text = np.array(["b", "a", "c"] * 3, dtype=object)
    family, classes, codes = read_response(text, "auto")
    assert family == "multinomial"
    np.testing.assert_array_equal(classes[codes.astype(int)], text)
    # three whole numbers are numbers unless the user says otherwise
    assert read_response(np.array([0, 1, 2] * 3), "auto")[0] == "gaussian"
    assert read_response(np.array([0, 1, 2] * 3), "ordinal")[1].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("y", "family", "message"),
    [
        (np.array(["low", "high"] * 3, dtype=object), "ordinal", "whose order .* cannot know"),
        (np.array([0.5, 1.5, 0.5, 1.5]), "multinomial", "continuous values such as 0.5"),
        (np.ones(4), "ordinal", "only one class"),
        (np.arange(4), "multinomial", "4 classes in 4 rows"),
    ],
)
def test_what_is_no_class_is_refused(y, family, message):
    with pytest.raises(ValueError, match=message):
        read_response(y, family)


def rows(n=30):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 3)), np.arange(n) % 3


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({"family": "multinomial", "min_effect": 0.1}, {}, "min_effect"),
        ({"family": "ordinal", "checkpoint": "file"}, {}, "checkpoint"),
        ({"family": "ordinal", "ties": "breslow"}, {}, "ties"),
        ({"family": "multinomial"}, {"offset": np.zeros(30)}, "move all classes alike"),
        (
            {"family": "multinomial"},
            {"sample_weight": (np.arange(30) % 3 > 0) * 1.0},
            "no row with a weight above zero of class 0",
        ),
    ],
)
def test_options_without_effect_are_refused(options, given, message):
    with pytest.raises(ValueError, match=message):
        REVS(**options).fit(*rows(), **given)


def test_the_paper_knows_two_classes_only():
    with pytest.raises(ValueError, match="Sarsa"):
        REVS.paper(family="multinomial").fit(*rows())


def test_a_frame_may_hold_the_times():
    X, _ = rows(60)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["days"], frame["died"] = rng.exponential(np.exp(-1.5 * X[:, 0])), rng.random(60) < 0.8
    fit = REVS(random_state=0).fit(frame, ("days", "died"))
    y = {"time": frame["days"].to_numpy(), "event": frame["died"].to_numpy()}
    other = REVS(family="cox", random_state=0).fit(frame[["a", "b", "c"]], y)
    assert fit.family_ == "cox"
    assert fit.n_features_in_ == 3
    np.testing.assert_array_equal(fit.coef_, other.coef_)
    assert fit.score(frame, ("days", "died")) == other.score(frame[["a", "b", "c"]], y) > 0.7


def test_strata_may_be_a_column_of_new_rows():
    X, _ = rows(60)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(site=np.where(rng.random(60) < 0.5, "n", "s"))
    y = {"time": rng.exponential(size=60), "event": rng.random(60) < 0.8, "stratum": "site"}
    fit = REVS(random_state=0).fit(frame, y)
    np.testing.assert_array_equal(
        fit.predict_survival_function(frame, [0.5, 1.0], stratum="site"),
        fit.predict_survival_function(frame, [0.5, 1.0], stratum=frame["site"]),
    )


def test_the_score_compares_rows_of_a_stratum_that_are_at_risk_together():
    # the second clinic is later by far, whatever x says: beside it every x of the first one looks wrong
    x = np.tile(np.arange(20.0), 2)
    clinic = np.repeat(["near", "far"], 20)
    until = 30.0 - x + np.where(clinic == "far", 100.0, 0.0)
    until[:6] += [5.1, -5.2, 3.3, -3.4, 2.6, -2.7]
    frame = pd.DataFrame({"x": x, "clinic": clinic, "until": until, "seen": 1, "start": until - 15.0})
    y = {"time": "until", "event": "seen", "stratum": "clinic"}
    fit = REVS(always_select=["x"], random_state=0).fit(frame, y)
    each = [fit.score(part, ("until", "seen")) for _, part in frame.groupby("clinic")]
    assert fit.score(frame, y) == pytest.approx(np.mean(each))
    assert fit.score(frame, ("until", "seen")) != pytest.approx(np.mean(each), abs=0.05)
    late = y | {"entry": "start"}
    near = frame.iloc[:20]
    pairs = [
        (i, j) for i in range(20) for j in range(20) if until[i] < until[j] and until[j] - 15.0 < until[i]
    ]
    assert fit.score(near, late) == pytest.approx(np.mean([x[i] > x[j] for i, j in pairs]))
