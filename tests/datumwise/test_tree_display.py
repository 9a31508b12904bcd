"""The picture of the first questions."""

import matplotlib
import pytest

from rlselect.datumwise import (
    QuestionNode,
    QuestionTreeDisplay,
)

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def test_question_tree_picture_has_a_box_for_each_node_and_a_label_for_each_branch():
    leaves = [
        QuestionNode(0.6, answer="no"),
        QuestionNode(0.39, answer="yes", cut=True, mixed=True),
        QuestionNode(0.01, answer="no"),
    ]
    labels = ["<= 2", "2 to 5", "> 5"]
    root = QuestionNode(1.0, question="age", branches=list(zip(labels, leaves, strict=True)))
    shown = QuestionTreeDisplay(root, min_share=0.05).plot()
    texts = [text.get_text() for text in shown.ax_.texts]
    assert sorted(texts) == sorted(
        ["age?\n100%", "<= 2", "no\n60%", "2 to 5", "yes\nafter more,\nmostly\n39%"]
    )
    assert len(shown.ax_.lines) == 2
    assert len(QuestionTreeDisplay(root).plot().ax_.lines) == 3
    many = ", ".join(f"level {k}" for k in range(20))
    listed = QuestionNode(1.0, question="town", branches=[(many, leaves[0]), ("other", leaves[1])])
    tall = QuestionTreeDisplay(listed).plot()
    label = next(text.get_text() for text in tall.ax_.texts if text.get_text().startswith("level 0"))
    assert len(label.splitlines()) == 4
    assert max(map(len, label.splitlines())) <= 17
    assert label.endswith("...")
    assert tall.figure_.get_figheight() > shown.figure_.get_figheight()


def test_question_tree_of_a_fitted_classifier(iris, fitted):
    X_test = iris[1]
    shown = QuestionTreeDisplay.from_estimator(fitted, X_test, max_depth=2, min_share=0.0)
    first = {order[0] for order in fitted.acquisition_order(X_test)}
    assert {shown.root.question} == first
    assert str(shown.root) == str(fitted.question_tree(X_test, max_depth=2))
    places = shown._layout()
    assert {-y for _, y in places.values()} <= {0.0, 1.0, 2.0}
    leaves = [x for x, _ in places.values()]
    assert max(leaves) - min(leaves) >= 1.0
