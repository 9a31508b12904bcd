"""The one place that knows scikit-learn's versions."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

if TYPE_CHECKING:

    class CallbackSupportMixin:
        """Scikit-learn's mixin, as far as it is used here."""

    def with_callbacks(method: Method) -> Method:
        """Scikit-learn's decorator, which leaves the signature as it is."""
        return method

else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # scikit-learn < 1.9 has no callbacks: fits go unwatched

        class CallbackSupportMixin:
            """Stands in for scikit-learn's mixin; `set_callbacks` needs scikit-learn 1.9."""

        def with_callbacks(method):
            """Leave the method as it is."""
            return method


__all__ = ["CallbackSupportMixin", "Progress", "in_container", "output_kind", "user_level", "with_callbacks"]


class Progress:
    """Tells the callbacks of an estimator about its fit; does nothing when nobody watches.

    Parameters
    ----------
    estimator : estimator
        The one that is fitted.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._left = 0
        self._context: Any = None

    def begin(self, parts: int) -> Callable[[], bool] | None:
        """The fit has so many parts, and further ones are not told; `part`, unless nobody watches."""
        if not getattr(self._estimator, "_skl_callbacks", None):
            return None
        self._left = parts
        self._context = self._estimator._init_callback_context(max_subtasks=parts)
        self._context.call_on_fit_task_begin(estimator=self._estimator)
        return self.part

    def part(self) -> bool:
        """One part is done; whether a callback asks to stop."""
        if self._left == 0:
            return False
        self._left -= 1
        part = self._context.subcontext(task_name="stage")
        part.call_on_fit_task_begin(estimator=self._estimator)
        return bool(part.call_on_fit_task_end(estimator=self._estimator))

    def finish(self) -> None:
        """All is done, perhaps in fewer parts."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)


def output_kind(estimator: Any) -> str:
    """What `set_output` asks `transform` for: "default", "pandas" or "polars"."""
    from sklearn.utils._set_output import _get_output_config

    return _get_output_config("transform", estimator)["dense"]


def in_container(values: Any, X: Any, estimator: Any) -> Any:
    """An array of `transform` in the container that `set_output` asks for; `X` is what it was made of."""
    from sklearn.utils._set_output import _wrap_data_with_container

    return _wrap_data_with_container("transform", values, X, estimator)


def user_level() -> int:
    """`stacklevel` with which a warning points at the user's line, behind scikit-learn's wrappers."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("rlselect.", "sklearn.")
    ):
        level, frame = level + 1, frame.f_back
    return level
