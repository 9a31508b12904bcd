"""Some command lines of the fuzzer, the same ones every time; `commands.py` runs thousands of others."""

from commands import judge, run_command

TRIALS = 30


def test_no_command_is_bad():
    codes = []
    for seed in range(TRIALS):
        words, wrong, result = run_command(seed)
        assert wrong is None, (wrong, words, result.output)
        codes.append(result.exit_code)
    # of what is drawn, some must come to an answer
    assert codes.count(0) > 3


def test_the_judge_knows_a_traceback_from_a_sentence():
    class Result:
        exception, exit_code, stderr = SystemExit(2), 2, "Error: --missing drop helps."

    assert judge(Result()) is None
    for change in (
        {"exception": IndexError("no")},
        {"exit_code": 1},
        {"stderr": "boom"},
        {"stderr": "Error: use missing='drop'."},
    ):
        result = Result()
        vars(result).update(change)
        assert judge(result) is not None
