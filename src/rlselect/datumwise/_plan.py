"""Numbers that decide what is learned and that no option changes, each with its reason."""

from dataclasses import dataclass

__all__ = ["NETWORK", "PLAN", "NetworkPlan", "PurchasePlan"]


@dataclass(frozen=True)
class PurchasePlan:
    """How a policy is learned, beside what `PolicyIteration` says.

    Attributes
    ----------
    neighbours : float
        Prior correlation of what neighbouring bins add to a score: values that are close tell similar things.
    largest_set, larger : float
        Random states hold up to this share of the units, and up to so many times what the last policy bought:
        much larger sets teach nothing about the states that matter.
    margins : tuple of pairs
        What may be taken off the scores of the first purchase and of later ones, in units of the difference
        between the worst answer and the best. Nothing comes first, as the first of equals is taken.
    many, reaches, far : int, tuple of int, float
        Of more units than `many`, the choice may be narrowed to so many; the others lose `far`, in the units
        of the margins, which is more than any margin.
    clearly : float
        The best policy is clearly better than the mean of several by so many standard errors: the best of
        many looks better than it is.
    flattered : float
        By so many standard errors the answers of a policy cost more than on the rows left out, which chose
        its margins and the iterations that are averaged: by so much less sure it may be.
    kept_numbers : int
        Numbers in the policies that a climb keeps at most (256 MiB); with very many features fewer are
        averaged.
    trees, leaves, bag, bag_rows : int, tuple of int, float, int
        Forest of the soft labels: trees, rows in a leaf that are tried (out of bag), share of the rows that
        a tree is grown from, so that most trees can judge a row, and their number at most.
    tiny : int
        A problem of so many states of knowledge (four binary features) is solved exactly even when there are
        fewer rows than states.
    false_units, least_units : float, int
        Of very many units those are learned about that tell more than chance does, up to this share of false
        ones, and at least so many: the more that tell nothing, the longer learning takes and the more often
        one of them seems worth its price.
    features_per_unit : int
        Of the features of groups, so many times as many may be learned about as there may be units: they are
        no further choices, but the regressions are as wide as there are features.
    """

    neighbours: float = 0.7
    largest_set: float = 0.5
    larger: float = 2.0
    margins: tuple[tuple[float, float], ...] = (
        (0, 0), (-0.02, -0.02), (0.02, 0.02), (0.05, 0.05), (0, 0.02), (0, 0.05), (0, 0.1), (0, 0.3),
    )  # fmt: skip
    many: int = 10
    reaches: tuple[int, ...] = (30, 20, 14, 10, 7)
    far: float = 0.3
    clearly: float = 2.0
    flattered: float = 0.6
    kept_numbers: int = 1 << 26
    trees: int = 40
    leaves: tuple[int, ...] = (1, 3, 10, 30)
    bag: float = 0.5
    bag_rows: int = 4000
    tiny: int = 81
    false_units: float = 0.5
    least_units: int = 20
    features_per_unit: int = 10


@dataclass(frozen=True)
class NetworkPlan:
    """How networks learn, beside what `NetworkTraining` says.

    Attributes
    ----------
    clip, ramps, few_values : float, int, int
        Normal scores end here, so that no case is far out; ramps per feature, which let the first layer bend;
        columns of so few values are no measurements, and noise would only blur them.
    kinds : pair of pairs
        Noise and dropout of the members that see ramps, and of those that see scores alone: the two err
        differently, and their average is better than either.
    rate, warm, decay, clip_norm : float
        AdamW: highest rate, share of the steps that lead up to it, decay of the weights, longest gradient.
    slow : float
        Share of the present weights in the slow copy that gives the targets.
    quiet : float
        Share of the steps that learn classes only: gains of unlearned classes are noise.
    explore : float
        Share of the policy's own purchases that are random.
    tried : int
        Random purchases whose gain is learned in each state, beside the best.
    class_states : int
        States that classes are learned in for each state that gains are learned in: they cost a third.
    prices : pair of pairs
        Lowest and highest price met in training, by reward: in probabilities and in nats.
    dearest : pair
        Highest price at which candidates are judged, by reward: no purchase can be worth it.
    floor : float
        Log probabilities end here, lest one case outweigh all others.
    weights : pair
        Weight of the squared errors of gains beside the log loss of classes, by reward.
    grid, judged : int
        Prices and rows by which candidates are judged on rows left out.
    few_rows : int
        Up to so many rows are learned by heart before large networks and long trainings pay, and single
        networks differ more.
    averaged : float
        Temperature of the mean of networks over that of a single one, which is all that rows left out can
        tell: by their mean log probabilities they are as sure as each, and more often right.
    sparsities : pair
        Candidates are judged between these shares of units not bought.
    reading_rounds, reading_steps, reading_states : int
        Rounds in which gains are read from the trunk, and states of each: those of so many steps of training,
        and so many at most.
    ridges : tuple of float
        By which these are shrunk, as multiples of the mean square of what the trunk says; one is chosen.
    squared_unit : float
        Where answers are numbers: a squared error of so many variances is to gains what a wrong class is.
    """

    clip: float = 2.6
    ramps: int = 8
    few_values: int = 12
    kinds: tuple[tuple[float, float], ...] = ((0.1, 0.2), (0.15, 0.1))
    rate: float = 3e-3
    warm: float = 0.3
    decay: float = 1e-3
    clip_norm: float = 5.0
    slow: float = 0.02
    quiet: float = 0.25
    explore: float = 0.15
    tried: int = 2
    class_states: int = 2
    prices: tuple[tuple[float, float], ...] = ((3e-4, 3e-1), (1e-3, 1.0))
    dearest: tuple[float, float] = (1.0, 4.0)
    floor: float = -4.0
    weights: tuple[float, float] = (10.0, 1.0)
    grid: int = 19
    judged: int = 1000
    few_rows: int = 200
    averaged: float = 0.9
    sparsities: tuple[float, float] = (0.5, 0.95)
    reading_rounds: int = 4
    reading_steps: int = 16
    reading_states: int = 2048
    ridges: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
    squared_unit: float = 4.0


PLAN = PurchasePlan()
NETWORK = NetworkPlan()
