"""What pytest leaves alone on this machine."""

from importlib.util import find_spec

# Modules that are only ever imported by those who ask for torch; their tests are skipped without it, too.
_NEED_TORCH = ["src/rlselect/subset/acp/masked/*_torch*.py", "src/rlselect/regimes/_torch_*.py"]
collect_ignore_glob = [] if find_spec("torch") else _NEED_TORCH
