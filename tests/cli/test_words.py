"""Refusals and advice in the words of the command line: flags, names of files, what can be pasted."""

import ast
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

import rlselect
from rlselect.cli import main
from rlselect.cli._errors import BadInput, one_sentence
from rlselect.cli._words import in_flags, report_in_flags


@pytest.fixture
def pain(tmp_path, monkeypatch):
    """Two visits of each patient: decimal commas, dates with points, names of several words."""
    monkeypatch.chdir(tmp_path)
    lines = ["who;visit;day;age;drug;pain before;pain after"]
    for i in range(40):
        for visit in (1, 2):
            after = 50 + (i % 7) - 6 * (i % 2 == visit % 2) + 0.25 * (i % 5)
            before = "" if i == 3 else f"{after + 3:.2f}"
            row = f"p{i};{visit};{i % 28 + 1:02d}.0{visit}.2024;{20 + i};{'AB'[i % 2]};{before};{after:.2f}"
            lines.append(row.replace(".", ",").replace(",0", ".0", 1).replace(",2024", ".2024"))
    (tmp_path / "pain.csv").write_text("\n".join(lines) + "\n")
    return "pain.csv"


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_python_words_become_flags_of_the_command():
    with _context("select"):
        for said, told in [
            (
                'set missing="drop", or n_jobs=2.',
                "set --missing drop, or n_jobs=2. (n_jobs is a word of the Python interface.)",
            ),
            ("time_budget=-1.5 was given; it must", "--time-budget -1.5 was given; it must"),
            ("say missing='indicator'.", "say --missing indicator."),
            ("x.missing=3 and amissing=4", "x.missing=3 and amissing=4"),
        ]:
            with pytest.raises(BadInput) as refused, one_sentence():
                raise ValueError(said)
            assert refused.value.message == told


def test_the_command_that_check_names_can_be_run_as_it_stands(pain):
    told = run("check", pain, "--target", "pain after", "--question", "decision", "--drop", "age")
    line = next(line for line in told.stdout.splitlines() if line.startswith("rlselect regimes"))
    words = shlex.split(line)[1:]
    assert words[words.index("--id") + 1] == "who"
    assert [words[k + 1] for k, word in enumerate(words) if word == "--drop"] == ["day", "age"]
    words[words.index("ACTION")] = "drug"
    assert run(*words, "--quiet").exit_code == 0
    told = run("check", pain, "--target", "pain after", "--decimal", ",", "--na", "p 1")
    line = next(line for line in told.stdout.splitlines() if line.startswith("rlselect effects"))
    words = shlex.split(line)[1:]
    assert words[words.index("--formula") + 1] == "`pain after` ~ age + drug"  # one gives it away
    assert words[words.index("--na") + 1] == "p 1"
    assert run(*words, "--quiet").exit_code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["regimes", "--stage", "visit", "--reward", "pain after"], "(--decimal ,)"),
        (["regimes", "--stage", "visit", "--reward", "pain after", "--decimal", ","], "--missing indicator"),
        (["effects", "--time", "visit", "--formula", "pain after ~ drug"], "backticks: `pain after`"),
        (["effects", "--time", "visit", "--formula", "`pain after` ~ drug"], "(--decimal ,)"),
    ],
)
def test_a_refusal_names_the_flag_that_helps(pain, words, told):
    more = ["--action", "drug", "--drop", "day"] if words[0] == "regimes" else []
    result = run(words[0], pain, "--id", "who", *words[1:], *more)
    assert result.exit_code == 2
    assert told in result.stderr


def test_dates_with_points_are_times(pain):
    result = run(
        "effects", pain, "--id", "who", "--time", "day", "--formula", "`pain after` ~ drug",
        "--decimal", ",", "--visits", "bin", "--grid", "2",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "from 2024-01" in result.stdout


def test_predictions_of_commas_name_the_flag(tmp_path):
    table = pa.table({"a": [0.5 * k for k in range(40)], "y": [1.5 * k + k % 3 for k in range(40)]})
    csv.write_csv(table, tmp_path / "t.csv")
    (tmp_path / "n.csv").write_text("a\n" + '"1,5"\n"2,5"\n')
    assert run("select", tmp_path / "t.csv", "--target", "y", "--save", tmp_path / "m").exit_code == 0
    result = run("predict", tmp_path / "m", tmp_path / "n.csv", "--out", tmp_path / "o.csv")
    assert "--decimal ," in result.stderr
    done = run("predict", tmp_path / "m", tmp_path / "n.csv", "--out", tmp_path / "o.csv", "--decimal", ",")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_predictions_stand_beside_columns_that_are_kept(kind, tmp_path):
    names = [f"house {k}" for k in range(40)]
    table = pa.table(
        {"id": names, "a": [0.5 * k for k in range(40)], "y": [1.5 * k + k % 3 for k in range(40)]}
    )
    path, out = tmp_path / f"t.{kind}", tmp_path / "o.csv"
    csv.write_csv(table, path) if kind == "csv" else parquet.write_table(table, path)
    model = tmp_path / "m"
    assert run("select", path, "--target", "y", "--drop", "id", "--save", model).exit_code == 0
    done = run("predict", model, path, "--out", out, "--keep", "id", "--keep", "y")
    assert done.exit_code == 0, done.output
    told = csv.read_csv(out)
    assert told.column_names == ["id", "y", "prediction"]
    assert told["id"].to_pylist() == names
    np.testing.assert_allclose(told["prediction"].to_numpy(), told["y"].to_numpy(), atol=3)
    refused = run("predict", model, path, "--out", out, "--keep", "ids")
    assert refused.exit_code == 2
    assert "--keep 'ids' is not a column" in refused.stderr
    assert "Did you mean 'id'?" in refused.stderr


# parameter=value, as Python says it; names of design columns are no such thing here
_PYTHON = re.compile(r"(?<![\w.])([a-z]\w*)=(?:[\"'][\w.-]+[\"']|True|False|None|\d)")
# rooms and the commands that reach them; what all share is reached by each
_REACHED = {
    "subset": ("select", "compare"),
    "datumwise": ("datumwise",),
    "regimes": ("regimes",),
    "temporal": ("effects",),
}
# what only Python reaches: pictures, sessions, saved pages, paper modes, methods after the fit
_PYTHON_ONLY = re.compile(
    r"report/|_display|_imputations|_after_fit|_session|_export|_overview|_sarsa|_local|simulate|cli/"
)


def _sentences():
    """All texts of the library that name a parameter with a value, f-strings with ? for what they show."""
    root = Path(rlselect.__file__).parent
    for path in sorted(root.rglob("*.py")):
        where = str(path.relative_to(root))
        if _PYTHON_ONLY.search(where):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inside = {
            id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
        }
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        skipped = docs | inside
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else "1" for p in node.values)
                text = "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
                text = node.value
            else:
                continue
            if " " in text and _PYTHON.search(text) and "\n" not in text:
                yield where, text


def _context(command):
    words = {"select": ["--target", "y"], "compare": ["--target", "y"], "datumwise": ["--target", "y"]}
    words["regimes"] = [w for o in ("--id", "--stage", "--action", "--reward") for w in (o, "a")]
    words["effects"] = ["--formula", "y ~ a", "--id", "a", "--time", "t"]
    root = main.make_context("rlselect", [command, "a.csv", *words[command]])
    found = main.commands[command]
    if command == "datumwise":
        found = found.commands["learn"]
    return found.make_context(command, ["a.csv", *words[command]], parent=root)


def test_no_sentence_of_the_library_leaves_a_user_of_the_command_line_with_words_of_python():
    sentences = list(_sentences())
    assert len(sentences) > 100
    contexts = {command: _context(command) for names in _REACHED.values() for command in names}
    for where, text in sentences:
        commands = _REACHED.get(where.split("/")[0], tuple(contexts))
        for command in commands:
            with contexts[command]:
                told = in_flags(text)
            body, _, _ = told.partition(" of the Python interface.)")
            left = {found[1] for found in _PYTHON.finditer(body)}
            named = set(re.findall(r"\w+", body[body.rfind(" (") :]))
            # what is neither a flag nor a parameter is the shape of an array
            unsaid = left - named - {"shape", "n_samples"}
            assert not unsaid, (where, command, told)


def test_what_two_flags_stand_for_is_said_by_the_one_of_the_command():
    for command, said, told in [
        ("select", "set task='regression'", "set --family gaussian"),
        ("compare", "set task='regression'", "set --task regression"),
        ("select", "set loss='squared_label'", "set --family binomial"),
        ("select", "set time_ordered=True; give `groups`", "set --time-ordered; give --groups"),
        ("select", "With average=False they", "With --no-average of rlselect predict they"),
        ("select", "sample_weight is negative", "--weight is negative"),
        ("select", "as missing (--na '?', na_values of pandas).", "as missing (--na '?')."),
        ("select", "the column 'sample_weight' is", "the column 'sample_weight' is"),
        ("regimes", "say action_type='dose'", "say --dose"),
        ("regimes", "leaving='ends'", "--leaving ends"),
        ("regimes", "set missing='drop'", "set missing='drop' (missing is a word of the Python interface.)"),
        ("effects", "n_splines=9 was given", "--splines 9 was given"),
    ]:
        with _context(command):
            assert in_flags(said) == told
    assert in_flags("missing='drop'") == "missing='drop'"  # in Python


def test_a_method_is_a_flag_of_the_command_that_knows_methods():
    said = "order=2 finds products of variables and another method (ActorCriticPredictor) curves as well."
    with _context("select"):
        assert in_flags(said) == "--order 2 finds products of variables and --method acp curves as well."
    with _context("compare"):
        assert "ActorCriticPredictor" in in_flags(said)


def test_names_and_levels_in_a_report_are_left_alone():
    report = {
        "notes": ['let inference="split" keep', "sample_weight is selected"],
        "sections": [
            {"title": "t", "note": "missing='drop'", "rows": [["family=cox", 1.0], ["method=acp", 2]]}
        ],
    }
    with _context("select"):
        told = report_in_flags(report)
    assert told["notes"] == ["let --inference split keep", "sample_weight is selected"]
    assert told["sections"][0]["rows"] == report["sections"][0]["rows"]
    assert told["sections"][0]["note"] == "--missing drop"


def _walk(value, key=""):
    """Sentences of a report: not names, code or settings."""
    if isinstance(value, dict):
        for name, one in value.items():
            if name not in ("made", "variables", "credible_groups", "path"):
                yield from _walk(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from _walk(one, key)
    elif isinstance(value, str) and " " in value:
        yield value


@pytest.mark.parametrize("words", [
    ["select", "--inference", "split"],
    ["select", "--target", "y,b"],
    ["select", "--target", "y,b", "--responses", "each"],
    ["select", "--max-features", "2", "--sign", "+", "--order", "2"],
    ["select", "--method", "acp"],
    ["select", "--method", "risk-rfe"],
    ["select", "--method", "thompson"],
    ["datumwise", "--scoring", "bins"],
])  # fmt: skip
def test_no_result_of_a_command_speaks_python(words, tmp_path):
    import json

    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    table = {name: X[:, k] for k, name in enumerate("abc")} | {"y": 2 * X[:, 0] + rng.normal(size=60)}
    csv.write_csv(pa.table(table), tmp_path / "t.csv")
    target = [] if "--target" in words else ["--target", "y"]
    result = run(words[0], tmp_path / "t.csv", *words[1:], *target, "--json", tmp_path / "r.json")
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "r.json").read_text())
    for text in _walk(report):
        assert not _PYTHON.search(text), text
        assert "Python interface" not in text


def _read_in_parts(monkeypatch):
    """Let no CSV file be small."""
    from rlselect import data
    from rlselect.data import _open

    for module in (data, _open):
        monkeypatch.setattr(module, "SMALL_CSV", 0)


@pytest.mark.parametrize("size", ["whole", "in parts"])
@pytest.mark.parametrize(
    ("decimal", "thousands", "between"), [(",", ".", "."), (".", ",", ","), (",", "space", "\u202f")]
)
def test_marks_between_thousands_are_read_in_every_part_of_a_file(
    size, decimal, thousands, between, tmp_path, monkeypatch
):
    from rlselect.data import _csv

    if size == "in parts":
        _read_in_parts(monkeypatch)
        monkeypatch.setattr(_csv, "_BLOCK", 2048)
    rng = np.random.default_rng(0)
    # small numbers first: nothing in the first block tells
    a = np.sort(rng.uniform(1, 90_000, size=400)).round(2)
    y = (3 * a + rng.normal(size=400)).round(2)

    def written(value):
        return f"{value:,.2f}".replace(",", "|").replace(".", decimal).replace("|", between)

    lines = [
        "id;a;word;y",
        *(f"{k};{written(u)};w{k % 3};{written(v)}" for k, (u, v) in enumerate(zip(a, y, strict=True))),
    ]
    path, model, out = tmp_path / "t.csv", tmp_path / "m", tmp_path / "o.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    flags = ["--decimal", decimal, "--thousands", thousands]
    done = run("select", path, "--target", "y", "--drop", "id", *flags, "--save", model)
    assert done.exit_code == 0, done.output
    assert "a, which is near certain" in " ".join(done.stdout.split())
    kept = run("predict", model, path, "--out", out, "--keep", "id", *flags, "--no-average")
    assert kept.exit_code == 0, kept.output
    told = csv.read_csv(out)
    assert told["id"].to_pylist() == list(range(400))
    np.testing.assert_allclose(told["prediction"].to_numpy(), y, atol=6)


@pytest.mark.parametrize("size", ["whole", "in parts"])
def test_units_are_read_in_every_part_of_a_file(size, tmp_path, monkeypatch):
    from rlselect.data import _csv

    if size == "in parts":
        _read_in_parts(monkeypatch)
        monkeypatch.setattr(_csv, "_BLOCK", 1024)
    rng = np.random.default_rng(0)
    a = np.sort(rng.uniform(-50, 3000, size=200)).round(1)
    y = (3 * a + rng.normal(size=200)).round(1)
    cells = (
        f"{k};{u:,.1f} %;{k % 7}k;-$ {-v}" if v < 0 else f"{k};{u:,.1f}%;{k % 7}k;${v}"
        for k, (u, v) in enumerate(zip(a, y, strict=True))
    )
    path, model, out = tmp_path / "t.csv", tmp_path / "m", tmp_path / "o.csv"
    path.write_text("\n".join(["id;a;word;y", *cells]) + "\n", encoding="utf-8")
    said = " ".join(run("select", path, "--target", "y").stderr.split())
    assert "'a', 'y' hold numbers with units" in said
    # the flags that are told do what they say
    flags = shlex.split(said.split("Use ")[1].rstrip("."))
    assert sorted(flags) == sorted(["--thousands", ",", "--unit", "%", "--unit", "$"])
    done = run("select", path, "--target", "y", "--drop", "id", *flags, "--save", model)
    assert done.exit_code == 0, done.output
    assert "a, which is near certain" in " ".join(done.stdout.split())
    kept = run("predict", model, path, "--out", out, *flags, "--no-average")
    assert kept.exit_code == 0, kept.output
    np.testing.assert_allclose(csv.read_csv(out)["prediction"].to_numpy(), y, atol=6)


@pytest.mark.parametrize("unit", ["", "5", "1.", "-"])
def test_what_is_no_unit_is_refused(unit, tmp_path):
    done = run("check", tmp_path, "--unit", unit)
    assert done.exit_code == 2
    assert "give what stands beside the numbers" in done.stderr


def test_one_mark_cannot_be_both_and_numbers_that_need_one_say_so(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;y\n" + "".join(f"1.{k:03d},5;{k},25\n" for k in range(60)))
    both = run("select", path, "--target", "y", "--decimal", ",", "--thousands", ",")
    assert both.exit_code == 2
    assert "one mark cannot be both" in both.stderr
    told = run("select", path, "--target", "y")
    assert "--decimal , --thousands ." in told.stderr
    done = run("select", path, "--target", "y", "--decimal", ",", "--thousands", ".")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    "command", [["select"], ["datumwise", "--scoring", "bins"], ["compare", "--method", "cfs"]]
)
def test_rows_without_a_target_and_dates_have_flags_in_every_command_that_explains_one(command, tmp_path):
    lines = ["when,a,y"]
    for k in range(80):
        lines.append(
            f"2024-{k % 12 + 1:02d}-{k % 28 + 1:02d},{k % 7},{'' if k % 9 == 0 else 2 * (k % 7) + k % 2}.5"
        )
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines).replace(",.5", ",") + "\n")
    words = [command[0], path, *command[1:], "--target", "y"]
    told = run(*words)
    assert told.exit_code == 2
    assert "--drop-missing-target" in told.stderr
    assert "--expand-dates" in told.stderr
    done = run(*words, "--drop-missing-target", "--expand-dates")
    assert done.exit_code == 0, done.output
    assert "Left out 9 of 80 rows without y" in done.stderr


def test_reading_that_is_not_counted_is_told_before_and_leaves_the_search_its_time(tmp_path, monkeypatch):
    from rlselect import _clock

    _read_in_parts(monkeypatch)
    monkeypatch.setattr(_clock, "_READ", 0.0)
    monkeypatch.setattr(_clock, "_READ_SHARE", 0.0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 5))
    table = {f"x{k}": X[:, k] for k in range(5)} | {"y": X[:, 0] + rng.normal(size=6000)}
    csv.write_csv(pa.table(table), tmp_path / "t.csv")
    told = run("select", tmp_path / "t.csv", "--target", "y", "--time-budget", "0.01")
    assert told.exit_code == 0, told.output
    assert "is not counted in --time-budget 0.01" in told.stderr
    quiet = run("select", tmp_path / "t.csv", "--target", "y")
    assert "not counted" not in quiet.stderr


def test_a_class_of_one_row_is_learnt_from_not_judged_by(tmp_path):
    lines = [f"{k % 5},{'rare' if k == 7 else 'ab'[k % 5 > 2]}" for k in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    for seed in range(4):
        done = run("datumwise", tmp_path / "t.csv", "--target", "y", "--scoring", "bins", "--seed", seed,
                   "--time-budget", "0.2")  # fmt: skip
        assert done.exit_code == 0, done.output


def test_effects_and_regimes_write_models_that_are_shown_again(pain, tmp_path):
    words = ["--id", "who", "--decimal", ",", "--time-budget", "60"]
    lines = {
        "e": ["effects", pain, "--time", "visit", "--formula", "`pain after` ~ drug"],
        "r": ["regimes", pain, "--stage", "visit", "--action", "drug", "--reward", "pain after",
              "--drop", "day", "--missing", "indicator"],
    }  # fmt: skip
    for name, line in lines.items():
        first = run(*line, *words, "--save", tmp_path / name, "--html", tmp_path / "page.html")
        assert first.exit_code == 0, first.output
        again = run("report", tmp_path / name)
        assert again.exit_code == 0, again.output
        # the facts and the tables, below a title of its own
        assert again.stdout.splitlines()[-3] == first.stdout.splitlines()[-3]
        page = (tmp_path / "page.html").read_text()
        assert f"<pre>rlselect {line[0]} pain.csv" in page
    # new rows of the same shape are told what to do at their stage
    out = tmp_path / "what.csv"
    done = run("predict", tmp_path / "r", pain, "--decimal", ",", "--keep", "who", "--out", out)
    assert done.exit_code == 0, done.output
    frame = pd.read_csv(pain, sep=";", decimal=",")
    roles = {"id": "who", "stage": "visit", "action": "drug", "reward": "pain after"}
    trial = rlselect.TrialData.from_long(
        frame, **roles, covariates=["age", "pain before"], missing="indicator"
    )
    learner, told = rlselect.load(tmp_path / "r"), pd.read_csv(out)
    for stage in (1, 2):
        expected = learner.predict(trial, stage=stage)
        assert told["recommendation"][frame["visit"] == stage].tolist() == expected.tolist()
    frame.assign(visit=3).to_csv(tmp_path / "third.csv")
    refused = run("predict", tmp_path / "r", tmp_path / "third.csv", "--out", out)
    assert "holds the stage '3'; the model knows '1', '2'" in refused.stderr


def test_rows_that_are_dropped_with_the_target_are_told(tmp_path):
    lines = [f"{k % 7},{'2024-01-01' if k % 3 else ''},{'yes' if k % 3 else 'no'}" for k in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["x,left,y", *lines]) + "\n")
    told = run("select", tmp_path / "t.csv", "--target", "y", "--missing", "drop")
    assert told.exit_code == 2
    assert "Whether 'left' is missing tells 'y'" in told.stderr
    assert "-> --drop left" in told.stderr


@pytest.mark.parametrize("kind", ["csv", "csv in parts", "parquet"])
def test_numbers_may_be_names_of_categories(kind, tmp_path, monkeypatch):
    if kind == "csv in parts":
        from rlselect.data import _csv

        _read_in_parts(monkeypatch)
        monkeypatch.setattr(_csv, "_BLOCK", 1024)
    rng = np.random.default_rng(0)
    region, x = rng.integers(1, 10, 240), rng.normal(size=240).round(3)
    # its effects do not follow the numbers
    y = (np.cos(3.0 * region) * 4 + x + 0.1 * rng.normal(size=240)).round(3)
    frame = pa.table({"region": region, "x": x, "y": y})
    path, model, out = tmp_path / f"t.{kind.split()[0]}", tmp_path / "m", tmp_path / "o.csv"
    parquet.write_table(frame, path, row_group_size=60) if kind == "parquet" else csv.write_csv(frame, path)
    told = run("check", path, "--target", "y").stdout
    assert "--category region where they are names" in " ".join(told.split())
    done = run("select", path, "--target", "y", "--category", "region", "--save", model)
    assert done.exit_code == 0, done.output
    levels = [line.split()[0] for line in done.stdout.splitlines() if re.match(r"   \d+ ", line)]
    assert sorted(map(int, levels)) == list(range(2, 10))
    # new rows need no flag: the model knows which columns were names
    assert run("predict", model, path, "--out", out).exit_code == 0
    np.testing.assert_allclose(csv.read_csv(out)["prediction"].to_numpy(), y, atol=0.5)
    assert run("report", model, "--data", path).exit_code == 0
    wrong = run("select", path, "--target", "y", "--category", "regoin")
    assert "--category 'regoin' is not a column" in wrong.stderr
    assert "Did you mean 'region'?" in wrong.stderr


@pytest.mark.parametrize("question", ["everyone", "case", "decision", "moment"])
@pytest.mark.parametrize("visits", [False, True])
def test_mends_of_a_look_are_flags_of_the_command_that_it_names(question, visits):
    """Half of the flags that it advised for other questions than the first were refused by their commands."""
    rng = np.random.default_rng(7)
    n = 240
    frame = pd.DataFrame(
        {"patient": np.repeat([f"p{i}" for i in range(n // 4)], 4), "week": np.tile(range(4), n // 4)}
    )
    frame = frame if visits else frame[[]]
    frame["gaps"] = np.where(rng.random(n) < 0.2, np.nan, rng.standard_normal(n))
    frame["coded"] = np.where(rng.random(n) < 0.1, -999.0, rng.standard_normal(n))
    frame["marked"] = rng.choice(["a", "b", "?"], n)
    frame["grade"] = rng.integers(1, 5, n)
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D")
    frame["written"] = frame.day.dt.strftime("%d/%m/%Y")
    frame["note"] = [f"note {i}" for i in range(n)]
    frame["same"] = 1.0
    frame["copy"] = frame["coded"]
    frame["y"] = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 4, n))
    found = rlselect.check(frame, "y", question=question)
    command = found.recommendation.command.split()[1]
    assert command == {"everyone": "effects" if visits else "select", "case": "datumwise"}.get(
        question, {"decision": "regimes", "moment": "effects"}.get(question)
    )
    known = main.commands[command]
    known = getattr(known, "commands", {}).get("learn", known)
    flags = {word for option in known.params for word in (*option.opts, *option.secondary_opts)}
    told = [found.recommendation.command, *(one.command for one in found.findings)]
    told = [text for text in told if not text.startswith("rlselect effects DATA --formula")]
    assert {flag for text in told for flag in re.findall(r"--[a-z-]+", text)} <= flags
