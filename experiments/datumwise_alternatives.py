"""The paper's future work: fitted Q-iteration, and codes for actions, beside rollouts in the same plain loop.

python experiments/datumwise_alternatives.py --replicates 3 --seed 300
"""

import time

import numpy as np
from _datumwise_common import Records, arguments, load, write

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PolicyIteration
from rlselect.datumwise._improve import blend, draw_states, first_policies
from rlselect.datumwise._learn import CaseTable
from rlselect.datumwise._policy import AdditivePolicy
from rlselect.datumwise._read_rules import read_rules
from rlselect.datumwise._regression import shared_fit
from rlselect.datumwise._rollout import play_states

SETS = ("breast_cancer", "heart", "vehicle", "switch")
PRICE = 0.01
SETTINGS = PolicyIteration(n_folds=1, soft_labels=False, states_per_row=10)
# how many codes there are for each action
SHARES = {"codes, 1/4": 0.25, "codes, 1/2": 0.5, "codes, 1": 1.0, "codes, 4": 4.0}
WAYS = ("rollouts", "fitted Q", *SHARES)


def rows_of(name, seed):
    """Half of the rows to learn from; in the simulated set one column says which of two others counts."""
    rng = np.random.default_rng(seed)
    if name == "switch":
        X = rng.normal(size=(2400, 10))
        y = (np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + 0.3 * rng.normal(size=2400) > 0).astype(int)
        n = 400
    else:
        problem = load(name)
        X, y, n = problem.X, problem.y, len(problem.y) // 2
    order = rng.permutation(len(y))
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def pose(X, y):
    """The problem, and what encodes new rows."""
    names = [f"x{j}" for j in range(X.shape[1])]
    rules = read_rules(names, np.unique(y), feature_cost=PRICE)
    return CaseTable(X, y, np.ones(len(y)), rules, {}, (3, 5, 8)).pose(np.arange(X.shape[1]), "bins")


def played(problem, policy, states):
    """Returns of every purchase, played to the end by the policy; again what is there only costs."""
    found = play_states(
        policy, problem.codes, problem.closed, states.row, states.bought, states.spent, problem.skipped
    )
    truth = problem.rules.losses.T[problem.labels[states.row]]
    returns, own = found.returns(truth)
    return np.where(np.isnan(returns), own[:, None] - problem.rules.prices, returns)


def bootstrapped(problem, policy, states):
    """Minus the price, plus the best score of the state that follows, which fitted Q regresses on."""
    n_units = problem.rules.n_units
    out = np.empty(states.bought.shape)
    codes = problem.codes[states.row]

    def best(bought):
        scores = policy.action_scores(codes, bought)
        scores[:, :n_units][bought] = -np.inf
        return scores.max(axis=1)

    now = best(states.bought)
    for u in range(n_units):
        after = states.bought.copy()
        after[:, u] = True
        out[:, u] = np.where(states.bought[:, u], now, best(after)) - problem.rules.prices[u]
    return out


def regressed(problem, states, returns, codes=None):
    """Additive scores; with codes (actions, numbers) such mixtures of the returns are regressed on."""
    rules = problem.rules
    shares = np.eye(rules.n_classes)[problem.labels[states.row]]
    answers = -shares @ rules.losses.T
    targets = np.hstack([returns, answers if codes is not None else shares])
    if codes is not None:
        targets = targets @ codes
    stage = np.minimum(states.bought.sum(axis=1), SETTINGS.n_stages - 1)
    total = 0.0
    for columns in problem.encoder.regressors_:
        thetas = shared_fit(
            lambda some, c=columns: c.design(
                problem.codes[states.row[some]], rules.shown(states.bought[some])
            ),
            lambda _, some: np.hstack([targets[some], shares[some]]),
            problem.weights[states.row] * states.count,
            np.zeros(len(states.row), dtype=int),
            stage,
            SETTINGS.n_stages,
            SETTINGS.ridge * SETTINGS.states_per_row,
            columns.encoder.precision_,
            n_folds=1,
        )
        total = total + columns.spread(thetas[-1]) / len(problem.encoder.regressors_)
    found, taught = total[..., : targets.shape[1]], total[..., targets.shape[1] :]
    if codes is not None:
        # each action has what the mixtures say that it has a part in
        scores = (
            found @ np.linalg.pinv(codes)
            if codes.shape[1] >= len(codes)
            else found @ codes.T / codes.shape[1]
        )
    else:
        scores = np.concatenate([found[..., : rules.n_units], -taught @ rules.losses.T], axis=2)
    return AdditivePolicy(rules, problem.encoder, scores, taught)


def learn(problem, way, rng):
    """Ten iterations of the plain loop: no folds, no margins, no averages but inertia."""
    n_actions = problem.rules.n_units + problem.rules.n_classes
    codes = None
    if way in SHARES:
        number = max(2, round(SHARES[way] * n_actions))
        codes = rng.choice([-1.0, 1.0], size=(n_actions, number))
    folds = np.zeros(len(problem.labels), dtype=int)
    policy = first_policies(problem, SETTINGS, folds, rng, -1e30)[-1]
    for step in range(SETTINGS.n_iter):
        last = policy.run(problem.codes, problem.closed).bought
        states = draw_states(problem, SETTINGS, last, rng)
        value = bootstrapped if way == "fitted Q" else played
        new = regressed(problem, states, value(problem, policy, states), codes)
        policy = new if step == 0 else blend([[new], [policy]], SETTINGS.inertia)[0]
    return policy


def measure(name, seed):
    """Mean cost on test rows, errors included, and features bought, by way."""
    X, y, X_test, y_test = rows_of(name, seed)
    problem, out = pose(X, y), {}
    codes = problem.encoder.encode(X_test)
    for way in WAYS:
        began = time.process_time()
        policy = learn(problem, way, np.random.default_rng(seed))
        seconds = time.process_time() - began
        episodes = policy.run(codes, np.zeros((len(codes), X.shape[1]), dtype=bool))
        cost = episodes.cost + (episodes.answer != y_test)
        out[way] = [float(cost.mean()), float(episodes.bought.sum(axis=1).mean()), seconds]
    model = DatumwiseClassifier(feature_cost=PRICE, random_state=seed).fit(X, y)
    cost = model.cost(X_test) + (model.predict(X_test) != y_test)
    out["the default"] = [float(cost.mean()), float(model.acquire(X_test).sum(axis=1).mean()), 0.0]
    return out


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_alternatives", replicates=3)
    args = parser.parse_args()
    records = Records(args.records, args.resume)
    ways = (*WAYS, "the default")
    lines = [
        f"python experiments/datumwise_alternatives.py --replicates {args.replicates} --seed {args.seed}",
        "",
        f"Mean cost per test case at a price of {PRICE}, errors included (features bought; CPU s), bins, "
        f"half of the rows to learn from, means of {args.replicates} splits from seed {args.seed}. All but "
        "the default learn in the same plain loop of ten iterations, without folds, margins, soft labels and "
        "averages. Fitted Q: minus the price plus the best score of the next state, instead of a rollout. "
        "Codes: random mixtures of the returns of all actions are regressed on, so many for each action, and "
        "undone.",
        "",
        "| data | " + " | ".join(ways) + " |",
        "|" + "---|" * (1 + len(ways)),
    ]
    for name in SETS:
        seeds = range(args.seed, args.seed + args.replicates)
        runs = [records.get((name, seed), lambda n=name, s=seed: measure(n, s)) for seed in seeds]
        cells = []
        for way in ways:
            cost, bought, seconds = np.mean([run[way] for run in runs], axis=0)
            cells.append(f"{cost:.3f} ({bought:.1f}" + (f"; {seconds:.1f})" if seconds else ")"))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    write(lines, args.out)


if __name__ == "__main__":
    main()
