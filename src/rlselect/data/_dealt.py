"""A part of a table that was read, and the slices that its rows are dealt out to."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from rlselect.data._source import Batch


class HeldPart(Protocol):
    """Rows of a part, encoded and checked."""

    def slice(self, start: int, step: int) -> Batch:
        """Every `step`-th row from row `start`."""
        ...

    def rows(self, which: np.ndarray | None) -> Batch:
        """These rows, or all of them."""
        ...

    def columns(self, which: np.ndarray) -> "HeldPart":
        """The same rows with these design columns only."""
        ...


class WholePart:
    """A part in one piece.

    Parameters
    ----------
    batch : Batch
        Its rows, in their order.
    stays : bool
        Whether it stays in memory anyway: its slices are views then. Else they are copies, so that what keeps
        some of them does not keep the part.
    """

    def __init__(self, batch: Batch, *, stays: bool) -> None:
        self._batch, self._stays = batch, stays

    def slice(self, start: int, step: int) -> Batch:
        """Every `step`-th row from row `start`."""
        found = _each(self._batch, lambda v: v[start::step])
        return found if self._stays else _each(found, np.copy)

    def rows(self, which: np.ndarray | None) -> Batch:
        """These rows, or all of them."""
        return self._batch if which is None else _each(self._batch, lambda v: v[which])

    def columns(self, which: np.ndarray) -> "WholePart":
        """The same rows with these design columns only."""
        return WholePart(self._batch._replace(X=self._batch.X[:, which]), stays=self._stays)


class DealtPart:
    """A part whose rows were dealt out while it was read: of m slices, number k has every m-th from row k.

    Columns lie one after the other in files, and in the slices, too: each is copied from its run. Long rows
    would be written a number at a time, and be read once more to be dealt out.

    Parameters
    ----------
    slices : sequence of Batch
        In the order of their first rows.
    """

    def __init__(self, slices: Sequence[Batch]) -> None:
        self._slices = slices
        self._n_rows = sum(len(batch.X) for batch in slices)

    def slice(self, start: int, step: int) -> Batch:
        """Every `step`-th row from row `start`."""
        if step == len(self._slices):
            return self._slices[start]
        return self.rows(np.arange(start, self._n_rows, step))

    def rows(self, which: np.ndarray | None) -> Batch:
        """These rows, or all of them; each in one run."""
        which = np.arange(self._n_rows) if which is None else which
        m = len(self._slices)
        places = [np.flatnonzero(which % m == k) for k in range(m)]
        out = _each(self._slices[0], lambda v: np.empty((len(which), *v.shape[1:]), dtype=v.dtype))
        for to, batch in zip(places, self._slices, strict=True):
            for target, values in zip(out, batch, strict=True):
                if values is not None:
                    # picked column by column, as they lie
                    target[to] = values.T.take(which[to] // m, axis=-1).T
        return out

    def columns(self, which: np.ndarray) -> "DealtPart":
        """The same rows with these design columns only."""
        return DealtPart([batch._replace(X=batch.X[:, which]) for batch in self._slices])


def _each(batch: Batch, function: Callable[[np.ndarray], np.ndarray]) -> Batch:
    return Batch(*(None if v is None else function(v) for v in batch))
