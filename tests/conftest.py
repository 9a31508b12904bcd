"""What tests of several rooms share."""

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import figures
from chromium import Browser, find_chromium


def pytest_configure():
    """Let Ctrl-C reach the tests that send it: a shell has its programs in the background ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _Watch:
    """Counts the parts of a fit, and asks to stop after some of them."""

    def __init__(self, most=None):
        self.most = most
        self.parts = 0
        self.ended = False

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.ended = True

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.parts += context.parent is not None
        return self.most is not None and self.parts >= self.most


@pytest.fixture
def Watch():
    return _Watch


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests of a process."""
    if find_chromium() is None:
        pytest.skip("Chromium is not installed (on Debian and Ubuntu: apt-get install chromium)")
    try:
        running = Browser()
    except (ConnectionError, BrokenPipeError) as error:
        pytest.skip(f"Chromium does not start: {error}")
    yield running
    running.close()


@pytest.fixture
def assert_readable():
    return figures.assert_readable
