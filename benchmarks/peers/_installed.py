"""Whether a peer can run here."""

from importlib import import_module


def installed(*modules):
    """Import what a peer needs; False where something is not there."""
    try:
        for module in modules:
            import_module(module)
    except ImportError:
        return False
    return True
