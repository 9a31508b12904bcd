"""Reports say what the methods of the classifier say, as text, page and values; so does the command line."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PolicyIteration
from rlselect.report import to_json, to_notebook

FAST = PolicyIteration(n_iter=3, n_restarts=1, states_per_row=8)


def make_frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "town": rng.choice(["Bonn", "Oslo", "Rome"], n),
            "scan": rng.normal(size=n),
            "n<1>": rng.normal(size=n),
        }
    )
    frame["ill"] = np.where(frame["scan"] + (frame["town"] == "Rome") > 0.5, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def fitted():
    frame = make_frame()
    costs = {"scan": 0.1}
    return frame, DatumwiseClassifier(costs=costs, search=FAST, random_state=0).fit(frame[:120], "ill")


def section(report, title):
    return next(s for s in report["sections"] if s["title"] == title)


def test_report_repeats_what_the_methods_say(fitted):
    frame, model = fitted
    test = frame[120:]
    report = model.report(X=test, y="ill").dict
    bought, cost = model.acquire(test), model.cost(test)
    right = model.predict(test) == test["ill"].to_numpy()
    facts = report["facts"]
    assert facts["Accuracy"] == pytest.approx(right.mean())
    assert facts["Bought per case"] == pytest.approx(bought.sum(axis=1).mean())
    assert facts["Spent per case"] == pytest.approx(cost.mean())
    assert facts["Cost per case, errors included"] == pytest.approx((cost + ~right).mean())
    use = {row[0]: row[1:] for row in section(report, "What is bought")["rows"]}
    for j, name in enumerate(model.units_):
        share = bought[:, j].mean()
        assert (name in use) == (share > 0)
        if share:
            orders = model.acquisition_order(test)
            first = np.mean([order[:1] == [name] for order in orders])
            place = np.mean([order.index(name) + 1 for order in orders if name in order])
            price = 0.1 if name == "scan" else 0.01
            assert use[name] == [price, f"{share:.1%}", f"{first:.1%}", f"{place:.1f}"]
    numbers = section(report, "How many features a case needs")
    counts = bought.sum(axis=1)
    assert [row[0] for row in numbers["rows"]] == sorted(set(counts))
    assert sum(share for _, share in numbers["bars"]) == pytest.approx(1)
    for number, share, _, accuracy in numbers["rows"]:
        assert share == f"{(counts == number).mean():.1%}"
        assert accuracy == f"{right[counts == number].mean():.1%}"
    classes = {row[0]: row[2] for row in section(report, "Classes")["rows"]}
    for label in ("no", "yes"):
        assert classes[label] == f"{right[test['ill'] == label].mean():.1%}"
    assert section(report, "First questions")["text"] == str(model.question_tree(test))
    assert report["path"]["score"] == model.path_["value"].tolist()


def test_report_weighs_cases(fitted):
    frame, model = fitted
    test = frame[120:150]
    weights = np.arange(30) % 3
    weighted = model.report(X=test, y="ill", sample_weight=weights).dict
    copied = model.report(X=test.loc[test.index.repeat(weights)], y="ill").dict
    assert weighted["facts"]["Accuracy"] == pytest.approx(copied["facts"]["Accuracy"])
    assert weighted["facts"]["Spent per case"] == pytest.approx(copied["facts"]["Spent per case"])
    for title in ("What is bought", "How many features a case needs", "Classes"):
        tables = [{row[0]: row[1:] for row in section(r, title)["rows"]} for r in (weighted, copied)]
        assert set(tables[0]) == set(tables[1])
        for name, cells in tables[0].items():
            for ours, theirs in zip(cells, tables[1][name], strict=True):
                assert ours == (theirs if isinstance(theirs, str) else pytest.approx(theirs))
    few = np.zeros(30)
    few[0] = 1.0
    assert len(section(model.report(X=test, y="ill", sample_weight=few).dict, "Classes")["rows"]) == 1


def test_report_without_labels_and_without_cases(fitted):
    frame, model = fitted
    features = frame.drop(columns="ill")
    report = model.report(X=features).dict
    assert "Accuracy" not in report["facts"]
    assert all(s["title"] != "Classes" for s in report["sections"])
    alone = model.report().dict
    shares = [share for _, share in section(alone, "What is bought")["bars"]]
    assert shares == sorted(model.unit_inclusion_[model.unit_inclusion_ > 0], reverse=True)
    with pytest.raises(ValueError, match="y was given without X"):
        model.report(y=frame["ill"])
    with pytest.raises(
        ValueError, match="y holds 'maybe', which fit has not seen; the classes are 'no', 'yes'"
    ):
        model.report(X=frame.assign(ill="maybe"), y="ill")
    with pytest.raises(ValueError, match="200 rows"):
        model.report(X=features, y=frame["ill"][:5])


def test_report_as_text_page_and_json(fitted):
    frame, model = fitted
    summary = model.report(X=frame[120:], y="ill")
    text = str(summary)
    assert "## What is bought" in text
    assert "| Features bought" in text
    page = summary._repr_html_()
    assert page == to_notebook(summary.dict)
    bars = sum(len(part.get("bars", ())) for part in summary.dict["sections"])
    assert page.count("<svg") == bars + 2
    assert "n&lt;1&gt;" in page
    assert "n<1>" not in page
    assert "features bought per case by stage" in page
    assert not re.search(r"<script|<link|https?://(?!www\.w3\.org)", page)
    assert json.loads(to_json(summary.dict))["sections"][0]["title"] == "What is bought"


def test_reports_of_other_kinds():
    frame = make_frame()
    groups = {"cheap": ["age", "town", "n<1>"], "dear": ["scan"]}
    grouped = DatumwiseClassifier(feature_groups=groups, search=FAST, random_state=0).fit(frame, "ill")
    report = grouped.report(X=frame, y="ill").dict
    assert report["facts"]["To buy"].startswith("2 groups")
    assert section(report, "How many groups a case needs")
    nothing = DatumwiseClassifier(scoring="bins", budget=0).fit(frame, "ill").report(X=frame, y="ill")
    assert "What is bought" not in [part["title"] for part in nothing.dict["sections"]]
    assert "-> no" in str(nothing)
    screened = DatumwiseClassifier(search=PolicyIteration(n_iter=1, screen=2), random_state=0)
    assert "the 2 that tell most" in str(screened.fit(frame, "ill").report(X=frame, y="ill"))
