"""REVS: reinforcement learning for variable selection."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rlselect._capabilities import EVERYTHING
from rlselect._clock import PARTS, fit_clock, warn_if_interrupted
from rlselect._compat import Progress, with_callbacks
from rlselect._estimator import rank
from rlselect._options import (
    AUTO,
    NONE,
    flag,
    instance,
    number,
    one_of,
    refuse_unused,
    whole,
)
from rlselect._parallel import one_thread
from rlselect._random import RandomState, as_generator
from rlselect.data import (
    MISSING_MODES,
    MissingMode,
    read_responses,
)
from rlselect.learn import (
    DecisionRule,
    Policy,
    PolicyName,
    RuleName,
)
from rlselect.report import GainDisplay, PathDisplay, PathWords, SelectionDisplay
from rlselect.subset.revs._coefficients import say_if_cut, set_coefficients
from rlselect.subset.revs._credible import credible_groups, name_groups
from rlselect.subset.revs._final import fitted_family
from rlselect.subset.revs._found import Found, choices_of
from rlselect.subset.revs._noise import kind_of_noise
from rlselect.subset.revs._outcome_kind import CLASSES, is_survival
from rlselect.subset.revs._problem import COUNTS, FAMILIES, Problem, heaviest_row
from rlselect.subset.revs._products import keep_products, with_products
from rlselect.subset.revs._reading import open_checkpoint, read_policy, read_problem
from rlselect.subset.revs._report import path_of, report_of
from rlselect.subset.revs._sarsa import Sarsa, paper_search
from rlselect.subset.revs._search import expected_steps, search_subset
from rlselect.subset.revs._selections import RULES, SubsetSelections
from rlselect.subset.revs._several import fit_several
from rlselect.subset.revs._split import rows_in_time, split_rows


class REVS(SubsetSelections):
    r"""Select variables of a linear, logistic or count model by a walk over subsets.

    The state is a subset s of the variables and an action adds or removes one of them. One pass prices every
    action: its reward is the change of the log evidence of the model

    .. math:: g(E[y \mid X]) = \beta_0 + X_s \beta_s, \qquad \beta_s \sim N(0, g \sigma^2 I)

    on standardised columns, minus the price of one more variable. Up to 5,000 rows, a locally informed walk
    (probabilities by the square root of the posterior odds of each action, after a warm-up with a price that
    rises) visits subsets; each visit is weighted so that the average of the conditional inclusion
    probabilities is the posterior inclusion probability of each variable. Above, one subset stands out and
    the effort is adapted instead: rows are drawn at random and doubled until every variable inside is decided
    and a look at the other rows (the residual times every column, a tenth of a Gram pass) shows nothing
    beside them, or all rows are used. Where columns nearly repeat each
    other (the subset explains nine tenths of one), further chains then go other ways, side by side over the
    same passes, and the best subset is kept.

    Cost: a step is O(p k) for a subset of k variables ("gaussian"; O(n p k) for the other families). Beyond
    2,000 variables no p x p matrix is formed: all of them are priced alone and beside the subset of a first
    climb, and the walk goes on among the best thousand. For large data the cost follows the rows read,
    and the look before a stop: all rows up to 250 million numbers in memory (100 million where rows have to
    be decoded); of more, as many rows as make at least half of that, and no less than a quarter (a tenth) of
    them, and the others only where these leave doubts. Of files with up to 512 columns a linear model reads
    these rows instead of looking at them, each once.

    Parameters
    ----------
    family : str, default="auto"
        Distribution of y: "gaussian", "binomial", "poisson", "negative_binomial", "multinomial" (several
        classes), "ordinal" (classes in the order of their numbers, or of ordered categories; proportional
        odds) or "cox" (censored times, partial likelihood). "auto" takes text, truth values and two distinct
        values as classes, "multinomial" for three or more ("ordinal" where their type has an order), times
        with events as "cox", and other numbers as "gaussian". A variable of several classes enters with a
        coefficient for each. "poisson" looks whether the counts are more spread than that (by half a unit of
        log likelihood) and takes "negative_binomial" then, see `family_` and `overdispersion_`: Poisson's
        likelihood would find a reason for every large count. A family of classes makes a classifier of it
        before `fit`, whose folds scikit-learn stratifies; "auto" cannot know before it has seen y.
    policy : {"auto", "softmax", "epsilon-greedy", "ucb", "thompson"} or object, default="auto"
        How an action is chosen from the rewards of all actions. "auto" is the softmax, which alone makes the
        visits follow the posterior (the others count each visited subset once, by its posterior weight), and
        "epsilon-greedy" with ``search=Sarsa()``.
    penalty : "auto" or float, default="auto"
        Price of one more variable in units of log evidence. "auto" lets all sizes be equally likely, which
        makes it log((m - k) / (k + 1)) for adding to k of m variables, never below log 2 (log 8 for
        "binomial" and "poisson") and log m once there is a variable for every four rows. "No variable at all"
        has twenty times the chance of any other size.
    responses : {"shared", "each"}, default="shared"
        Of a y with several columns: one selection of variables for all of them, or one for each. A variable
        of a shared selection has a coefficient for every response, and is worth it by the sum of the log
        evidences; numbers whose noise is correlated are turned before, so that repeated measures of one thing
        are no reason to be more sure. "each" is the same as a fit to each column by itself. "shared" needs
        the rows in memory.
    ties : {"efron", "breslow"}, default="efron"
        What is done with events of the same time; for "cox".
    rule : {"auto", "f1"}, FalseDiscovery, MostProbable or Cutoff, default="auto"
        How `support_` follows from `inclusion_`: "auto" takes what is more likely in than out (with `groups`
        or `time_ordered`, what has odds of three to one, a probability above .75), "f1" the set of largest
        expected F1 (never empty), ``FalseDiscovery(0.1)`` as many as keep the expected share of wrong ones
        below a tenth, ``MostProbable(10)`` so many, and ``Cutoff(0.9)`` all above a probability. `select`
        applies other rules to the same fit.
    feature_groups : dict, list of lists, or one label per feature, optional
        Features that enter and leave together. The indicators of a text or categorical column always do.
    always_select, never_select : list of names or positions, default=()
        Features that are in every subset, or in none.
    max_features : int, optional
        Largest number of features in a subset; features that enter together count as one.
    at_most : mapping, optional
        How many of some features may be in a subset: ``{("a", "b", "c"): 1}``. Where this or `max_features`
        is given, `predict` uses the selected features alone unless told otherwise.
    signs : {"+", "-"} or mapping, optional
        Sign that coefficients must not be against: of all features that are numbers, or of some,
        ``{"age": "+", "price": "-"}``. A subset whose best coefficients have a wrong sign is not selected,
        which loses nothing: the best ones with right signs are those of a smaller subset.
    order : {1, 2}, default=1
        With 2, products of two columns may be selected beside both of them, see `interactions_`. Of all
        products the hundred or so that say most are searched. For up to 1,500 columns; a source is loaded.
    missing : {"error", "drop", "indicator"}, default="error"
        What to do with missing values: refuse them, leave out their rows, or impute the mean and add an
        indicator.
    search : "auto" or Sarsa, default="auto"
        The algorithm; see `REVS.paper`. `Sarsa` has a price of its own in place of `penalty`, and takes
        none of `rule`, `min_effect` and `checkpoint`.
    time_budget : float, optional
        Seconds after which the search stops with what it has found; the average over subsets is then one of
        the heaviest. Rows that have to be read whole before it (CSV files, queries) are read whole; that time
        is not counted, and told before where it is long.
    min_effect : float, optional
        Above 5,000 rows, do not stop before a coefficient of this size would be seen, whichever column it
        belongs to (see `detectable_`); where no look can promise that, all rows are used. The size is in
        standard deviations: those of y for one of x ("gaussian"), or units of the link for one of x.
    checkpoint : str or Path, optional
        File in which the progress of a search on more than 5,000 rows is kept, at every doubling of the rows
        and at least every half minute. A killed or interrupted fit that is started again with the same data
        and options goes on from there, to the same answer; the file is removed when the search has ended by
        itself. Loading it runs no code; a file that was changed or belongs to other data is refused. A disk
        that is full or cannot be written is a warning.
    time_ordered : bool, default=False
        Whether rows come in the order of time, so that the noise of neighbours may be alike: variables are
        priced by what is left once rows may follow a course that remembers itself (an autoregression, learnt
        from the rows). With `groups`, each cluster is a series of its own. All rows are used.
    inference : {"refit", "split"}, default="refit"
        Which rows give `coef_` and the standard errors of the summary: the same that selected the variables,
        so that the errors are too small, or a random half of them that takes no part in the selection, which
        costs half of the rows for each. "split" needs the table in memory. Clusters stay whole, and a series
        is cut in the middle; a row stays whole with all its weight, while copies of it may be in both halves.
    validate : {"read", "all"}, default="read"
        Of a source that is read in parts, check the rows that are read, or pass over all of them first.
    transform_as : {"columns", "design"}, default="columns"
        Whether `transform` returns the selected columns as they are, or their design: numbers, with
        indicators for text, see `column_names_`.
    n_jobs : int, optional
        Chains of the walk at a time: threads, or what `joblib.parallel_config` says. The answer does not
        depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the search.

    Attributes
    ----------
    support_ : bool array of shape (n_features,)
        The selected features.
    ranking_ : int array of shape (n_features,)
        A permutation, 1 is best.
    inclusion_ : array of shape (n_features,)
        Probability that the feature belongs in the model (a frequency of visits for `REVS.paper`). Exact
        duplicates share one value, and the first copy represents them in `support_`.
    credible_groups_ : list of dicts
        Sets of features of which one is in the model with probability .95 or more, the surest first:
        "features" (their names; those that enter together are one, "a + b"), "inclusion", and "correlation",
        the least between two of them, .5 or more. A feature that is sure alone is a set of one.
    gain_ : array of shape (n_features,)
        Held-out loss (mean squared error, or minus the mean log likelihood) that the feature saves when
        selected, or would save when it is not; five folds of at most 2,000 rows (copies of a
        row share one). Of more than 2,000 columns only the selected features are judged, and the others are
        NaN; so they are of more than 5,000 rows, where all that were read tell it (what the feature saves
        there, less twice what it costs to learn its coefficients: Akaike's criterion).
    coef_ : array of shape (n_columns,) or (n_classes, n_columns)
        Coefficients of the refit, zero where not selected; one per design column (see `column_names_`), and
        for "multinomial" a row per class, which add up to zero.
    intercept_ : float or array
        Intercept of the refit: zero for "cox", one per class for "multinomial", and for "ordinal" the log
        odds of a class above each but the last, so that
        ``P(y > c) = expit(X coef_ + intercept_[c])``.
    coef_average_, intercept_average_ : like `coef_` and `intercept_`
        Posterior means over all subsets that were visited, weighted by their visits; of families other than
        "gaussian" over the fifty heaviest (of two classes where effects do not keep together, those of the
        walk that came first, with those of the selection as far as rows without a part in it speak for
        these). A ridge of all columns has a share of them where left-out rows
        speak for it, as the summary then says. The refit's where one subset stands for all (more than
        5,000 rows, or ``search=Sarsa()``).
    average_ : bool
        Whether `predict` uses the average unless told otherwise: it does unless the refit predicts rows that
        are left out one by one better, by more than one standard error of the difference.
    column_names_ : list of str
        Names of the design columns: features, indicators "city=Paris", gaps "age=missing", and with
        ``order=2`` products "age:city=Paris" (of columns about their means) that have a coefficient.
    interactions_ : list of dicts
        With ``order=2``, "name", "features", "inclusion", "gain" and "selected" of each of these products.
    path_ : dict of arrays
        Every visited subset: chain, action (+j adds unit j - 1, -j removes it), size, reward, score, rows
        read and seconds.
    n_stages_, n_rows_read_ : int
        Steps of the walk, and distinct rows used.
    n_rows_decoded_ : int
        Rows that had to be decoded for it, again each time; a pass over some of the columns counts in
        proportion, one for validation not at all. In memory the same as `n_rows_read_`.
    n_rows_seen_ : int
        Rows that were used, or looked at before the search stopped.
    detectable_ : array of shape (n_features,)
        Size of effect that would have been seen with probability 0.9, had the feature had it beside the
        selected ones, in linear models also if one other hides it: in standard deviations, as in
        `min_effect`. NaN for features that were selected, may
        not be, or are constant; and everywhere up to 5,000 rows, where `inclusion_` says what is known.
        Of a feature of several columns, the largest of its columns. NaN for several classes and times.
    stop_reason_ : str
        "converged", "decided" (a look at all rows shows nothing more), "decided on a sample" (a look at some
        of them does), "all rows", "memory" (as many as a sample of several classes or times may hold), "time
        budget", "interrupted", "callback", "max stages" or "nothing to choose from".
    family_ : str
        The family that was fitted; "mixed" where several responses have different ones.
    overdispersion_ : float
        The a of counts whose variance is mean + a mean^2, zero for Poisson's; for the two families of counts.
    noise_ : dict
        For "gaussian" on up to 5,000 rows: "degrees" of Student's t (infinite for normal tails) and
        "unevenness", the standard deviation of the log variance over the rows (zero where all have the same).
        Where they show in the residuals, rows count by the inverse of their variance and heavy tails are
        shortened, in the search and in the refit.
    dependence_ : dict
        With `groups` or `time_ordered`, beside the selected variables: number of "clusters", "correlation"
        of two rows of a cluster (of two neighbours in time, from where it falls by "memory" per row), and
        "effective_rows": how many independent rows would say as much of a variable that is the same
        throughout a cluster, or slow. With `groups`, "same_throughout" is the number of such features. Where
        no two rows share a cluster, or all do, the correlation is nan.
    classes_ : array of shape (n_classes,)
        Labels, for "binomial", "multinomial" and "ordinal".
    event_times_, strata_ : array
        Distinct times of events, and labels of the strata, for "cox".
    estimators_ : list of REVS
        Of several responses, a fitted selector for each. `coef_`, `coef_average_` and `gain_` have a row, and
        the intercepts an entry per response then (lists where these differ in shape).
    response_names_ : list of str
        Names of several responses.
    support_by_response_, inclusion_by_response_ : array of shape (n_responses, n_features)
        The selection of each response. With ``responses="each"``, `support_` says what is selected for any,
        and `inclusion_` how probable it is that a feature belongs in one model or more.
    encoder_ : TableEncoder
        How a table becomes a design.
    n_features_in_, feature_names_in_
        What `fit` has seen.

    See Also
    --------
    Sarsa : The paper's own search.

    Notes
    -----
    Differs from [1]_ (all of it is `REVS.paper`): rewards are changes of log evidence instead of held-out
    error on one random batch; all actions are priced at every stage instead of one tried; there is no value
    to be learnt, since the transition is known and the reward exact; the price adapts to the number of
    variables and to the noise instead of being 0.2; the answer is an average over subsets instead of the last
    one; rows are never thrown away.

    Weights count rows: a weight of 2 is the same as the row twice.

    Not meant for effects that are not linear on the link's scale. A step of "multinomial" costs O(n p k) for
    each pair of classes. Of these, "ordinal" and "cox", samples grow to 67 million numbers at most, each look
    passes over all rows, and no further chains are tried; rows of "cox" have to be in memory, since who is at
    risk depends on all of them.

    References
    ----------
    .. [1] "Efficient Variable Selection Using Reinforcement Learning for Big Data" (REVS).
    .. [2] Zanella (2020), Informed proposals for local MCMC in discrete spaces, JASA 115.
    .. [3] Scott, Berger (2010), Bayes and empirical-Bayes multiplicity adjustment, Annals of Statistics 38.

    Examples
    --------
    >>> from rlselect import REVS
    >>> from rlselect.simulate import make_revs
    >>> data = make_revs(n=200, p=200, structure="banded", random_state=0)
    >>> selector = REVS(random_state=0).fit(data.X, data.y)
    >>> selector.support_.sum(), (selector.support_ & data.support).sum()
    (np.int64(25), np.int64(25))
    >>> selector.transform(data.X).shape
    (200, 25)
    """

    displays: ClassVar = (SelectionDisplay, PathDisplay, GainDisplay)
    _path_words = PathWords("stage", {"size": "size of the subset", "score": "score", "rows": "rows used"})
    _takes: ClassVar = EVERYTHING
    _options: ClassVar = {
        "family": one_of(*FAMILIES),
        "penalty": AUTO | number(),
        "responses": one_of("shared", "each"),
        "ties": one_of("efron", "breslow"),
        "rule": RULES,
        "order": whole(1, "1 or 2", most=2),
        "missing": one_of(*MISSING_MODES),
        "search": AUTO | instance("a Sarsa object", Sarsa),
        "time_budget": NONE | number("a positive number of seconds", above=0.0),
        "min_effect": NONE | number("a positive number", above=0.0),
        "checkpoint": NONE | instance("the path of a file", str, Path),
        "time_ordered": flag(),
        "inference": one_of("refit", "split"),
        "validate": one_of("read", "all"),
        "transform_as": one_of("columns", "design"),
    }

    def __init__(
        self,
        *,
        family: Literal[
            "auto",
            "gaussian",
            "binomial",
            "poisson",
            "negative_binomial",
            "multinomial",
            "ordinal",
            "cox",
        ] = "auto",
        policy: PolicyName | Policy = "auto",
        penalty: float | Literal["auto"] = "auto",
        responses: Literal["shared", "each"] = "shared",
        ties: Literal["efron", "breslow"] = "efron",
        rule: RuleName | DecisionRule = "auto",
        feature_groups: Any = None,
        always_select: Any = (),
        never_select: Any = (),
        max_features: int | None = None,
        at_most: Mapping[Any, int] | None = None,
        signs: Literal["+", "-"] | Mapping[Any, str] | None = None,
        order: Literal[1, 2] = 1,
        missing: MissingMode = "error",
        search: Sarsa | Literal["auto"] = "auto",
        time_budget: float | None = None,
        min_effect: float | None = None,
        checkpoint: str | Path | None = None,
        time_ordered: bool = False,
        inference: Literal["refit", "split"] = "refit",
        validate: Literal["read", "all"] = "read",
        transform_as: Literal["columns", "design"] = "columns",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.family = family
        self.policy = policy
        self.penalty = penalty
        self.responses = responses
        self.ties = ties
        self.rule = rule
        self.feature_groups = feature_groups
        self.always_select = always_select
        self.never_select = never_select
        self.max_features = max_features
        self.at_most = at_most
        self.signs = signs
        self.order = order
        self.missing = missing
        self.search = search
        self.time_budget = time_budget
        self.min_effect = min_effect
        self.checkpoint = checkpoint
        self.time_ordered = time_ordered
        self.inference = inference
        self.validate = validate
        self.transform_as = transform_as
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def paper(cls, *, reading: Literal["literal", "published"] = "literal", **changes: Any) -> Self:
        """Algorithms 1 and 2 of the paper with its values; every silence it leaves is named in `Sarsa`.

        Parameters
        ----------
        reading : {"literal", "published"}, default="literal"
            "published" departs from the text to come nearer to the printed tables: 20 stages per variable,
            the quantile over 250 rewards and from 0.9 on, moves on gains only.
        **changes
            Settings of `Sarsa` (the paper takes ``n_train=n_valid=150`` for n = 200) and other parameters.

        Returns
        -------
        REVS
            Unfitted.

        Examples
        --------
        >>> from rlselect import REVS
        >>> REVS.paper(n_train=150, random_state=0).search.price
        0.2
        """
        return cls(**{"search": paper_search(reading, changes), **changes})

    def _classifies(self) -> bool | None:
        family = getattr(self, "family_", self.family)
        return None if family == "auto" else family in CLASSES

    def _takes_several(self) -> bool:
        # classes as well
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = getattr(self, "family_", self.family) in COUNTS
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = getattr(self, "family_", self.family) in (
                "multinomial",
                "ordinal",
            )
        return tags

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None, groups: Any = None
    ) -> Self:
        """Select variables, then refit the selected ones.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            NumPy, SciPy sparse, pandas, polars, Arrow. Text and categorical columns become indicators. A
            source is read in parts, no more of it than the search needs: the path of a file or folder
            (Parquet, Feather or CSV), a glob, a list of paths, a URL that Arrow reads, an Arrow dataset, a
            LazyFrame of polars, a relation of DuckDB, a Dask DataFrame or Array, or a function that returns
            an iterable of data frames, the same ones at every call. Queries and CSV files are read once,
            into a temporary file.
        y : array-like of shape (n_samples,) or (n_samples, n_responses), str, or list of str
            Target, or the name of its column in X. Several are columns of an array or a data frame, or a
            list of names, see `responses`; with ``family="auto"`` each is read by itself. Of "cox" a
            structured array with the fields "event" and "time" (as in scikit-survival), the names
            ``("time", "event")`` of two columns of X, a frame with these columns, or a mapping with these
            keys to arrays or names; told ``family="cox"``, also an array of times, then zeros and ones.
            Fields (keys) "entry", after which a row is at risk (left truncation), and "stratum" may come
            with them.
        sample_weight : array-like of shape (n_samples,) or str, optional
            How often each row counts: a weight of k says the same as k copies of the row. The answers agree
            to rounding as long as the copies are at most 5,000 rows (`gain_`: 2,000). Of more rows parts are
            taken at random, and a row has one chance to be among them, its copies one each.
        offset : array-like of shape (n_samples,) or str, optional
            Known part of the linear predictor, such as the log of an exposure.
        groups : array-like of shape (n_samples,) or str, optional
            Cluster of each row, for rows that belong together: patients of a clinic, visits of a patient.
            Variables are priced by what is left once rows of a cluster are allowed to be alike. All rows are
            used, and have to be in memory.

        Returns
        -------
        self
            Fitted, also when the search was stopped by `time_budget` or Ctrl-C.
        """
        return self._learn_aside(X, y, sample_weight, offset, groups)

    def _fit(self, progress: Progress, X: Any, y: Any, sample_weight: Any, offset: Any, groups: Any) -> None:
        name = type(self).__name__
        self._require_target(y)
        given = None if self.family == "cox" or is_survival(y) else read_responses(X, y)
        if given is not None:
            fit_several(self, progress, given, sample_weight, offset, groups)
            return
        refuse_unused(self, ("responses",), "a single response", "leave it out")
        policy, rng = read_policy(self), as_generator(self.random_state)
        problem = read_problem(self, X, y, sample_weight, offset, groups, rng)
        table = problem.table
        problem, some = rows_in_time(problem, self.time_budget, rng)
        checkpoint = open_checkpoint(self, table)
        apart = None
        if self.inference == "split":
            (problem,), (apart,) = split_rows([problem], rng)
        with (
            one_thread(),
            fit_clock(self.time_budget, expected_steps(problem, self.search), progress.begin(PARTS)) as clock,
        ):
            penalty = None if self.penalty == "auto" else float(self.penalty)
            if self.order == 2:
                problem, apart = with_products(problem, apart, penalty, rng, clock)
            found = search_subset(
                problem,
                search=self.search,
                policy=policy,
                penalty=penalty,
                n_jobs=self.n_jobs,
                rng=rng,
                clock=clock,
                min_effect=self.min_effect,
                checkpoint=checkpoint,
            )
        warn_if_interrupted(found.stop_reason, name, f"{found.n_stages} stages")
        self._choices = choices_of(problem, found)
        if not isinstance(self.search, Sarsa):
            found.support = self._choices.by(self.rule)
        self._keep(problem, found)
        with clock.afterwards() as rest:
            self._refit(problem, found, apart, rng)
        say_if_cut(self, rest, some)
        table.check_unchanged()
        if checkpoint is not None:
            checkpoint.end(found.stop_reason)

    def _keep(self, problem: Problem, found: Found) -> None:
        encoder = problem.table.encoder
        self.encoder_ = encoder
        self._keep_names(encoder.n_features_in_, encoder.feature_names_in_)
        self.family_ = fitted_family(problem, found)
        if self.family_ == "gaussian":
            self.noise_ = kind_of_noise(found.noise)
        if problem.family == "cox":
            assert problem.classes is not None
            self.strata_ = problem.classes
        elif problem.classes is not None:
            self.classes_ = problem.classes
        self.column_names_ = list(problem.table.columns)
        self.inclusion_ = problem.to_features(found.inclusion)
        self.support_ = problem.to_features(found.support).astype(bool)
        self.n_stages_ = found.n_stages
        self.n_rows_read_ = int(found.n_rows_read)
        self.n_rows_decoded_ = problem.table.n_rows_decoded or self.n_rows_read_
        self.n_rows_seen_ = max(int(found.n_rows_seen), self.n_rows_read_)
        self.detectable_ = problem.detectable(found.detectable)
        self.stop_reason_ = found.stop_reason
        self.path_ = path_of(found)
        self.credible_groups_ = name_groups(problem, credible_groups(problem, found))
        self._n_rows = problem.table.n_rows
        self._class_like, self._common, self._lone = problem.class_like, problem.common, problem.lone
        self._heaviest = heaviest_row(problem.table)

    def _refit(self, problem: Problem, found: Found, apart: Problem | None, rng: np.random.Generator) -> None:
        gains = set_coefficients(self, problem, found, apart, rng)
        # what had a sign that it must not have has left
        self.support_ = problem.to_features(found.support).astype(bool)
        if self.order == 2:
            keep_products(self, problem, found, gains)
        self._keep_ranks(problem.to_features(gains))

    def _keep_ranks(self, gain: NDArray[np.float64]) -> None:
        self.gain_ = gain
        # selected first, then by inclusion; held-out worth breaks ties, rounding does not
        worth = np.nan_to_num(gain, nan=-np.inf)
        self.ranking_ = rank(self.inclusion_.round(12), worth, support=self.support_)

    def _report(self) -> dict[str, Any]:
        return report_of(self)
