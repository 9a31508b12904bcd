"""Which estimating equations are solved at each time."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from rlselect.kernels import BOUNDED_LINKS
from rlselect.temporal._constant import estimate_constant
from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._estimate import Estimate, estimate, standard_errors

Link: TypeAlias = Literal["identity", "logit", "probit", "cloglog", "log"]
Variance: TypeAlias = Literal["gaussian", "binomial", "poisson"]


@dataclass(frozen=True)
class Equations:
    """Link, working variance, and the covariates or terms whose effect is one number for all times."""

    link: str
    variance: str
    constant: tuple[str, ...] = ()

    def solve(self, design: ProcessDesign) -> Estimate:
        """Estimates, influence functions and flags of all times."""
        if self.constant and design.dropout is not None:
            raise ValueError("constant and dropout were both given; leave one of them out.")
        shared = sorted(design.positions(self.constant, "constant"))
        if shared:
            found = estimate_constant(design, shared, self.link, self.variance)
        else:
            found = estimate(design, self.link, self.variance)
        if (design.clusters is None and design.dropout is None) or found.psi is None:
            return found
        psi = design.gather_psi(found.psi)
        if design.dropout is not None:
            psi = psi + design.dropout.added(found.psi)
        return replace(found, psi=psi, se=standard_errors(psi))

    @property
    def heavy_tails(self) -> bool:
        """Whether draws of standardised estimates need the tails of Student's t in small samples.

        Where the mean is bounded, standard errors grow with the estimate and the tails are no heavier than
        normal; the committed coverage tables show it.
        """
        return self.link in ("identity", "log")

    @property
    def bounded(self) -> bool:
        """Whether the mean has bounds, so that standard errors grow with the size of an estimate."""
        return self.link in BOUNDED_LINKS

    @property
    def exact_leave_one_out(self) -> bool:
        """Whether leverage turns an influence function into the change without the subject.

        Exact for linear models only; with constant effects leverage is spread over all times.
        """
        return self.link == "identity" and self.variance == "gaussian" and not self.constant
