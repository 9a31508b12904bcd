"""Smoothly clipped absolute deviation (skglm, shape 3.7), lambda by EBIC (gamma .5) after a refit."""

from peers import _skglm

NAME = "SCAD, EBIC"
FAMILIES = ("gaussian", "binomial")
SHAPE = 3.7

available = _skglm.available


def select(X, y, family, *, seed):
    from skglm.penalties import SCAD

    return _skglm.select_ebic(X, y, family, SCAD(1.0, SHAPE / _skglm.CURVATURE[family]))
