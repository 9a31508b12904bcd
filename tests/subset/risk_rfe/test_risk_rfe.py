"""RiskRFE: the exhaustive order, its conventions, rules and refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

from rlselect.machines import EliminationPath, choose_size
from rlselect.machines._kernels import AdditiveKernel, PolynomialKernel
from rlselect.machines._losses import EpsilonInsensitiveLoss
from rlselect.machines._stopping import ChangePoint
from rlselect.simulate import make_annulus, make_rational, make_sparse_linear
from rlselect.subset import RiskRFE, Threshold


def _regression(seed, n=60, d=9):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 1] * X[:, min(4, d - 1)] + np.sin(X[:, min(6, d - 1)]) + 0.2 * rng.normal(size=n)


def _gaussian(X, gamma):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / gamma**2)


def _exhaustive(X, objective):
    """Elimination order by trying every removal with a fresh kernel matrix."""
    left, order = list(range(X.shape[1])), []
    while left:
        values = [objective(X[:, [k for k in left if k != j]]) for j in left]
        order.append(left.pop(int(np.argmin(values))))
    return order


def _order(selector):
    return np.argsort(-selector.ranking_).tolist()


@pytest.mark.parametrize("seed", range(6))
def test_squared_order_is_exhaustive(seed):
    X, y = _regression(seed)
    lam, gamma, n = 0.01, 3.0, len(y)

    def objective(Z):
        gram = _gaussian(Z, gamma) if Z.shape[1] else np.ones((n, n))
        return lam * y @ np.linalg.solve(gram + n * lam * np.eye(n), y)

    selector = RiskRFE(regularization=lam, bandwidth=gamma, fit_intercept=False).fit(X, y)
    assert _order(selector) == _exhaustive(X, objective)
    assert selector.path_["objective"][0] == pytest.approx(objective(X), rel=1e-9)
    np.testing.assert_array_equal(selector.path_["n_features"], np.arange(9, -1, -1))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_support_vector_order_is_exhaustive(loss, seed):
    X, y = _regression(seed, n=50, d=7)
    y = np.where(y > 0, 1.0, -1.0) if loss == "hinge" else y
    lam, gamma, n = 0.01, 3.0, len(y)

    def objective(Z):
        gram = _gaussian(Z, gamma) if Z.shape[1] else np.ones((n, n))
        options = {"kernel": "precomputed", "C": 1 / (2 * n * lam), "tol": 1e-9}
        machine = (SVC(**options) if loss == "hinge" else SVR(epsilon=0.1, **options)).fit(gram, y)
        a = machine.dual_coef_[0]
        f = gram[:, machine.support_] @ a + machine.intercept_
        risk = np.maximum(0, 1 - y * f) if loss == "hinge" else np.maximum(0, np.abs(y - f) - 0.1)
        return lam * a @ gram[np.ix_(machine.support_, machine.support_)] @ a + risk.mean()

    selector = RiskRFE(loss=loss, regularization=lam, bandwidth=gamma).fit(X, y)
    order = _exhaustive(X, objective)
    # The last step has one candidate; before it every choice must agree.
    assert _order(selector) == order
    assert selector.path_["objective"][0] == pytest.approx(objective(X), rel=1e-6)


def test_logistic_objective_and_probabilities():
    X, y = _regression(0, n=80, d=4)
    y = np.where(y > 0, "yes", "no")
    selector = RiskRFE(loss="logistic", kernel="linear", regularization=0.01, stopping=4).fit(X, y)
    reference = LogisticRegression(C=1 / (2 * 0.01 * len(y)), tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(selector.predict_proba(X), reference.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(selector.coef_, reference.coef_, atol=1e-4)
    assert selector.classes_.tolist() == ["no", "yes"]


def test_numbers_are_never_changed_and_x_is_used_as_given():
    X, y = _regression(1)
    X = 10.0 * X + 3.0
    fixed = RiskRFE(regularization=0.02, bandwidth=25.0).fit(X, y)
    assert set(fixed.path_["regularization"]) == {0.02}
    assert set(fixed.path_["bandwidth"]) == {25.0}
    assert (fixed.regularization_, fixed.bandwidth_) == (0.02, 25.0)
    assert np.all(fixed.scale_ == 1.0)
    assert np.all(fixed.center_ == 0.0)
    tuned = RiskRFE().fit(X, y)
    np.testing.assert_allclose(tuned.scale_, X.std(axis=0))
    assert len(set(tuned.path_["bandwidth"])) > 1


def test_default_finds_the_features_and_predicts():
    X, y, informative = make_rational(300, random_state=3)
    selector = RiskRFE().fit(X[:200], y[:200])
    np.testing.assert_array_equal(selector.support_, informative)
    assert selector.score(X[200:], y[200:]) > 0.99
    assert selector.n_features_ == 2
    assert sorted(selector.ranking_[informative]) == [1, 2]
    np.testing.assert_array_equal(selector.transform(X), X[:, :2])


def test_classifier_finds_the_square():
    X, y, informative = make_annulus(600, random_state=3)
    selector = RiskRFE(loss="hinge").fit(X[:300], y[:300])
    np.testing.assert_array_equal(selector.support_, informative)
    assert selector.score(X[300:], y[300:]) > 0.93
    assert is_classifier(selector)
    assert is_regressor(RiskRFE(loss="squared"))


def test_ranking_is_a_permutation_whatever_the_cycle():
    X, y = _regression(2)
    for step in (1, 3, 0.4, lambda left: 2 if left > 4 else 1):
        selector = RiskRFE(step=step, regularization=0.01, bandwidth=3.0).fit(X, y)
        assert sorted(selector.ranking_) == list(range(1, 10))
    assert len(RiskRFE(step=3).fit(X, y).path_["objective"]) == 4


def test_column_order_does_not_matter():
    X, y = _regression(3)
    order = np.random.default_rng(0).permutation(X.shape[1])
    straight = RiskRFE().fit(X, y)
    shuffled = RiskRFE().fit(X[:, order], y)
    np.testing.assert_array_equal(shuffled.ranking_, straight.ranking_[order])
    np.testing.assert_allclose(shuffled.predict(X[:, order]), straight.predict(X), rtol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
def test_weight_is_repetition(loss):
    X, y = _regression(4, n=40, d=5)
    y = y if loss == "squared" else np.where(y > 0, 1, 0)
    weights = np.random.default_rng(1).integers(0, 3, size=40)
    rows = np.repeat(np.arange(40), weights)
    options = {"loss": loss, "regularization": 0.01, "bandwidth": 2.0}
    once = RiskRFE(**options).fit(X, y, sample_weight=weights)
    many = RiskRFE(**options).fit(X[rows], y[rows])
    np.testing.assert_array_equal(once.ranking_, many.ranking_)
    np.testing.assert_array_equal(once.support_, many.support_)
    np.testing.assert_allclose(once.path_["risk"], many.path_["risk"], rtol=1e-6)


def test_groups_stay_together():
    X, y = _regression(5)
    selector = RiskRFE(feature_groups=[[1, 4], [0, 2, 3]]).fit(X, y)
    assert selector.support_[1] == selector.support_[4]
    assert len(set(selector.support_[[0, 2, 3]])) == 1
    assert abs(selector.ranking_[1] - selector.ranking_[4]) == 1
    labels = ["a", "b", "a", "a", "b", "c", "d", "e", "f"]
    same = RiskRFE(feature_groups=labels).fit(X, y)
    np.testing.assert_array_equal(same.support_, selector.support_)
    linear = RiskRFE(feature_groups=labels, kernel="linear").fit(X, y)
    assert sorted(linear.ranking_) == list(range(1, 10))


@pytest.mark.parametrize(
    ("groups", "message"),
    [(["a", "b"], "labels"), ([[0, 1], [1]], "two groups"), ([[77]], "below 9"), ([["z"]], "'z'")],
)
def test_bad_groups(groups, message):
    X, y = _regression(5)
    with pytest.raises(ValueError, match=message):
        RiskRFE(feature_groups=groups).fit(X, y)


@pytest.mark.parametrize(("clear", "size"), [(False, 2), (True, 3)])
def test_a_few_rows_keep_no_surplus_feature(clear, size):
    losses = [np.full(100, 0.01) for _ in range(6)]
    losses[-2:] = [np.full(100, 1.0), np.full(100, 2.0)]
    # with three of twenty features the loss of one row is smaller, or those of all are
    losses[3] = losses[3] + (0.01 if clear else np.where(np.arange(100) == 7, 1.0, 0.0))
    path = EliminationPath(sizes=[20, 10, 3, 2, 1, 0], losses=losses, weights=np.ones(100))
    assert choose_size("loo-ric", path, "squared")[0] == size


@pytest.mark.parametrize(("others", "stays"), [(1.0, True), (0.01, False)])
def test_rows_that_reach_far_hide_no_feature(others, stays):
    # three of twenty features save one row most, and the others something or nothing
    losses = [np.full(100, 0.01) for _ in range(6)]
    for smaller in losses[3:]:
        smaller[:] = others
        smaller[7] = 1000.0
    path = EliminationPath(sizes=[20, 10, 3, 2, 1, 0], losses=losses, weights=np.ones(100))
    assert choose_size("loo-ric", path, "squared")[0] == (3 if stays else 0)


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_columns_that_reach_far_are_found(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1.5, (200, 10))
    y = X[:, 0] - X[:, 1] + 2.0 * rng.standard_normal(200)
    assert {0, 1} <= set(np.flatnonzero(RiskRFE().fit(X, y).support_))
    assert not RiskRFE().fit(X, rng.standard_t(1.5, 200)).support_.any()


@pytest.mark.parametrize(("loss", "size"), [("squared", 3), ("hinge", 2), ("logistic", 2)])
def test_losses_of_margins_count_as_they_are(loss, size):
    # a third of ten features is charged 2 log 10 = 4.6: .02 of a risk of .2 on 100 rows is worth 2 or 10.5
    levels = (0.21, 0.2, 0.18, 0.2, 0.5, 1.0)
    wiggle = np.tile([-0.01, 0.01], 50)
    losses = [np.full(100, level) + wiggle for level in levels]
    path = EliminationPath(sizes=[10, 4, 3, 2, 1, 0], losses=losses, weights=np.ones(100))
    assert choose_size("loo-ric", path, loss)[0] == size


def test_a_strong_feature_of_few_rows_among_many_stays():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 72))
    selector = RiskRFE(kernel="linear").fit(X, 1.5 * X[:, 0] + rng.standard_normal(30))
    assert selector.support_[0]


def test_products_without_noise_keep_their_factors():
    X = np.random.default_rng(0).standard_normal((100, 8))
    selector = RiskRFE(kernel="rbf").fit(X, X[:, 0] * X[:, 1])
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), [0, 1])


def test_stopping_rules():
    X, y, informative = make_rational(150, n_features=8, random_state=5)
    options = {"regularization": 1e-4, "bandwidth": 3.0}
    for rule in ("loo-2se", "loo-ric", "held-out", 2, Threshold(0.5), Threshold(lambda size: 1.0 / size)):
        selector = RiskRFE(stopping=rule, random_state=0, **options).fit(X, y)
        np.testing.assert_array_equal(selector.support_, informative, err_msg=str(rule))
        assert selector.stop_reason_
    for rule in ("change-point", ChangePoint(1), ChangePoint(3)):
        selector = RiskRFE(stopping=rule, **options).fit(X, y)
        assert selector.support_[informative].all()
    assert RiskRFE(stopping=Threshold(0.0), **options).fit(X, y).n_features_ >= 2
    assert RiskRFE(stopping=Threshold(1e9), **options).fit(X, y).n_features_ == 0
    assert RiskRFE(stopping=0, **options).fit(X, y).n_features_ == 0
    assert RiskRFE(stopping=99, **options).fit(X, y).n_features_ == 8


def test_one_curve_rules_do_not_retune():
    X, y = _regression(6)
    assert len(set(RiskRFE(stopping="change-point").fit(X, y).path_["bandwidth"])) == 1
    assert len(set(RiskRFE(stopping="loo-2se").fit(X, y).path_["bandwidth"])) > 1


def test_held_out_follows_its_seed():
    X, y = _regression(7)
    one = RiskRFE(stopping="held-out", random_state=1).fit(X, y)
    again = RiskRFE(stopping="held-out", random_state=1).fit(X, y)
    other = RiskRFE(stopping="held-out", random_state=2).fit(X, y)
    np.testing.assert_array_equal(one.path_["objective"], again.path_["objective"])
    assert not np.array_equal(one.path_["objective"], other.path_["objective"])


def test_safeguard_adds_the_next_best():
    X, y = _regression(8)
    plain = RiskRFE(stopping=2, safeguard=0.0).fit(X, y)
    wide = RiskRFE(stopping=2, safeguard=0.25).fit(X, y)
    assert (plain.n_features_, wide.n_features_) == (2, 4)
    assert set(wide.ranking_[wide.support_]) == {1, 2, 3, 4}


def test_norm_criterion_is_guyons():
    X, y = _regression(9)
    lam, gamma, n = 0.01, 3.0, len(y)
    selector = RiskRFE(criterion="norm", regularization=lam, bandwidth=gamma, fit_intercept=False).fit(X, y)
    gram = _gaussian(X, gamma)
    a = np.linalg.solve(gram + n * lam * np.eye(n), y)
    change = [a @ gram @ a - a @ _gaussian(np.delete(X, j, axis=1), gamma) @ a for j in range(X.shape[1])]
    assert _order(selector)[0] == int(np.argmin(change))
    labels = np.where(y > 0, 1, 0)
    svm = RiskRFE(criterion="norm", loss="hinge", regularization=lam, bandwidth=gamma).fit(X, labels)
    assert sorted(svm.ranking_) == list(range(1, 10))


def test_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 2], [-0.5, 0.5])]
    for loss in ("hinge", "logistic"):
        selector = RiskRFE(loss=loss, regularization=0.001, bandwidth=1.5).fit(X, y)
        np.testing.assert_array_equal(np.flatnonzero(selector.support_), [2])
        assert selector.score(X, y) > 0.9
        assert selector.decision_function(X).shape == (120, 3)
    np.testing.assert_allclose(selector.predict_proba(X).sum(axis=1), 1.0)
    assert not hasattr(RiskRFE(loss="hinge"), "predict_proba")
    assert not hasattr(RiskRFE(), "decision_function")


def test_linear_regression_is_backward_elimination():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 8))
    y = X[:, 2] - X[:, 5] + 0.5 * rng.normal(size=60)

    def objective(Z):
        design = np.column_stack([Z, np.ones(60)])
        return np.mean((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2)

    selector = RiskRFE(LinearRegression()).fit(X, y)
    assert _order(selector) == _exhaustive(X, objective)
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), [2, 5])
    np.testing.assert_allclose(selector.estimator_.coef_, [1, -1], atol=0.3)


def test_any_estimator():
    X, y, informative = make_annulus(200, n_features=5, random_state=0)
    tree = DecisionTreeRegressor(max_depth=4, random_state=0)
    selector = RiskRFE(tree, stopping="held-out", random_state=0).fit(X, y)
    assert selector.support_[informative].all()
    svm = RiskRFE(SVC(), loss="hinge", stopping=2).fit(X, y)
    np.testing.assert_array_equal(svm.support_, informative)
    assert svm.score(X, y) == pytest.approx(svm.estimator_.score(X[:, :2], y))
    with pytest.raises(ValueError, match="loss='squared' was given with SVC, which is a classifier"):
        RiskRFE(SVC(), loss="squared").fit(X, y)
    with pytest.raises(ValueError, match="criterion='norm' has no effect with an estimator"):
        RiskRFE(tree, criterion="norm").fit(X, y)


def test_frames_and_names():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X = np.random.default_rng(0).uniform(-2, 2, size=(80, 4))
    y = X[:, 0] * X[:, 1]
    frame = pd.DataFrame(X, columns=list("abcd"))
    selector = RiskRFE(feature_groups=[["a", "b"]]).fit(frame, y).set_output(transform="pandas")
    assert selector.feature_names_in_.tolist() == list("abcd")
    assert selector.get_feature_names_out().tolist() == ["a", "b"]
    assert selector.transform(frame).columns.tolist() == ["a", "b"]
    other = RiskRFE().fit(pl.DataFrame(X, schema=list("abcd")), y).set_output(transform="polars")
    assert other.transform(pl.DataFrame(X, schema=list("abcd"))).columns == ["a", "b"]


def test_sparse_equals_dense_for_the_linear_kernel():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, size=(60, 12)).astype(float)
    y = X[:, 3] - X[:, 7] + 0.1 * rng.normal(size=60)
    dense, thin = RiskRFE(kernel="linear").fit(X, y), RiskRFE(kernel="linear").fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(dense.ranking_, thin.ranking_)
    np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X))
    np.testing.assert_allclose(dense.predict(X), X @ dense.coef_ + dense.intercept_)
    np.testing.assert_array_equal(dense.coef_ != 0, dense.support_)
    with pytest.raises(TypeError, match="toarray"):
        RiskRFE().fit(sparse.csr_array(X), y)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 200))
    y = 3 * X[:, 10] - 3 * X[:, 50] + 0.1 * rng.normal(size=50)
    selector = RiskRFE(kernel="linear", regularization=0.1, stopping=2).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), [10, 50])


def test_user_kernels():
    X, y = _regression(10, n=40, d=5)
    laplace = AdditiveKernel(lambda a, b: np.abs(a[:, None] - b[None]).sum(-1), lambda t: np.exp(-t))
    for kernel in (laplace, lambda A, B: np.exp(-np.abs(A[:, None] - B[None]).sum(-1))):
        selector = RiskRFE(kernel=kernel, regularization=0.01).fit(X, y)
        assert sorted(selector.ranking_) == list(range(1, 6))
    first = RiskRFE(kernel=laplace, regularization=0.01).fit(X, y)
    np.testing.assert_array_equal(first.ranking_, selector.ranking_)
    assert RiskRFE(kernel=PolynomialKernel(2)).fit(X, y).predict(X).shape == (40,)
    assert (
        RiskRFE(loss=EpsilonInsensitiveLoss(0.5), regularization=0.01, bandwidth=2.0).fit(X, y).n_features_
        >= 0
    )


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda A, B: -np.exp(-((A[:, None] - B[None]) ** 2).sum(-1)), "positive semi-definite"),
        (lambda A, B: np.sqrt(((A[:, None] - B[None]) ** 2).sum(-1)), "positive semi-definite"),
        (lambda A, B: A.sum(1)[:, None] - B.sum(1)[None], "symmetric"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN"),
        (lambda A, B: A, "shape"),
    ],
)
def test_unsound_kernels(kernel, message):
    X, y = _regression(11, n=30, d=4)
    with pytest.raises(ValueError, match=message):
        RiskRFE(kernel=kernel, regularization=0.1).fit(X, y)


def test_histograms_must_not_be_negative():
    X, y = _regression(12, n=30, d=4)
    with pytest.raises(ValueError, match="chi2"):
        RiskRFE(kernel="chi2").fit(X, y)
    selector = RiskRFE(kernel="chi2", feature_groups=[0, 0, 1, 1]).fit(np.abs(X), y)
    with pytest.raises(ValueError, match="chi2"):
        selector.predict(-np.abs(X))


def test_one_feature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    kept = RiskRFE().fit(X, np.sin(2 * X[:, 0]))
    assert (kept.ranking_.tolist(), kept.n_features_) == ([1], 1)
    assert RiskRFE(stopping="change-point").fit(X, np.sin(X[:, 0])).n_features_ in (0, 1)


def test_irrelevant_features_select_none_and_say_so():
    empty = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        selector = RiskRFE().fit(rng.normal(size=(60, 6)), rng.normal(size=60))
        empty += selector.n_features_ == 0
    assert empty >= 16
    X = rng.normal(size=(60, 6))
    selector = RiskRFE().fit(X, rng.normal(size=60))
    assert "no feature is needed" in selector.stop_reason_
    assert np.ptp(selector.predict(X)) < 1e-8


def test_constant_y():
    X, _ = _regression(13)
    selector = RiskRFE().fit(X, np.full(len(X), 7.0))
    assert selector.n_features_ == 0
    assert "constant" in selector.stop_reason_
    np.testing.assert_allclose(selector.predict(X), 7.0)
    with pytest.raises(ValueError, match="only one class"):
        RiskRFE(loss="hinge").fit(X, np.ones(len(X)))


def test_few_rows_are_mentioned():
    X, y = _regression(14, n=7)
    selector = RiskRFE().fit(X, y)
    assert "only 7 rows" in selector.stop_reason_
    assert "rows" not in RiskRFE(stopping=2).fit(X, y).stop_reason_
    assert sorted(selector.ranking_) == list(range(1, 10))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "absolute"}, "loss"),
        ({"kernel": "cosine"}, "kernel"),
        ({"criterion": "both"}, "criterion"),
        ({"regularization": -1.0}, "regularization"),
        ({"bandwidth": 0.0}, "bandwidth"),
        ({"stopping": "never"}, "stopping"),
        ({"stopping": -1}, "stopping"),
        ({"step": 0}, "step"),
        ({"step": 1.5}, "step"),
        ({"step": lambda left: 0}, "step"),
        ({"safeguard": 2.0}, "safeguard"),
    ],
)
def test_bad_options(options, message):
    X, y = _regression(15, n=20, d=3)
    with pytest.raises(ValueError, match=message):
        RiskRFE(**options).fit(X, y)


def test_bad_rules():
    with pytest.raises(ValueError, match="delta"):
        Threshold(-1)
    with pytest.raises(ValueError, match="degree"):
        ChangePoint(4)
    with pytest.raises(ValueError, match=r"stopping=1\.5 was given"):
        RiskRFE(stopping=1.5).fit(*_regression(0))
    with pytest.raises(ValueError, match="sample_weight"):
        RiskRFE().fit(*_regression(0), sample_weight=np.eye(60)[0])


def test_singular_kernel_matrix_is_explained():
    X, y = _regression(18, n=30, d=3)
    with pytest.raises(ValueError, match="singular"):
        RiskRFE(regularization=1e-30, bandwidth=100.0).fit(np.vstack([X, X]), np.append(y, y))


def test_paper_settings():
    X, y, informative = make_sparse_linear(100, 10, 3, random_state=0)
    selector = RiskRFE.paper().fit(X, y)
    assert set(selector.path_["bandwidth"]) <= {1.0, 2.0, 3.0, 4.0}
    assert np.all(selector.scale_ == 1.0)
    assert selector.regularization_ == selector.path_["regularization"][0]
    assert set(selector.ranking_[informative]) == {1, 2, 3}


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_summary_says_what_the_attributes_say(kernel):
    X, y = _regression(18)
    frame = pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])
    selector = RiskRFE(kernel=kernel).fit(frame, y)
    report = selector.summary().dict
    selected, elimination = report["sections"]
    assert f"{selector.n_features_} of {X.shape[1]} variables" in report["answer"]
    assert f"{selector.path_['risk'][0]:.3g} with all" in report["answer"]
    assert {row[0] for row in selected["rows"]} == set(selector.get_feature_names_out())
    assert [row[1] for row in selected["rows"]] == list(range(1, selector.n_features_ + 1))
    risk = dict(zip(selector.path_["n_features"], selector.path_["risk"], strict=True))
    for _, rank, rise, *_ in selected["rows"]:
        assert rise == pytest.approx(risk[rank - 1] - risk[rank])
    assert ("Coefficient" in selected["columns"]) == (kernel == "linear")
    assert [row[0] for row in elimination["rows"]] == list(range(X.shape[1] + 1))
    assert selector.stop_reason_ in " ".join(str(selector.summary()).split())
    assert "<svg" in selector.summary()._repr_html_()
    constant = RiskRFE(kernel=kernel).fit(X, np.ones(len(X))).summary()
    assert "No variable is needed." in str(constant)


@pytest.mark.parametrize(
    ("truth", "kernel"),
    [
        (lambda X: X[:, :4] @ [1.0, -1.0, 0.8, 0.6], "linear"),
        (lambda X: np.sin(3.0 * X[:, 0]) + np.abs(X[:, 1]) + X[:, 2], "anova"),
        (lambda X: 3.0 * np.tanh(X[:, 0] * X[:, 1] * X[:, 2]), "rbf"),
    ],
)
def test_auto_finds_the_kernel_that_the_truth_needs(truth, kernel):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(160, 8))
    y = truth(X) + 0.3 * rng.normal(size=160)
    selector = RiskRFE().fit(X, y)
    assert selector.kernel_ == kernel
    assert hasattr(selector, "coef_") == (kernel == "linear")
    alone = RiskRFE(kernel=kernel).fit(X, y)
    np.testing.assert_array_equal(selector.ranking_, alone.ranking_)
    np.testing.assert_allclose(selector.predict(X), alone.predict(X))


def test_auto_is_the_gaussian_kernel_where_others_cannot_be_compared():
    X, y = _regression(18)
    labels = np.where(y > np.median(y), 1, 0)
    for options in (
        {"stopping": "change-point"},
        {"stopping": "held-out"},
        {"bandwidth": 3.0},
        {"n_landmarks": 20},
        {"criterion": "norm"},
    ):
        assert RiskRFE(random_state=0, **options).fit(X, y).kernel_ == "rbf"
    assert RiskRFE(loss="hinge", regularization=0.1).fit(X, labels).kernel_ == "rbf"


def test_several_classes_find_their_features():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 12))
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + 0.2 * rng.normal(size=200), [-1.3, -0.4, 0.4, 1.3])
    selector = RiskRFE().fit(X, y)
    assert np.flatnonzero(selector.support_).tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", [400, 401])
def test_a_hinge_that_is_constant_on_all_columns_comes_back(seed):
    # with ten columns nothing beats a constant here; with the two that matter nearly all rows are right
    X, y, informative = make_annulus(100, random_state=seed)
    selector = RiskRFE(loss="hinge").fit(X, y)
    np.testing.assert_array_equal(selector.support_, informative)
