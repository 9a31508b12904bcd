"""Pages in a real browser: nothing fails, nothing is fetched, and everybody can read them."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import Lasso

from rlselect.report import Summary, to_html, to_notebook

AUDIT = (Path(__file__).parents[1] / "audit.js").read_text()
HOSTILE = [
    "<img src=x onerror=window.broken=1>",
    "</title></style><script>window.broken=1</script>",
    '" onmouseover="window.broken=1',
    "turned \u202e round \u2066",
    "a_name_without_a_single_space_that_goes_on_and_on_and_on_and_on_and_on_until_it_ends",
    "&lt;b&gt; {{7*7}} `x` \x1b[31m",
]


def make_table(n=120, p=6, seed=0, names=None):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, p)), columns=names or [f"v{k}" for k in range(p)])
    return frame, frame.iloc[:, 0] - 2 * frame.iloc[:, 1] + 0.5 * rng.standard_normal(n)


def revs():
    from rlselect import REVS

    frame, y = make_table(200, names=HOSTILE)
    frame["kind"] = np.random.default_rng(1).choice(["low", "middle <i>", "high"], 200)
    frame["like the first"] = frame.iloc[:, 0] + 0.01 * frame.iloc[:, 3]
    return REVS(random_state=0).fit(frame, y + 2 * (frame["kind"] == "high")).summary()


def acp():
    from rlselect import ActorCriticPredictor

    return ActorCriticPredictor(predictor="linear", max_iter=3, random_state=0).fit(*make_table()).summary()


def risk_rfe():
    from rlselect import RiskRFE

    return RiskRFE(kernel="linear", random_state=0).fit(*make_table(60, 24)).summary()


def rival(name, **options):
    import rlselect

    return lambda: getattr(rlselect, name)(**options).fit(*make_table(80)).summary()


def mismatches():
    from rlselect import MismatchFeatures

    return MismatchFeatures(k=2, m=1).fit(["acgtacgtta", "ttgacagt"]).summary()


@cache
def classifier():
    from rlselect import DatumwiseClassifier
    from rlselect.datumwise import PolicyIteration

    frame, y = make_table(160, names=HOSTILE)
    frame["kind"] = np.random.default_rng(1).choice(["red", "<b>green</b>", "blue"], 160)
    labels = np.where((frame["kind"] == "blue") | (y > 0), "<u>yes</u>", "no")
    search = PolicyIteration(n_iter=3, n_restarts=1, states_per_row=8)
    return (
        DatumwiseClassifier(scoring="bins", search=search, random_state=0).fit(frame, labels),
        frame,
        labels,
    )


def cases():
    model, frame, labels = classifier()
    return model.report(X=frame, y=labels)


def regressor():
    from rlselect import DatumwiseRegressor
    from rlselect.datumwise import PolicyIteration

    search = PolicyIteration(n_iter=2, n_restarts=1, states_per_row=8)
    return DatumwiseRegressor(scoring="bins", search=search, random_state=0).fit(*make_table()).summary()


def regime():
    from rlselect import QLearning, TrialData
    from rlselect.simulate import make_regime_trial

    simulated = make_regime_trial("I", 80, 5, random_state=1)
    trial = TrialData.from_wide(simulated.columns, simulated.stages)
    return QLearning(model="linear", random_state=0).fit(trial).summary()


def temporal():
    from rlselect import TemporalProcessRegression
    from rlselect.datasets import load_simulated_visits

    model = TemporalProcessRegression("score ~ arm + age")
    return model.fit(load_simulated_visits().path, id="patient", time="visit").report(n_draws=100)


def look():
    from rlselect import check

    frame, y = make_table(names=HOSTILE)
    frame["when"] = pd.date_range("2020-01-01", periods=len(frame)).astype(str)
    frame["row"], frame["fixed"] = np.arange(len(frame)), 1
    frame.iloc[3, 1] = np.nan
    for k in range(20):
        frame[f"further {k}"] = frame.iloc[:, 0] ** 2 + k * frame.iloc[:, 2]
    return check(frame, y)


def comparison():
    from rlselect.cli._compare import run_comparison

    frame, y = make_table(60)
    table = pa.Table.from_pandas(frame.assign(y=y))
    options = {"folds": 2, "task": "auto", "missing": "error", "time_budget": None, "random_state": 0}
    report = run_comparison(table, "y", ["cfs", "thompson"], truth=["v0", "v1"], **options)
    return Summary({"title": "Comparison", **report})


def side_by_side():
    import rlselect
    from rlselect import REVS, CorrelationFeatureSelection

    frame, y = make_table(names=HOSTILE)
    return rlselect.report([REVS(random_state=0).fit(frame, y), CorrelationFeatureSelection().fit(frame, y)])


PAGES = {
    "side by side": side_by_side,
    "comparison": comparison,
    "REVS": revs,
    "ACP": acp,
    "RiskRFE": risk_rfe,
    "Thompson": rival("ThompsonSelector", random_state=0),
    "CFS": rival("CorrelationFeatureSelection"),
    "FSTD": rival("FSTD", n_games=50, random_state=0),
    "FUSE": rival("FUSE", n_games=50, random_state=0),
    "DivideAndConquer": rival("DivideAndConquer", estimator=Lasso(0.1), n_folds=2),
    "mismatches": mismatches,
    "datum-wise classes": cases,
    "datum-wise numbers": regressor,
    "QLearning": regime,
    "temporal": temporal,
    "check": look,
}


@cache
def summary(name):
    return PAGES[name]()


def write(folder, name):
    return summary(name).save(folder / "page.html")


def complaints(browser):
    """What the browser has to say about the page that it has loaded."""
    said = []
    for event in browser.events:
        kind, about = event["method"], event["params"]
        if kind in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            said.append(str(about))
        if kind == "Network.requestWillBeSent" and about["type"] != "Document":
            said.append(f"a request for {about['request']['url']}")
    return said


def nameless(browser):
    """What those who listen to the page would hear no name of."""
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    needs = {
        "image",
        "button",
        "checkbox",
        "link",
        "table",
        "textbox",
        "combobox",
        "columnheader",
        "rowheader",
    }
    return [
        node
        for node in nodes
        if not node["ignored"]
        and node["role"]["value"] in needs - {"table"}
        and not node.get("name", {}).get("value", "").strip()
    ]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_can_be_read_by_everybody(name, browser, tmp_path):
    browser.open(write(tmp_path, name))
    for width, dark in ((1200, False), (1200, True), (400, False), (400, True)):
        browser.look(width=width, dark=dark)
        assert browser.run(AUDIT) == [], (width, dark)
    assert complaints(browser) == []
    assert nameless(browser) == []
    text = browser.run("document.querySelector('main').innerText")
    # the answer opens the page, and how to get it again closes it
    assert text.index(summary(name).dict["answer"][:20].replace("\x1b", "\\x1b")) < 200
    for part in (
        "How it was made",
        "Versions",
        *([] if name in ("check", "comparison") else ["to be cited"]),
    ):
        assert part in text
    # on paper, text is black on white and nothing is cut off
    browser.look(width=720, dark=True, print_=True)
    assert browser.run(AUDIT) == []
    widths = browser.run(
        "[...document.querySelectorAll('table, pre')].map((e) => e.getBoundingClientRect().right)"
    )
    assert max(widths, default=0) <= 720
    browser.look()
    printed = browser.pdf()
    assert printed.startswith(b"%PDF")
    assert 1 <= len(re.findall(rb"/Type /Page\b", printed)) <= 6


@pytest.mark.parametrize("name", ["REVS", "RiskRFE", "check"])
def test_tables_are_sorted_by_the_keyboard(name, browser, tmp_path):
    browser.open(write(tmp_path, name))
    heads = browser.run(
        "[...document.querySelectorAll('th button')].filter((e) => e.checkVisibility()).length"
    )
    assert heads > 2
    seen = []
    for _ in range(200):
        browser.press("Tab")
        stop = browser.run(
            "((e, s) => e === document.body ? null : [e.tagName, e.textContent, s.outlineStyle, "
            "parseFloat(s.outlineWidth)])(document.activeElement, getComputedStyle(document.activeElement))"
        )
        # after the last stop comes the page itself, or the first again
        if stop is None or stop == (seen or [None])[0]:
            break
        seen.append(stop)
        assert stop[2] == "solid", stop
        assert stop[3] >= 2, stop
    assert sum(tag == "BUTTON" for tag, *_ in seen) == heads
    assert any(tag == "SUMMARY" for tag, *_ in seen) == (name != "check")
    # every head in turn, by Enter; another Enter turns the order round
    for k in range(heads):
        browser.run(f"document.querySelectorAll('th button')[{k}].focus()")
        orders = []
        for _ in range(2):
            browser.press("Enter")
            order, cells = browser.run(_SORTED.replace("WHICH", str(k)))
            orders.append(order)
            known = [cell for cell in cells if cell not in ("", "-")]
            assert cells[: len(known)] == known  # what is missing comes last
            if not any(re.search(r"[^\w ,.%-]", cell) for cell in known):
                assert known == sorted(known, key=_natural, reverse=order == "descending")
        assert set(orders) == {"ascending", "descending"}
    assert complaints(browser) == []


# the column of one head: how it is sorted, and the text of its cells, rows that belong to others left out
_SORTED = """(() => {
  const head = document.querySelectorAll("th button")[WHICH].parentNode, table = head.closest("table");
  const k = [...head.parentNode.cells].indexOf(head), rows = [...table.tBodies[0].rows];
  const own = rows.filter((row) => !row.classList.contains("sub"));
  return [head.getAttribute("aria-sort"), own.map((row) => row.cells[k].textContent.trim())];
})()"""


def _natural(text):
    """A number, or words in which numbers count as numbers."""
    if re.fullmatch(r"-?[\d.,]+(e-?\d+)?%?", text):
        return [float(re.sub("[,%]", "", text))]
    return [(0, int(part)) if part.isdigit() else (1, part.lower()) for part in re.split(r"(\d+)", text)]


def test_rows_that_belong_together_stay_together(browser, tmp_path):
    levels = {"kind=a": 1.0, "kind=b": -1.0}
    variables = [{"name": f"v{k}", "inclusion": k / 30, "coef": 0.5, "gain": 1.0} for k in range(30)]
    variables.insert(9, {"name": "kind", "inclusion": 0.99, "coef": levels, "error": levels, "gain": 2.0})
    browser.open(Summary({"variables": variables}).save(tmp_path / "page.html"))
    shown = (
        "[...document.querySelectorAll('tbody tr')].filter((row) => row.checkVisibility())"
        ".map((row) => row.cells[0].innerText.trim())"
    )
    assert browser.run(shown)[:2] == ["v0", "v1"]
    assert len(browser.run(shown)) == 15
    browser.run("document.querySelectorAll('th button')[1].click()")
    assert browser.run(shown)[:5] == ["kind", "a", "b", "v29", "v28"]
    assert len(browser.run(shown)) == 15
    browser.run("document.querySelector('.more input').click()")
    assert len(browser.run(shown)) == 33


@pytest.mark.parametrize("name", ["REVS", "temporal"])
def test_the_mouse_is_told_values(name, browser, tmp_path):
    browser.open(write(tmp_path, name))
    # the search is folded away until it is asked for
    browser.run("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    browser.run("document.querySelector('figure').scrollIntoView()")
    strip = "document.querySelectorAll('figure .at')[2]"
    x, y, width, height = browser.run(
        f"((r) => [r.x, r.y, r.width, r.height])({strip}.firstChild.getBoundingClientRect())"
    )
    opacity = f"getComputedStyle({strip}.querySelector('.tip')).opacity"
    assert browser.run(opacity) == "0"
    browser.hover(x + width / 2, y + height / 2)
    assert browser.run(opacity) == "1"
    told = browser.run(f"{strip}.querySelector('text').textContent")
    if name == "temporal":
        curve = summary(name).dict["sections"][0]["curves"][0]
        assert (
            told
            == f"{curve['x'][2]:g}: {curve['y'][2]:.4g} ({curve['lower'][2]:.4g} to {curve['upper'][2]:.4g})"
        )
    assert browser.run(AUDIT) == []
    # a row lights up under the mouse
    browser.run("document.querySelector('tbody tr').scrollIntoView({block: 'center'})")
    cell = "document.querySelector('tbody tr').cells[0]"
    before = browser.run(f"getComputedStyle({cell}).backgroundColor")
    x, y = browser.run(
        f"(() => {{ const r = {cell}.getBoundingClientRect(); return [r.x + 3, r.y + 5]; }})()"
    )
    browser.hover(x, y)
    assert browser.run(f"getComputedStyle({cell}).backgroundColor") != before


def test_without_scripts_a_page_says_the_same(browser, tmp_path):
    page = write(tmp_path, "RiskRFE")
    browser.open(page)
    text = "document.querySelector('main').innerText.replace(/\\s+/g, ' ')"
    whole = browser.run(text)
    browser.open(page, script=False)
    assert browser.run("document.querySelectorAll('button').length") == 0
    assert browser.run(text) == whole
    for width in (1200, 400):
        browser.look(width=width)
        assert browser.run(AUDIT) == []
    # long tables unfold all the same
    rows = "[...document.querySelectorAll('tbody tr')].filter((row) => row.checkVisibility()).length"
    folded = browser.run(rows)
    x, y = browser.run(
        "(() => { const e = document.querySelector('.more input'); e.scrollIntoView(); const r = "
        "e.getBoundingClientRect(); return [r.x + 5, r.y + 5]; })()"
    )
    browser.click(x, y)
    assert browser.run(rows) > folded


def test_hostile_names_stay_text(browser, tmp_path):
    section = {
        "columns": HOSTILE,
        "rows": [HOSTILE, HOSTILE],
        "bars": [(name, 0.5) for name in HOSTILE[:2]],
        "curves": [{"title": name, "x": [0, 1], "y": [1, 2], "labels": HOSTILE[:2]} for name in HOSTILE],
        "findings": [{"weight": "problem", "text": name, "mend": name} for name in HOSTILE],
    }
    report = {
        "answer": HOSTILE[0],
        "question": HOSTILE[1],
        "facts": dict(zip(HOSTILE, reversed(HOSTILE), strict=True)),
        "variables": [{"name": name, "inclusion": 0.5, "coef": {name: 1.0, "b": 2.0}} for name in HOSTILE],
        "sections": [{"title": name, **section} for name in HOSTILE[:2]]
        + [{"title": "T", "text": f"a\n  {HOSTILE[0]}"}],
        "notes": HOSTILE,
        "path": {"stage": [1, 2], "size": [1, 2], "score": [1, 2], "titles": HOSTILE[:2]},
        "made": {
            "code": HOSTILE[1],
            "settings": dict(zip(HOSTILE, HOSTILE, strict=True)),
            "works": HOSTILE,
            HOSTILE[0]: HOSTILE[1],
        },
    }
    every = [{**report, "title": name} for name in HOSTILE]
    viewport = '<meta name="viewport" content="width=device-width">'
    for page in (to_html(every), f"<!doctype html>{viewport}{to_notebook(every[1])}"):
        (tmp_path / "page.html").write_text(page)
        browser.open(tmp_path / "page.html", width=400)
        browser.run(
            "for (const e of document.querySelectorAll('*')) e.dispatchEvent(new MouseEvent('mouseover'))"
        )
        assert browser.run("window.broken") is None
        assert browser.run("document.querySelectorAll('img, b, i').length") == 0
        assert complaints(browser) == []
        text = browser.run("document.body.textContent")
        assert "\u202e" not in text
        for name in HOSTILE:
            assert (
                name.replace("\u202e", "\\u202e").replace("\u2066", "\\u2066").replace("\x1b", "\\x1b")
                in text
            )
        assert browser.run("document.scrollingElement.scrollWidth") <= 400


def test_several_reports_and_the_opening_of_the_demonstration(browser, tmp_path):
    from rlselect import demo

    reports = [{**summary(name).dict, "question": "Which one?"} for name in ("REVS", "temporal")]
    (tmp_path / "page.html").write_text(to_html([demo._opening(2), *reports]))
    browser.open(tmp_path / "page.html")
    for width, dark in ((1200, False), (400, True)):
        browser.look(width=width, dark=dark)
        assert browser.run(AUDIT) == []
    browser.run("document.querySelectorAll('nav a')[1].click()")
    assert -1 <= browser.run("document.querySelector('#part-2').getBoundingClientRect().top") < 200
    assert complaints(browser) == []


# a notebook with a style of its own, that a report must not change, in its own light or dark
NOTEBOOK = """<!doctype html><html lang="en"><title>Notebook</title><style>
body {{ background: {back}; color: {front}; font: 13px serif; margin: 20px; }}
table {{ border: 3px solid red; }}
td, th {{ text-align: right; color: {front}; }}</style><main><h1>Notebook</h1><div class="out">{report}</div>
<p id="after">After</p></main></html>"""


@pytest.mark.parametrize(("back", "front"), [("#fff", "#222"), ("#111", "#ddd")])
def test_a_report_in_a_notebook(back, front, browser, tmp_path):
    report = summary("REVS")._repr_html_()
    style = (
        "['body', '#after', 'h1'].map((e) => getComputedStyle(document.querySelector(e)))"
        ".map((s) => [s.font, s.color, s.margin, s.backgroundColor])"
    )
    looks = []
    for inside in ("", report):
        (tmp_path / "page.html").write_text(NOTEBOOK.format(back=back, front=front, report=inside))
        # what the notebook looks like is not what the system asks for
        browser.open(tmp_path / "page.html", dark=back == "#fff", width=800)
        looks.append(browser.run(style))
    assert looks[0] == looks[1]
    assert browser.run(AUDIT) == []
    assert browser.run("document.querySelectorAll('script, button').length") == 0


BAD = """<!doctype html><html><title></title><main><h1>A</h1><h3>B</h3><svg></svg><input>
<p style="color: #999">faint</p><p style="opacity: .3">fainter</p><table><tr><td>1</td></tr></table>
<div style="overflow-x: auto; width: 50px"><div style="width: 900px">wide</div></div>
<svg role="img" aria-label="x" width="50" height="20"><rect width="9" height="9" fill="#ddd"/>
<text y="12">a long text</text><text x="3" y="12">another</text><text y="9" font-size="6">tiny</text></svg>
<button style="height: 9px; padding: 0">x</button><a href="#no">y</a>
<div style="width: 3000px">z</div></main></html>"""


def test_the_audit_finds_what_is_wrong(browser, tmp_path):
    (tmp_path / "page.html").write_text(BAD)
    browser.open(tmp_path / "page.html")
    found = {line.split(":")[0].split(",")[0] for line in browser.run(AUDIT)}
    assert found == {
        "no language",
        "no title",
        "a level of headings is left out",
        "a link to nowhere",
        "a picture without a name",
        "a control or part without a name",
        "a table without heads",
        "a row without a head",
        "a row of another length",
        "the page is wider than the window",
        "a box that the keyboard cannot scroll",
        "too small to hit",
        "text too small to read",
        "text beyond its picture",
        "texts upon each other",
        "contrast 2.85",
        "contrast 2.11",
        "a mark too faint",
    }


def test_the_driver_sees_requests_errors_and_messages(browser, tmp_path):
    page = "<img src=missing.png><script>console.log(1); fetch('http://example.com'); nothing()</script>"
    (tmp_path / "page.html").write_text(page)
    browser.open(tmp_path / "page.html")
    said = " ".join(complaints(browser))
    for part in ("missing.png", "'value': 1", "nothing is not defined"):
        assert part in said
