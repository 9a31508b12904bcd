"""What tests of several rooms share."""

import pytest


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
