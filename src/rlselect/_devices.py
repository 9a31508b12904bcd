"""Where torch computes."""

from typing import Any

__all__ = ["find_device", "has_device"]


def find_device(device: str) -> Any:
    """The torch device of this name ("torch" is the CPU); an error that says the fix if there is none."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"device={device!r} needs torch, which is not installed; "
            "run pip install 'rlselect[torch]', or use device='cpu'"
        ) from error
    try:
        found = torch.device("cpu" if device == "torch" else device)
    except RuntimeError as error:
        raise ValueError(
            f"device={device!r} was given; allowed are 'cpu', 'torch' (torch on the CPU), and torch's own "
            "names such as 'cuda' or 'cuda:1'"
        ) from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device={device!r} was given, but torch sees no GPU here; use device='cpu'")
    return found


def has_device(device: str) -> bool:
    """Whether `find_device` finds it here."""
    try:
        find_device(device)
    except (ImportError, ValueError):
        return False
    return True
