"""What pytest leaves alone on this machine."""

from importlib.util import find_spec

# Modules that are only ever imported by those who ask for torch; their tests are skipped without it, too.
collect_ignore_glob = [] if find_spec("torch") else ["src/rlselect/*/*_torch*.py"]
