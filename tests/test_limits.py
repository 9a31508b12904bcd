"""How many rows a time budget has room for."""

from rlselect._limits import count_in_time


def test_as_many_as_there_is_time_for():
    def takes(count):
        return 1e-6 * count**2

    assert count_in_time(900, 100, takes, 1.0) == 900
    assert 900 <= count_in_time(5000, 100, takes, 1.0) <= 1000
    assert count_in_time(5000, 100, takes, 1e-9) == 100
    # fewer than the fewest are all that there are
    assert count_in_time(60, 100, takes, 1e-9) == 60
