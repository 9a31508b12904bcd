"""The exported page in a real browser: asked by the keyboard, it answers as Python does."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rlselect import DatumwiseClassifier
from rlselect.datumwise import DatumwiseRegressor, PolicyIteration

AUDIT = (Path(__file__).parents[1] / "audit.js").read_text()
SEARCH = PolicyIteration(n_iter=3, n_restarts=1, states_per_row=8)
FIELDS = "[...document.querySelectorAll('label')].map((label) => label.textContent)"
SHARES = (
    "[...document.querySelectorAll('.share')].map((line) => [...line.children].map((e) => e.textContent))"
)


def make_frame(n=160, seed=0):
    rng = np.random.default_rng(seed)
    names = [
        "a",
        "b <img src=x onerror=window.broken=1>",
        "c\u202e",
        "d</script><script>window.broken=1</script>",
    ]
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=names)
    frame["kind"] = rng.choice(["red", "green", "<b>blue</b>"], size=n)
    frame.loc[rng.random(n) < 0.15, "a"] = np.nan
    signal = 2.0 * (frame["kind"] == "green") + frame["a"].fillna(0) + frame.iloc[:, 1]
    return frame, signal


def shown(name):
    return name.replace("\u202e", "\\u202e")


def fill(browser, value):
    """Answer the field in focus by the keyboard; None where nothing is known."""
    if value is None:
        browser.run("[...document.querySelectorAll('form button')].at(-1).focus()")
        browser.press("Enter")
        return
    if browser.run("document.activeElement.tagName") == "SELECT":
        texts = browser.run("[...document.activeElement.options].map((option) => option.textContent)")
        browser.run(f"document.activeElement.selectedIndex = {texts.index(value)}")
    else:
        browser.call("Input.insertText", text=repr(value))


def play(browser, model, row):
    """Answer all questions of the page as `row` says, beside a session in Python that is told the same."""
    session = model.start()
    while session.next() is not None:
        names = [name for name, _ in session.fields()]
        assert browser.run(FIELDS) == [shown(f"{name}?") for name in names]
        values = {name: None if pd.isna(row[name]) else row[name] for name in names}
        assert browser.run("document.activeElement.id").startswith("f")
        assert browser.run(AUDIT) == []
        if all(value is None for value in values.values()):
            fill(browser, None)
        else:
            for k, value in enumerate(values.values()):
                browser.run(f"document.querySelectorAll('form input, form select')[{k}].focus()")
                fill(browser, value)
            if browser.run("document.activeElement.tagName") == "SELECT":
                browser.run("document.querySelector('form [type=submit]').focus()")
            browser.press("Enter")
        session.tell(values)
    assert browser.run("document.querySelectorAll('form').length") == 0
    return session.result()


@pytest.fixture(scope="module")
def classes():
    frame, signal = make_frame()
    labels = np.where(signal > 1, "<u>yes</u>", "no")
    return DatumwiseClassifier(scoring="bins", search=SEARCH, random_state=0).fit(frame, labels), frame


def test_the_answer_is_that_of_python(classes, browser, tmp_path):
    model, frame = classes
    model.export(tmp_path / "page.html", title="Is it <yes>?")
    browser.open(tmp_path / "page.html", width=400)
    rows, shares = frame[:5], model.predict_proba(frame[:5])
    answers = set()
    for row, share, label in zip(rows.to_dict("records"), shares, model.predict(rows), strict=True):
        result = play(browser, model, row)
        assert browser.run("document.querySelector('h2').textContent") == f"Answer: {label}"
        percent = {
            str(c): f"{np.floor(100 * p + 0.5):.0f} %" for c, p in zip(model.classes_, share, strict=True)
        }
        assert dict(browser.run(SHARES)) == percent
        bars = browser.run("[...document.querySelectorAll('.bar')].map((bar) => parseFloat(bar.style.width))")
        np.testing.assert_allclose(bars, np.maximum(100 * np.sort(share)[::-1], 0.5), atol=0.01)
        assert browser.run("document.getElementById('spent').textContent") == f"Spent: {result.cost:.4g}"
        known = browser.run("[...document.querySelectorAll('#known th')].map((head) => head.textContent)")
        assert set(known) == {shown(name) for name in result.acquired}
        assert browser.run(AUDIT) == []
        answers.add((label, result.cost))
        browser.run("document.getElementById('again').click()")
    assert len(answers) > 1
    assert browser.run("window.broken") is None
    assert browser.run("document.querySelectorAll('main img, b, u').length") == 0
    asked = [
        e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"
    ]
    assert len(asked) == 1
    assert not [e for e in browser.events if e["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]


def test_numbers_are_answered_give_or_take(browser, tmp_path):
    frame, signal = make_frame()
    model = DatumwiseRegressor(scoring="bins", search=SEARCH, random_state=0).fit(frame, signal)
    model.export(tmp_path / "page.html")
    browser.open(tmp_path / "page.html", dark=True)
    for row, value in zip(frame[:2].to_dict("records"), model.predict(frame[:2]), strict=True):
        play(browser, model, row)
        answer = browser.run("document.querySelector('h2').textContent").removeprefix("Answer: ")
        assert float(answer.split(",")[0]) == pytest.approx(value, abs=2e-3 * max(1, abs(value)))
        assert "give or take" in answer
        browser.run("document.getElementById('again').click()")


def test_what_is_no_answer_is_told_and_can_be_taken_back(classes, browser, tmp_path):
    model, _ = classes
    model.export(tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    first = browser.run(FIELDS)
    is_choice = browser.run("document.activeElement.tagName") == "SELECT"
    browser.run("document.querySelector('form [type=submit]').click()")
    assert browser.run("document.querySelector('[role=alert]').textContent").startswith("Give an answer")
    assert browser.run("document.activeElement.getAttribute('aria-invalid')") == "true"
    assert browser.run(AUDIT) == []
    if not is_choice:
        fill(browser, 1.5)
        browser.call("Input.insertText", text="x")
        browser.press("Enter")
        assert browser.run("document.querySelector('[role=alert]').textContent").endswith("1.5x")
    assert browser.run(FIELDS) == first
    assert browser.run("document.getElementById('back').disabled")
    fill(browser, None)
    assert browser.run(FIELDS) != first
    browser.run("document.getElementById('back').click()")
    assert browser.run(FIELDS) == first


def test_without_scripts_the_page_says_what_it_needs(classes, browser, tmp_path):
    model, _ = classes
    model.export(tmp_path / "page.html")
    browser.open(tmp_path / "page.html", script=False)
    assert "allow it to run" in browser.run("document.querySelector('main').innerText")
