"""
Which selector for my data?
===========================

Several selectors on the same folds: how well their choice predicts, how many variables they
take, how much the choice depends on the rows, and how long it takes.
"""

# %%
# The wines again, with the three growers as classes. ``compare`` takes anything that
# selects after ``fit``, from scikit-learn too, and judges each choice by the same learner
# on rows left out.
import warnings

from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest

from rlselect import REVS, CorrelationFeatureSelection, RiskRFE, compare
from rlselect.subset import ComparisonDisplay

warnings.filterwarnings(
    "ignore", message="separation"
)  # some choices tell the wines apart without an error
wine = load_wine(as_frame=True)
grower = wine.target.map({0: "A", 1: "B", 2: "C"})
found = compare(
    {
        "REVS": REVS(family="multinomial", random_state=0),
        "RiskRFE": RiskRFE(),
        "CFS": CorrelationFeatureSelection(),
        "five best, F test": SelectKBest(k=5),
        "forest": SelectFromModel(RandomForestClassifier(100, random_state=0)),
    },
    wine.data,
    grower,
    cv=3,
    sizes=(2, 4),
)
for row in found.rows:
    text = f"{row['selector']:18} accuracy {row['score']:.2f} with {row['selected']:.1f}"
    print(f"{text} variables, stability {row['stability']:.2f}, {row['seconds']:.2f} s")

# %%
ComparisonDisplay.from_comparison(found)

# %%
# **The answer.** On these wines everybody finds variables that do; they differ in how many
# they take and in whether other rows would give the same. A comparison on *your* rows says
# more than any benchmark, and :doc:`/other_tools` has ours.
