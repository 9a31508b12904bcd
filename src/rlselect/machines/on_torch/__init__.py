"""Kernel machines on torch's devices; imported only where a device was asked for."""

from rlselect.machines.on_torch._elimination import on_device
from rlselect.machines.on_torch._kernels import TorchKernels, invert, solve_machines

__all__ = ["TorchKernels", "invert", "on_device", "solve_machines"]
