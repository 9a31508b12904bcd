"""The one place that knows scikit-learn's versions."""

import sys
from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9 has no callbacks: fits go unwatched

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin; `set_callbacks` needs scikit-learn 1.9."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Leave the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Progress", "user_level", "with_callbacks"]


class Progress:
    """Tells the callbacks of an estimator about its fit; does nothing when nobody watches.

    Parameters
    ----------
    estimator : estimator
        The one that is fitted.
    steps : int
        Parts the fit has; further ones are not told.
    """

    def __init__(self, estimator: Any, steps: int) -> None:
        self._estimator = estimator
        self._left = steps
        self.watched = bool(getattr(estimator, "_skl_callbacks", None))
        if self.watched:
            self._context = estimator._init_callback_context(max_subtasks=steps)
            self._context.call_on_fit_task_begin(estimator=estimator)

    def part(self) -> bool:
        """One part is done; whether a callback asks to stop."""
        if not self.watched or self._left == 0:
            return False
        self._left -= 1
        part = self._context.subcontext(task_name="stage")
        part.call_on_fit_task_begin(estimator=self._estimator)
        return bool(part.call_on_fit_task_end(estimator=self._estimator))

    def finish(self) -> None:
        """All is done, perhaps in fewer parts."""
        if self.watched:
            self._context.call_on_fit_task_end(estimator=self._estimator)


def user_level() -> int:
    """`stacklevel` with which a warning points at the user's line, behind scikit-learn's wrappers."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("rlselect.", "sklearn.")
    ):
        level, frame = level + 1, frame.f_back
    return level
