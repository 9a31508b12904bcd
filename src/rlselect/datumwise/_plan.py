"""Numbers that decide what is learned and that no option changes, each with its reason."""

from dataclasses import dataclass

__all__ = ["PLAN", "PurchasePlan"]


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
    kept_numbers : int
        Numbers in the policies that a climb keeps at most (256 MiB); with very many features fewer are
        averaged.
    trees, leaves, bag, bag_rows : int, tuple of int, float, int
        Forest of the soft labels: trees, rows in a leaf that are tried (out of bag), share of the rows that
        a tree is grown from, so that most trees can judge a row, and their number at most.
    tiny : int
        A problem of so many states of knowledge (four binary features) is solved exactly even when there are
        fewer rows than states.
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
    kept_numbers: int = 1 << 26
    trees: int = 40
    leaves: tuple[int, ...] = (1, 3, 10, 30)
    bag: float = 0.5
    bag_rows: int = 4000
    tiny: int = 81


PLAN = PurchasePlan()
