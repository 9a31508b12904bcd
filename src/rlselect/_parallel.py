"""Independent tasks through joblib, on one thread of BLAS each: the answer is the same wherever they run."""

import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController


def run_tasks(
    function: Callable[..., Any], tasks: Iterable[tuple], *, n_jobs: int | None = None, prefer: Any = None
) -> list[Any]:
    """``[function(*task) for task in tasks]``, several at a time where joblib is told so.

    Parameters
    ----------
    function : callable
        A free function or a method, which can be sent to another process.
    tasks : iterable of tuples
        Arguments; a task is worth the sending from some 50 ms on.
    n_jobs : int, optional
        Tasks at a time, see joblib; None leaves it to `joblib.parallel_config`.
    prefer : {"threads", "processes"}, optional
        Where, unless `joblib.parallel_config` says so.

    Returns
    -------
    list
    """
    # threads share the limit of their process, which only one of them can set: the caller
    with one_thread():
        return Parallel(n_jobs=n_jobs, prefer=prefer)(delayed(alone)(function, *task) for task in tasks)


def jobs(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Inside, tasks run so many at a time; None leaves it to `joblib.parallel_config`."""
    if n_jobs is None:
        return nullcontext()
    from joblib import parallel_config

    return parallel_config(n_jobs=n_jobs)


def alone(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function on one thread of BLAS: the last digits of a product depend on their number."""
    with one_thread():
        return function(*args)


def one_thread() -> AbstractContextManager[Any]:
    """Inside, BLAS keeps to one thread: on small matrices, or large ones, more threads only wait."""
    return _controller(len(sys.modules)).limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:
    # looking for libraries takes milliseconds, and a module that was loaded since may have brought one
    return ThreadpoolController()
