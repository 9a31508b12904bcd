"""Real data: columns are ranked, a Gaussian SVM learns from the first k of them, and its score is taken.

Protocol. Columns are standardised on the rows at hand; ``log`` takes log(1 + x) first, which suits the counts
and lengths of Spambase. The end learner is scikit-learn's ``SVC`` or ``SVR`` with ``gamma="auto"`` and its
other defaults, as in the ACP paper; the response of a regression is standardised too. Two scores for each
number of columns:

- ``cv``: the columns are ranked on all rows, then 5-fold cross-validation on the same rows. This is the way
  of the paper. It flatters, since the rows that score have also ranked.
- ``held-out``: ranked and fitted on 70 % of the rows (stratified by class), scored on the other 30 %.
"""

import csv
import sys
import time
import warnings
from dataclasses import astuple, dataclass, fields
from fnmatch import fnmatch

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from _tables import command_line, environment
from rlselect.datasets import load_crime, load_local

REAL_HELP = "the first 20 columns of Spambase and Madelon instead (needs RLSELECT_DATA)"
FAMILIES = {
    "spambase": "binomial",
    "communities_crime": "gaussian",
    "madelon": "binomial",
    "cnae9": "multinomial",
}
TOP = 20


@dataclass(frozen=True)
class Score:
    """The score of the first k columns of one ranking."""

    data: str
    scaling: str
    method: str
    seed: int
    rows: str
    k: int
    score: float
    cpu_seconds: float


def load(name, scaling="standard"):
    """X, y and the family; X is transformed but not yet standardised."""
    bunch = load_crime() if name == "communities_crime" else load_local(name)
    X = np.asarray(bunch.data, dtype=float)
    if scaling == "log":
        X = np.log1p(X)
    y = np.asarray(bunch.target)
    return X, (y.astype(float) if FAMILIES[name] == "gaussian" else y), FAMILIES[name]


def learner(family, *, scaled=True):
    """The end learner; its scaling is learnt on the rows that fit it."""
    head = [StandardScaler()] if scaled else []
    if family == "gaussian":
        return TransformedTargetRegressor(
            make_pipeline(*head, SVR(gamma="auto")), transformer=StandardScaler()
        )
    return make_pipeline(*head, SVC(gamma="auto"))


def cv_score(X, y, family, seed, *, scaled=True):
    """Mean accuracy or R^2 of five folds."""
    kind = KFold if family == "gaussian" else StratifiedKFold
    folds = kind(5, shuffle=True, random_state=seed)
    return float(cross_val_score(learner(family, scaled=scaled), X, y, cv=folds).mean())


def scores(data, method, seed, sizes, scaling="standard", ways=("cv", "held-out")):
    """Rank the columns and score the first k of them, in one or both ways."""
    X, y, family = load(data, scaling)
    scaled = scaling != "none"
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.3, random_state=seed, stratify=None if family == "gaussian" else y
    )
    out = []
    for way in ways:
        rows = np.arange(len(y)) if way == "cv" else train
        part = StandardScaler().fit_transform(X[rows]) if scaled else X[rows]
        start = time.process_time()
        order = np.arange(X.shape[1]) if method is None else method.rank(part, y[rows], family, seed=seed)
        seconds = time.process_time() - start
        for k in sizes:
            first = order[:k]
            if way == "cv":
                value = cv_score(X[:, first], y, family, seed, scaled=scaled)
            else:
                fitted = learner(family, scaled=scaled).fit(X[np.ix_(train, first)], y[train])
                value = fitted.score(X[np.ix_(test, first)], y[test])
            name = "all variables" if method is None else method.NAME
            out.append(Score(data, scaling, name, seed, way, len(first), float(value), seconds))
    return out


def read_scores(path):
    """Scores of a CSV file."""
    types = {f.name: f.type for f in fields(Score)}
    with path.open(newline="") as handle:
        return [Score(**{k: types[k](v) for k, v in r.items()}) for r in csv.DictReader(handle)]


class Book:
    """Scores in a CSV file that grows as they come."""

    def __init__(self, path, *, resume):
        self.path, self.scores = path, []
        names = [f.name for f in fields(Score)]
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if resume and path.exists():
            self.scores = read_scores(path)
        else:
            with path.open("w", newline="") as handle:
                csv.writer(handle).writerow(names)

    def has(self, data, scaling, method, seed):
        known = {(s.data, s.scaling, s.method, s.seed) for s in self.scores}
        return (data, scaling, method, seed) in known

    def add(self, new):
        self.scores += new
        if self.path is not None:
            with self.path.open("a", newline="") as handle:
                csv.writer(handle).writerows(
                    [f"{v:.6g}" if isinstance(v, float) else v for v in astuple(s)] for s in new
                )

    def borrow(self, path, seeds, **where):
        """Take over what another table has measured with the same data, scaling, ranking and seed."""
        others = Book(None, resume=False)
        others.scores = read_scores(path) if path.exists() else []
        found = [s for s in others.of(**where) if s.seed in seeds]
        self.add([s for s in found if not self.has(s.data, s.scaling, s.method, s.seed)])

    def of(self, **where):
        return [s for s in self.scores if all(getattr(s, k) == v for k, v in where.items())]

    def entry(self, **where):
        """Mean of the scores in percent, with their spread where there are several; a dash for none."""
        values = 100 * np.array([s.score for s in self.of(**where)])
        if not len(values):
            return "-"
        return f"{values.mean():.2f}" + (f" ± {values.std(ddof=1):.2f}" if len(values) > 1 else "")

    def seconds(self, **where):
        values = [s.cpu_seconds for s in self.of(**where)]
        return f"{np.median(values):.2f}" if values else "-"


def collect(args, book, methods, cells, report):
    """Fill the book: ``cells`` are (data, scaling, sizes); ``report`` is called after every ranking."""
    for data, scaling, sizes in cells:
        for key, method in methods.items():
            if method is not None and (FAMILIES[data] not in method.FAMILIES or not method.available()):
                continue
            name = "all variables" if method is None else method.NAME
            for seed in range(args.seed, args.seed + args.replicates):
                if book.has(data, scaling, name, seed):
                    continue
                width = load(data, scaling)[0].shape[1]
                wanted = [width] if method is None else [k for k in sizes if k <= width]
                with threadpool_limits(1), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        book.add(scores(data, method, seed, wanted, scaling))
                    except Exception as error:
                        print(f"{data} {key} {seed} failed: {type(error).__name__}: {error}", flush=True)
                        continue
                print(f"{data} {scaling} {key} {seed} done", flush=True)
                report()


def run_real(args, methods):
    """The first 20 columns of Spambase (two scalings) and of Madelon by every ranking."""
    chosen = {k: m for k, m in methods.items() if any(fnmatch(k, p) for p in args.methods.split(","))}
    chosen["all"] = None
    cells = [("spambase", "standard", [TOP]), ("spambase", "log", [TOP]), ("madelon", "standard", [TOP])]
    cells = [c for c in cells if any(fnmatch(c[0], p) for p in args.cells.split(","))]
    book = Book(args.out.with_suffix(".csv") if args.out else None, resume=args.resume)

    def report():
        if args.out:
            args.out.with_suffix(".md").write_text(real_table(args, book, cells, list(methods.values())))

    if not cells:
        sys.exit("--cells matches neither spambase nor madelon")
    collect(args, book, chosen, cells, report)
    report()
    print(real_table(args, book, cells, list(methods.values())))


def real_table(args, book, cells, methods):
    names = ["all variables", *(m.NAME for m in methods)]
    last = args.seed + args.replicates - 1
    lines = [
        f"# The first {TOP} columns of a ranking, and a Gaussian SVM",
        "",
        f"Seeds {args.seed}-{last}; mean ± standard deviation of the accuracy in percent. `cv`: ranked on "
        "all rows, 5-fold cross-validation on the same rows; `held-out`: ranked and fitted on 70 % of the "
        f"rows, scored on the rest. Goals: Madelon >= 85, Spambase >= 92 (cv). Made by "
        f"`RLSELECT_DATA=folder {command_line()}`. {environment()}",
        "",
        "| data | scaling | ranking | columns | cv | held-out | cpu s of the ranking |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for data, scaling, _ in cells:
        for name in names:
            where = {"data": data, "scaling": scaling, "method": name}
            found = book.of(**where)
            if found:
                lines.append(
                    f"| {data} | {scaling} | {name} | {found[0].k} | {book.entry(rows='cv', **where)} "
                    f"| {book.entry(rows='held-out', **where)} | {book.seconds(rows='cv', **where)} |"
                )
    return "\n".join(lines) + "\n"
