"""The one place that knows scikit-learn's versions."""

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


__all__ = ["CallbackSupportMixin", "progress_reporter", "with_callbacks"]


def progress_reporter(estimator: Any, steps: int) -> Callable[[], bool] | None:
    """Callable that reports one of `steps` parts done, and says whether a callback asked to stop.

    None when nobody watches.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        return None
    context = estimator._init_callback_context(max_subtasks=steps)
    context.call_on_fit_task_begin(estimator=estimator)

    def report() -> bool:
        part = context.subcontext(task_name="stage")
        part.call_on_fit_task_begin(estimator=estimator)
        return bool(part.call_on_fit_task_end(estimator=estimator))

    return report
