"""Files of fitted estimators and searches: arrays and JSON under a checksum, loaded without running code."""

from rlselect.persist._container import NotAtHand, Unreadable
from rlselect.persist._files import content_digest, load, load_object, save, save_object
from rlselect.persist._pack import Unsavable
from rlselect.persist._unpack import checked_state

__all__ = [
    "NotAtHand",
    "Unreadable",
    "Unsavable",
    "checked_state",
    "content_digest",
    "load",
    "load_object",
    "save",
    "save_object",
]
