"""The program of the exported page plays as a session does; it is run by Node where that is installed."""

import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from rlselect import DatumwiseClassifier
from rlselect.datumwise import DatumwiseRegressor, NetworkTraining, PolicyIteration

NODE = shutil.which("node")

PLAY = """
const model = JSON.parse(require("fs").readFileSync(process.argv[2])), cases = JSON.parse(process.argv[3]);
const engine = Engine(model);
console.log(JSON.stringify(cases.map((values) => {
  let state = engine.start(), step, order = [], why = [];
  while ((step = engine.next(state)).unit >= 0) {
    why.push([step.why.now, step.why.after, step.why.price]);
    const own = model.units[step.unit].features.map((j) => values[j] === null ? NaN : values[j]);
    if (!own.every(Number.isNaN)) order.push(model.units[step.unit].name);
    state = engine.tell(state, step.unit, own);
  }
  return [order, model.classes[step.answer], step.shares, state.spent, why, step.decided];
})));
"""


# as much of a browser as the page needs: a tree of elements, to fill in and to submit; every case begins anew
BROWSER = """
const cases = JSON.parse(process.argv[3]), told = [];
for (const values of cases) {
class Element {
  constructor(tag) { this.tag = tag; this.children = []; this.style = {}; this.value = ""; this.text = ""; }
  get textContent() { return this.text + this.children.map((child) => child.textContent).join("\\n"); }
  set textContent(text) { this.text = text; this.children = []; }
  appendChild(child) { this.children.push(child); return child; }
  focus() {}
  all(tag) {
    const below = this.children.flatMap((child) => child.all(tag));
    return this.tag === tag ? [this, ...below] : below;
  }
}
const parts = { policy: new Element("script") };
parts.policy.textContent = require("fs").readFileSync(process.argv[2], "utf8");
const document = {
  getElementById: (id) => parts[id] || (parts[id] = new Element(id)),
  createElement: (tag) => new Element(tag),
};
"""
ANSWER = """
const log = [];
for (let k = 0; k < 50 && parts.main.all("form").length; k++) {
  const [form] = parts.main.all("form"), names = [];
  for (const label of form.all("label")) {
    const field = [...form.all("input"), ...form.all("select")].find((own) => own.id === label.htmlFor);
    names.push(label.textContent.slice(0, -1));
    field.value = String(values[names.at(-1)] ?? "");
  }
  log.push([names, form.all("p").at(-1).textContent]);
  const known = names.some((name) => values[name] !== null);
  if (known) form.onsubmit({ preventDefault() {} }); else form.all("button").at(-1).onclick();
}
told.push([log, parts.main.all("h2")[0].textContent, parts.spent.textContent]);
}
console.log(JSON.stringify(told));
"""


def make_frame(n=150, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=["a", "b", "c", "d</script>"])
    frame["kind"] = rng.choice(["red", "green", "blue"], size=n)
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    y = np.where((frame["kind"] == "green") | (frame["a"] + frame["b"] > 0), "yes", "no")
    return frame, y


MODELS = {
    "bins": {"search": PolicyIteration(n_iter=3, n_restarts=1, states_per_row=8)},
    "network": {"search": NetworkTraining(steps=240, n_members=2, hidden=16, batch=32), "scoring": "network"},
    "groups": {
        "search": PolicyIteration(n_iter=3, n_restarts=1, states_per_row=8),
        "feature_groups": {"pair": ["a", "c"]},
        "prerequisites": {"b": ["kind"]},
        "cost_budget": 0.03,
    },
    "overlap": {
        "search": PolicyIteration(n_iter=3, n_restarts=1, states_per_row=8),
        "feature_groups": {"one": ["a", "c"], "two": ["a", "b"], "three": ["b", "c"]},
        "feature_cost": 0.001,
    },
    "relations": {
        "search": NetworkTraining(steps=80, n_members=2, hidden=16, batch=32),
        "scoring": "network",
        "related": np.eye(5, k=1) + np.eye(5, k=-1) > 0,
        "unrelated_cost": 0.02,
        "budget": 2,
        "error_costs": [[0.0, 3.0], [1.0, 0.0]],
    },
}


def reasons(model, frame):
    """What a session says about each question: expected cost now and after, and the price."""
    out = []
    for row in frame.to_dict("records"):
        session, own = model.start(), []
        while session.next() is not None:
            why = session.explain()
            own.append([why.now, why.after, why.price])
            session.tell({name: row[name] for name, _ in session.fields()})
        out.append(np.array(own).reshape(-1, 3))
    return out


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
@pytest.mark.parametrize("name", [*MODELS, "table", "promise", "numbers"])
def test_the_page_plays_as_a_session_does(name, tmp_path):
    if name == "table":
        X = np.random.default_rng(0).integers(0, 2, size=(200, 3))
        frame, y = pd.DataFrame(X, columns=list("abc")), np.where(X[:, 0] == 1, X[:, 1], X[:, 2])
        model = DatumwiseClassifier(random_state=0).fit(frame, y)
    elif name == "numbers":
        frame, y = make_frame()
        model = DatumwiseRegressor(scoring="bins", search=MODELS["bins"]["search"], random_state=0)
        model.fit(frame, 3.0 * (y == "yes") + frame["b"])
    elif name == "promise":
        frame, y = make_frame(400)
        model = DatumwiseClassifier(random_state=0, **MODELS["bins"]).fit(frame[:200], y[:200])
        model = model.with_max_error(0.15, frame[200:], y[200:])
        assert 0 < model.decided(frame[:25]).mean() < 1
    else:
        frame, y = make_frame()
        model = DatumwiseClassifier(random_state=0, **MODELS[name]).fit(frame, y)
    model.export(tmp_path / "page.html", title="Red & green?")
    model.export(tmp_path / "model.json")
    page = (tmp_path / "page.html").read_text()
    assert "<h1>Red &amp; green?</h1>" in page
    assert "http" not in page
    parts = re.findall(r"<script[^>]*>(.*?)</script>", page, flags=re.DOTALL)
    assert len(parts) == 2
    assert json.loads(parts[0]) == json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "play.js").write_text(parts[1] + PLAY)
    names = [feature["name"] for feature in json.loads(parts[0])["features"]]
    cases = []
    for row in frame[names][:25].itertuples(index=False):
        codes = [
            model._fitted.features.encode_value(list(frame).index(n), v)
            for n, v in zip(names, row, strict=True)
        ]
        cases.append([None if np.isnan(code) else code for code in codes])
    command = [NODE, tmp_path / "play.js", tmp_path / "model.json", json.dumps(cases)]
    played = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    orders, labels = model.acquisition_order(frame[:25]), model.predict(frame[:25])
    codes, episodes = model._fitted.episodes(frame[:25])
    shares, costs = model._fitted.policy.probabilities(codes, episodes.bought), episodes.cost
    for got, order, label, share, cost, why in zip(
        played, orders, labels, shares, costs, reasons(model, frame[:25]), strict=True
    ):
        np.testing.assert_allclose(np.array(got[4]).reshape(-1, 3), why, atol=1e-4)
        assert got[0] == order
        if name == "numbers":
            assert got[2] @ model.answers_ == pytest.approx(label, abs=1e-3)
        else:
            assert got[1] == str(label)
        np.testing.assert_allclose(got[2], share, atol=1e-4)
        assert got[3] == pytest.approx(cost)
    if name != "numbers":
        assert [got[5] for got in played] == model.decided(frame[:25]).tolist()
    assert len({tuple(order) for order in orders}) > 1


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
@pytest.mark.parametrize("name", ["bins", "overlap", "promise", "numbers"])
def test_the_page_asks_explains_and_answers(name, tmp_path):
    frame, y = make_frame(400)
    search = MODELS["bins"]["search"]
    if name == "numbers":
        model = DatumwiseRegressor(scoring="bins", search=search, random_state=0)
        model.fit(frame[:200], 3.0 * (y == "yes")[:200] + frame["b"][:200])
    else:
        options = MODELS["overlap" if name == "overlap" else "bins"]
        model = DatumwiseClassifier(random_state=0, **options).fit(frame[:200], y[:200])
    if name == "promise":
        model = model.with_max_error(0.15, frame[200:], y[200:], buy_more=True)
    model.export(tmp_path / "page.html")
    policy, program = re.findall(
        r"<script[^>]*>(.*?)</script>", (tmp_path / "page.html").read_text(), flags=re.DOTALL
    )
    (tmp_path / "policy.json").write_text(policy)
    (tmp_path / "page.js").write_text(BROWSER + program + ANSWER)
    texts, sessions, cases = set(), [], []
    for row in frame[:6].to_dict("records"):
        session, asked = model.start(), []
        while session.next() is not None:
            names = [field for field, _ in session.fields()]
            asked.append([names, str(session.explain()).replace("%", " %")])
            session.tell({field: row[field] for field in names})
        result = session.result()
        codes = {
            field: model._fitted.features.encode_value(j, row[field]) for j, field in enumerate(frame.columns)
        }
        given = {field: None if np.isnan(code) else code for field, code in codes.items()}
        given["kind"] = int(codes["kind"])
        sessions.append((asked, result))
        cases.append(given)
    command = [NODE, tmp_path / "page.js", tmp_path / "policy.json", json.dumps(cases)]
    shown_cases = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    for (asked, result), (log, answer, spent) in zip(sessions, shown_cases, strict=True):
        assert [names for names, _ in log] == [names for names, _ in asked]
        for (_, shown), (_, said) in zip(log, asked, strict=True):
            assert shown.lower().split(":")[0] == re.match("[a-z ]*[a-z]", said).group()
            numbers = [re.findall(r"[\d.e-]*\d", text.split("; opens")[0]) for text in (shown, said)]
            assert numbers[0] == numbers[1]
            assert ("opens the way to" in shown) == ("opens the way to" in said)
        label = f"{result.label:.4g}, give or take" if name == "numbers" else result.label
        assert answer.startswith(f"Answer: {'' if result.decided else 'undecided; most likely '}{label}")
        assert spent == f"Spent: {result.cost:.4g}"
        texts.add(answer)
    assert len(texts) > 1


def test_what_cannot_be_exported_is_refused(tmp_path):
    frame, y = make_frame(n=60)
    model = DatumwiseClassifier(scoring="linear", search=MODELS["bins"]["search"], random_state=0).fit(
        frame, y
    )
    with pytest.raises(ValueError, match="scoring='linear' cannot be exported"):
        model.export(tmp_path / "page.html")
    with pytest.raises(ValueError, match=r"must end in .html or .json"):
        model.export(tmp_path / "page.txt")
    assert not list(tmp_path.iterdir())
