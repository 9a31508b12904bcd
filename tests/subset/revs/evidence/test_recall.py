"""What was solved is found again, within a number of bytes."""

import numpy as np

from rlselect.subset.revs.evidence._recall import Recall


def test_the_longest_unused_are_dropped():
    recall = Recall(most_bytes=3 * 80)
    for name in "abc":
        recall.put(name, {"values": np.zeros(10), "more": 1.0})
    assert recall.get("a") is not None
    recall.put("d", {"pair": (np.zeros(5), np.zeros(5), 2)})
    assert [name for name in "abcd" if recall.get(name) is not None] == ["a", "c", "d"]
    recall.put("c", {"values": np.zeros(30)})
    assert [name for name in "abcd" if recall.get(name) is not None] == ["c"]
    recall.put("e", {"values": np.zeros(31)})
    assert len(recall) == 0
    recall.put("f", {"values": np.zeros(30)})
    assert len(recall) == 1


def test_a_copy_goes_its_own_way():
    recall = Recall(most_bytes=160)
    recall.put("a", {"values": np.zeros(10)})
    twin = recall.copy()
    twin.put("b", {"values": np.zeros(10)})
    twin.put("c", {"values": np.zeros(10)})
    assert twin.get("a") is None
    assert recall.get("a") is not None
    assert recall.get("b") is None
