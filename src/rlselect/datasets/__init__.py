"""Two small public sets and a simulated trial, which are bundled, and a local folder of larger ones."""

from rlselect.datasets._crime import load_crime
from rlselect.datasets._local import load_local
from rlselect.datasets._visits import load_epilepsy, load_simulated_visits

__all__ = ["load_crime", "load_epilepsy", "load_local", "load_simulated_visits"]
