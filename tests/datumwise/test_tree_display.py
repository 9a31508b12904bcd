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
        ["age?\n100%", "<= 2", "no\n60%", "2 to 5", "yes\nafter more questions,\nmostly\n39%"]
    )
    assert len(shown.ax_.lines) == 2
    assert len(QuestionTreeDisplay(root).plot().ax_.lines) == 3
    many = ", ".join(f"level {k}" for k in range(20))
    listed = QuestionNode(1.0, question="town", branches=[(many, leaves[0]), ("other", leaves[1])])
    tall = QuestionTreeDisplay(listed).plot()
    label = next(text.get_text() for text in tall.ax_.texts if text.get_text().startswith("level 0"))
    assert len(label.splitlines()) == 3
    assert max(map(len, label.splitlines())) <= 15
    assert label.endswith("…")


def test_question_tree_of_a_fitted_classifier(iris, fitted):
    X_test = iris[1]
    shown = QuestionTreeDisplay.from_estimator(fitted, X_test, max_depth=2, min_share=0.0)
    first = {order[0] for order in fitted.acquisition_order(X_test)}
    assert {shown.root.question} == first
    assert str(shown.root) == str(fitted.question_tree(X_test, max_depth=2))


def test_without_rows_the_first_questions_of_the_training_rows(iris, fitted):
    X = iris[0]
    for depth in range(4):
        assert str(fitted.question_tree(max_depth=depth)) == str(fitted.question_tree(X, max_depth=depth))
    assert QuestionTreeDisplay.from_estimator(fitted).root.question == fitted.question_tree().question
    with pytest.raises(ValueError, match="give X for more"):
        fitted.question_tree(max_depth=4)
    with pytest.raises(ValueError, match=r"after fit.*give X"):
        fitted.at(feature_cost=0.5).question_tree()
