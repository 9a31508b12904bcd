"""A fitted learner as plain values: which history matters, for what, and what the regime is worth."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from rlselect.regimes._contrasts import TailoringEffect
from rlselect.regimes._estimates import RegimeValue
from rlselect.regimes._overlap import OverlapReport
from rlselect.regimes._policy_tree import PolicyTree
from rlselect.report import Marked, Marks, name_some, spell, stopped_early

__all__ = ["Learnt", "answer_of", "marks_of", "report_of", "selected_from_few", "value_section"]

# subjects per history column below which values are noticeably too good
_FEW_PER_COLUMN = 25
# columns that decide, those that decisions lean on a little, and all others
_NEEDED_FOR = ("the decision", "the decision, perhaps a little", "the outcome only")
_NOTHING_DECIDES = "The data do not show that the decision needs any history column."


class Learnt(Protocol):
    """What a report says of a fitted learner; lists by stage."""

    maximize: bool
    n_stages_: int
    stage_names_: list[str]
    support_: list[Any]
    ranking_: list[Any]
    value_: RegimeValue
    observed_: RegimeValue
    selected_: list[list[str]]
    path_: list[Any]
    tailoring_: list[list[str]]
    faint_: list[list[str]]
    history_names_in_: list[Any]
    actions_: list[tuple]
    model_: list[Any]
    stop_reason_: list[str]
    regime_: PolicyTree
    overlap_: list[OverlapReport]
    tailoring_effects_: list[list[TailoringEffect]]


def report_of(
    learner: Learnt, seconds: float, n_subjects: int, notes: Sequence[str], doubts: Sequence[str] = ()
) -> dict[str, Any]:
    """Facts of a fit, tables and rules, as `rlselect.report.to_html` takes them.

    `notes` are the trial's, `doubts` what makes the value too good.
    """
    value, before = learner.value_, learner.observed_
    return {
        "title": "What to do for whom"
        + (f", at {learner.n_stages_} stages" if learner.n_stages_ > 1 else ""),
        "answer": answer_of(learner, value, before, flattered=bool(doubts)),
        "seconds": seconds,
        "facts": {
            "Subjects": n_subjects,
            "Value of the regime": str(value),
            "Value of the short rules": str(learner.regime_.value_),
            "Value of what was done": str(before),
            "Difference": str(value.less(before)),
        },
        "sections": [
            _history(learner),
            _rules(learner),
            _effects(learner),
            _overlap(learner),
            _stages(learner),
        ],
        "notes": [
            "Values are means of what a subject gains over all stages (discounted rewards). That of the "
            "regime is judged on subjects it was not learnt from (a cross-fitted doubly robust estimate). "
            "From observational data it can be trusted only if what moved both actions and rewards is among "
            "the history columns, and every action was taken often enough: see whether actions can be "
            "compared.",
            *doubts,
            *notes,
        ],
    }


def selected_from_few(learner: Learnt, n_subjects: int) -> list[str]:
    """What folds cannot mend where subjects are few: columns were selected from all of them."""
    columns = max(len(names) for names in learner.history_names_in_)
    if n_subjects >= _FEW_PER_COLUMN * columns or not any(learner.path_):
        return []
    return [
        f"{n_subjects} subjects are few for {columns} history columns, and these were selected from all of "
        "them: the value of the regime is likely to be too good, by up to a standard error. Only other "
        "subjects, or a selection that is repeated without each fold, can tell."
    ]


def marks_of(learner: Learnt) -> Marks:
    """Which history columns are selected, the best of a stage first, and how far decisions lean on them."""
    marked = {}
    for t, names in enumerate(learner.history_names_in_):
        prefix = f"{learner.stage_names_[t]}: " if learner.n_stages_ > 1 else ""
        slopes: dict[str, float] = {}
        for one in learner.tailoring_effects_[t]:
            slopes[one.column] = max(abs(one.slope), slopes.get(one.column, 0.0))
        for j in np.argsort(learner.ranking_[t]):
            name = str(names[j])
            marked[f"{prefix}{name}"] = Marked(bool(learner.support_[t][j]), slopes.get(name))
    return Marks(marked, "steepest slope of an advantage per standard deviation, where it decides")


def answer_of(learner: Learnt, value: RegimeValue, before: RegimeValue, flattered: bool = False) -> str:
    """Whether the regime is better than what was done, what it decides by, whether to trust that.

    A value that is `flattered` can tell that it is worse, not that it is better.
    """
    gain = value.less(before)
    low, high = gain.interval
    worth = "Had all been treated as recommended here, their mean outcome would be about "
    worth += f"{value.value:.3g} instead of {before.value:.3g}"
    between = f"({100 * gain.level:.4g} % interval of the difference {low:.3g} to {high:.3g})"
    poor = [one.stage for one in learner.overlap_ if one.poor or one.contradicted]
    if poor:
        # no interval knows of actions that were never tried
        stages = f"stage{'s' if len(poor) > 1 else ''} {name_some(poor)}"
        parts = [
            f"Actions can hardly be compared at {stages}, so that what follows is a guess of the model.",
            f"{worth} {between}.",
        ]
    elif low <= 0.0 <= high:
        parts = [f"{worth}, but the data do not tell whether that is a difference {between}."]
    elif flattered and (low > 0.0) == learner.maximize:
        parts = [
            f"{worth} {between}, but few subjects both selected the columns and judged them, which flatters "
            "it: only others can tell whether it is better."
        ]
    else:
        parts = [f"{worth}, which is {'better' if (low > 0.0) == learner.maximize else 'worse'} {between}."]
    by, on = _named("by", learner.tailoring_), _named("on", learner.faint_)
    parts.append(f"It is decided {name_some(by)}." if by else _NOTHING_DECIDES)
    if on:
        also = "also " if by else ""
        parts.append(f"The full regime {also}leans a little {name_some(on)}, which may not matter.")
    return " ".join([*parts, *stopped_early(*learner.stop_reason_)])


def _named(how: str, columns: Sequence[Sequence[str]]) -> list[str]:
    """Columns in words, by stage where there are some."""
    return [
        f"{how} {name_some(list(map(spell, names)), 4)}" + (f" at stage {t}" if len(columns) > 1 else "")
        for t, names in enumerate(columns, start=1)
        if names
    ]


def _history(learner: Learnt) -> dict[str, Any]:
    rows = []
    for t, names in enumerate(learner.selected_):
        needs = {**dict.fromkeys(learner.tailoring_[t], 0), **dict.fromkeys(learner.faint_[t], 1)}
        for name in sorted(names, key=lambda name: needs.get(name, 2)):
            rows.append([name, t + 1, _NEEDED_FOR[needs.get(name, 2)]])
    note = "The action of a stage itself is always part of its model and not listed."
    if any(learner.faint_):
        note += (
            " Where many columns change a little what an action is worth, each is hard to see, and together "
            "they decide: the full regime leans a little on those that may matter as long as it expects to "
            "lose without them. Short rules do not."
        )
    return {
        "title": "Which history matters",
        "columns": ["History column", "Stage", "Needed for"],
        "rows": rows,
        "note": note if rows else "No history column is needed at any stage.",
    }


def _rules(learner: Learnt) -> dict[str, Any]:
    tree = learner.regime_.value_
    values = {"the regime": learner.value_, "these rules": tree, "what was done": learner.observed_}
    return {
        "title": "What to do",
        "text": "\n".join(stage.outline for stage in learner.regime_.stages),
        "intervals": [(name, one.value, *one.interval) for name, one in values.items()],
        "note": "Short rules, with a value of their own beside that of the full regime, which is what the "
        "model recommends. In brackets: the share of subjects for whom both say the same.",
    }


def _effects(learner: Learnt) -> dict[str, Any]:
    rows = [
        [
            f"stage {t + 1}",
            one.column,
            f"{one.action} against {one.reference}",
            *(round(number, 4) for number in (one.slope, *one.interval)),
        ]
        for t, effects in enumerate(learner.tailoring_effects_)
        for one in effects
    ]
    return {
        "title": "How the decision leans on its columns",
        "columns": ["Stage", "Column", "Advantage of", "Slope", "From", "To"],
        "rows": rows,
        "intervals": [(f"{row[1]}: {row[2]}, {row[0]}", *row[3:]) for row in rows],
        "note": "Slope of the advantage on each column alone, per standard deviation. Intervals hold for all "
        "history columns of the stage together, so that those of selected columns are not too narrow; rules "
        "of later stages are taken as known."
        if rows
        else "Slopes compare one labelled action with another; how the best dose moves with the columns is "
        "told by the rules above."
        if any(learner.tailoring_)
        else _NOTHING_DECIDES,
    }


def _overlap(learner: Learnt) -> dict[str, Any]:
    rows = []
    for one in learner.overlap_:
        after = max((gap for _, gap in one.balance.values()), default=0.0)
        numbers = (one.smallest, one.rare_share, one.largest_imbalance[1], after)
        rows.append([f"stage {one.stage}", *(round(number, 3) for number in numbers), one.advice])
    columns = ["Stage", "Smallest probability", "Out of reach", "Imbalance", "Weighted", "Advice"]
    note = (
        "Smallest probability of a feasible action for a subject; share of subjects for whom an "
        "action was out of reach; largest difference of means between actions in standard deviations, before "
        "and after weighting."
    )
    if len({row[-1] for row in rows}) == 1:
        # said once for all stages
        note = f"{rows[0][-1]} {note}"
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return {"title": "Whether actions can be compared", "columns": columns, "rows": rows, "note": note}


def _offered(doses: bool, actions: Sequence[Any], counts: Mapping[Any, int]) -> str:
    """What could be chosen at a stage, and how many took it; candidates of doses are many."""
    if doses:
        return f"doses from {min(actions):.4g} to {max(actions):.4g}, {len(actions)} tried"
    return ", ".join(f"{action} ({counts.get(action, 0)})" for action in actions)


def _stages(learner: Learnt) -> dict[str, Any]:
    rows = [
        [
            f"stage {t + 1}",
            _offered(learner.regime_.stages[t].frame.doses is not None, actions, learner.overlap_[t].counts),
            model if isinstance(model := learner.model_[t], str) else type(model).__name__,
            len(learner.selected_[t]),
            len(learner.history_names_in_[t]),
            learner.stop_reason_[t],
        ]
        for t, actions in enumerate(learner.actions_)
    ]
    return {
        "title": "The stages",
        "columns": ["Stage", "Actions", "Model", "Columns kept", "Of", "Stopped"],
        "rows": rows,
        "note": "In brackets: subjects who took the action.",
    }


def value_section(value: RegimeValue, observed: RegimeValue, n_subjects: int) -> dict[str, Any]:
    """What the regime is worth to other subjects than it was learnt from, beside what was done to them."""
    estimates = {"the regime": value, "what was done": observed, "difference": value.less(observed)}
    return {
        "title": "Value on the subjects given",
        "columns": ["Value of", "Estimate", "Standard error", "From", "To"],
        "rows": [
            [name, *(round(number, 4) for number in (one.value, one.standard_error, *one.interval))]
            for name, one in estimates.items()
        ],
        "intervals": [(name, one.value, *one.interval) for name, one in estimates.items()],
        "note": f"{n_subjects} subjects, {100 * value.level:.4g} % intervals; that of the regime, as "
        "it was learnt before, is a cross-fitted doubly robust estimate.",
    }
