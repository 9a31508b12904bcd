"""What rows that are left out one by one say of the average, of the refit and of all columns at once."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import while_time
from rlselect.subset.revs.evidence import (
    Posteriors,
    RowLikelihood,
    SeparationWarning,
    StandardRows,
    fit_glm,
    left_out_predictor,
)

Floats = NDArray[np.float64]
Places = list[NDArray[np.intp]]

# refits for rows without which another subset would have been selected, as far as there is time
_MOST_REFITS = 20
# a model with a smaller share of the average would change little
_LEAST_SHARE = 0.1
# standard errors that it has to be better by, where rows have noise of their own
_PROOF = 2.0

# of another model beside the average, that are tried
SHARES = np.linspace(0.0, 1.0, 21)
# of the variance of log odds, that may be too much. Some always stays: rows that are all told rightly say
# nothing of one further out, whose log odds are larger and may be wrong
_TOO_MUCH = np.linspace(0.0, 0.75, 16)


def stacked_share(total: Floats, shares: Floats = SHARES) -> float:
    """The share of another model beside the average, zero where it hardly adds anything.

    The mean of all `shares`, each as likely as left-out rows are with it (the summed losses are given), times
    the chance that the gain of the best is one: a choice of the best itself would turn with single rows.
    """
    chance = np.exp(total.min() - total)
    share = float(chance @ shares / chance.sum() * -np.expm1(total.min() - total[0]))
    return share if share > _LEAST_SHARE else 0.0


def caution(doubt: Floats) -> Floats:
    """What log odds of this variance are multiplied by to be those of the mean probability."""
    return np.asarray(1.0 / np.sqrt(1.0 + np.pi / 8.0 * doubt))


class Said(NamedTuple):
    """Linear predictor of each row without its own say, and the variance of it where that matters."""

    eta: Floats
    doubt: Floats

    def mixed(self, other: "Said", share: float) -> "Said":
        """Both of them, the other one with this share."""
        eta = (1.0 - share) * self.eta + share * other.eta
        doubt = (1.0 - share) * (self.doubt + (self.eta - eta) ** 2)
        return Said(eta, doubt + share * (other.doubt + (other.eta - eta) ** 2))

    def trusted(self, trust: float) -> "Said":
        """The same with so much of the variance."""
        return self._replace(doubt=trust * self.doubt)

    def losses(self, likelihood: RowLikelihood, y: Floats) -> Floats:
        """Squared error, or minus the log likelihood, of each row."""
        eta = self.eta * caution(self.doubt) if likelihood.family == "binomial" else self.eta
        return _losses(likelihood, y, eta)


class LeftOutRows(NamedTuple):
    """Rows, and what subsets weigh for each of them when it is left out.

    Without row i a subset weighs its share divided by the density that it gives to the response of that row.
    """

    likelihood: RowLikelihood
    rows: StandardRows
    share: Floats

    @classmethod
    def judged_by(
        cls,
        likelihood: RowLikelihood,
        rows: StandardRows,
        posteriors: Posteriors,
        weights: Floats,
        alike: float = 0.0,
    ) -> "LeftOutRows":
        """Rows and subsets with their weights; `alike` correlates rows that are left out together."""
        density = posteriors.left_out.density
        if rows.together is not None:
            density = _joint_density(density, rows, alike)
        share = np.log(np.maximum(weights[: len(density), None], 1e-300)) - density
        share = np.exp(share - share.max(axis=0))
        return cls(likelihood, rows, share / share.sum(axis=0))

    def said_by(self, posteriors: Posteriors, places: Places) -> Said:
        """What subsets say together, each as much as it weighs."""
        predictor = posteriors.left_out.predictor
        eta = (self.share * predictor).sum(axis=0)
        if self.likelihood.family != "binomial":
            return Said(eta, np.zeros(len(eta)))
        doubt = (predictor - eta) ** 2
        for i, where in enumerate(places[: len(predictor)]):
            Z = self.rows.columns[:, where]
            doubt[i] += np.einsum("ij,ij->i", Z @ posteriors.variances[i], Z)
        return Said(eta, (self.share * doubt).sum(axis=0))

    def said_by_refit(self, places: Places, cut: float) -> Floats:
        """Linear predictor of the refit, that of what has a probability above the cut without the row."""
        judges = len(self.share)
        inside = np.zeros((judges, self.rows.columns.shape[1]))
        for i, where in enumerate(places[:judges]):
            inside[i, where] = 1.0
        chosen = self.share.T @ inside > cut
        kinds, kind_of = np.unique(chosen, axis=0, return_inverse=True)
        often = np.argsort(-np.bincount(kind_of.ravel()), kind="stable")
        refits = np.zeros((min(len(kinds), _MOST_REFITS), len(self.rows.y)))
        number = np.zeros(len(kinds), dtype=np.intp)
        for i, kind in enumerate(while_time(often[: len(refits)])):
            number[kind] = i
            refits[i] = self._refit(kinds[kind])
        return np.asarray(refits[number[kind_of.ravel()], np.arange(len(self.rows.y))])

    def compare(self, average: Said, refit: Floats) -> tuple[float, float, float]:
        """Mean losses of the average and of the refit, and the error of their difference."""
        rows = self.rows
        own, other = average.losses(self.likelihood, rows.y), _losses(self.likelihood, rows.y, refit)
        part = rows.weight / rows.weight.sum()
        loss, refit_loss = float(part @ own), float(part @ other)
        if rows.together is not None and not rows.together.any():
            # one cluster alone, left out whole, leaves no rows to fit: nothing speaks for the refit
            return loss, loss, 0.0
        if rows.together is not None:
            sums = np.bincount(rows.together, part * (own - other - loss + refit_loss))
            return loss, refit_loss, float(np.linalg.norm(sums))
        spread = float(part @ (own - other - loss + refit_loss) ** 2)
        return loss, refit_loss, float(np.sqrt(spread / rows.weight.sum()))

    def share_of(self, other: Said, average: Said, *, even: bool = True) -> float:
        """The share of another model beside the average, see `stacked_share`.

        Where the noise of rows is not `even`, a few of them may speak for the other model by chance: it has
        no share unless the best one saves twice the standard error of what it saves.
        """
        weight = self.rows.weight
        mixtures = (average.mixed(other, share) for share in SHARES)
        losses = np.array([mixture.losses(self.likelihood, self.rows.y) for mixture in mixtures])
        total = losses @ weight
        saved = losses[0] - losses[np.argmin(total)]
        if not even and weight @ saved <= _PROOF * np.sqrt(weight @ (saved - saved.mean()) ** 2):
            return 0.0
        if self.likelihood.family == "gaussian":
            # of normal noise whose variance is the mean loss
            total = 0.5 * weight.sum() * np.log(np.maximum(total, 1e-300))
        return stacked_share(total)

    def trust_in(self, said: Said) -> float:
        """How much of the variance of log odds left-out rows bear out; see `stacked_share`.

        Near separation the curvature of the likelihood is that of rows which are nearly certain. It knows
        little of how large the effects are, and less than the rows do once others are left out.
        """
        if self.likelihood.family != "binomial":
            return 1.0
        y, weight = self.rows.y, self.rows.weight
        losses = [said.trusted(1.0 - part).losses(self.likelihood, y) @ weight for part in _TOO_MUCH]
        return 1.0 - stacked_share(np.array(losses), _TOO_MUCH)

    def _refit(self, chosen: NDArray[np.bool_]) -> Floats:
        rows, likelihood = self.rows, self.likelihood
        A = rows.columns[:, chosen]
        family = "negative_binomial" if likelihood.dispersion else likelihood.family
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            fit = fit_glm(A, rows.y, family, rows.weight, rows.offset)
        design = np.column_stack([np.ones(len(A)), A])
        return left_out_predictor(design, rows, likelihood, fit.all_coef, fit.covariance)


def _joint_density(density: Floats, rows: StandardRows, alike: float) -> Floats:
    """Log density of all rows that are left out with each one, less what they repeat of one another."""
    assert rows.together is not None
    counts = np.bincount(rows.together, rows.weight)
    sums = np.array([np.bincount(rows.together, each) for each in density * rows.weight])
    return (sums / (1.0 + np.maximum(counts - 1.0, 0.0) * alike))[:, rows.together]


def _losses(likelihood: RowLikelihood, y: Floats, eta: Floats) -> Floats:
    return (y - eta) ** 2 if likelihood.family == "gaussian" else -likelihood.of(y, eta)
