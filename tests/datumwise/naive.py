"""Slow and obvious versions of what the room computes, one case and one action at a time."""

import itertools

import numpy as np


def open_units(rules, bought, spent, closed):
    """Units that may be bought in one state, by reading the rules aloud."""
    out = []
    held = [v for v in range(rules.n_units) if bought[v]]
    for u in range(rules.n_units):
        if bought[u] or closed[u]:
            continue
        if rules.budget is not None and len(held) >= rules.budget:
            continue
        related = is_related(rules, held, u)
        if rules.related is not None and rules.unrelated is None and not related:
            continue
        if rules.needs is not None and any(rules.needs[u, v] and not bought[v] for v in range(rules.n_units)):
            continue
        if rules.cost_budget is not None and spent + price(rules, held, u) > rules.cost_budget + 1e-9:
            continue
        out.append(u)
    return out


def is_related(rules, held, u):
    if rules.related is None or not held:
        return True
    links = [bool(rules.related[u, v]) for v in held]
    return all(links) if rules.relation == "all" else any(links)


def price(rules, held, u):
    if rules.unrelated is None or is_related(rules, held, u):
        return float(rules.prices[u])
    return float(rules.unrelated[u])


def play(policy, codes, closed, bought=None, spent=0.0, first=None):
    """One episode by `action_scores`: order of purchases, answer, money spent."""
    rules = policy.rules
    bought = np.zeros(rules.n_units, bool) if bought is None else bought.copy()
    order = []
    while True:
        scores = policy.action_scores(codes[None], bought[None])[0].astype(float)
        allowed = open_units(rules, bought, spent, closed)
        actions = allowed + list(range(rules.n_units, rules.n_units + rules.n_classes))
        action = first if first is not None else max(actions, key=lambda a: (scores[a], -a))
        first = None
        if action >= rules.n_units:
            return order, action - rules.n_units, spent
        spent += price(rules, [v for v in range(rules.n_units) if bought[v]], action)
        bought[action] = True
        order.append(action)


def optimum(rules, values, labels, weights=None):
    """Highest mean return of any policy: dynamic programming over what is bought and what it showed."""
    values, labels = np.asarray(values), np.asarray(labels)
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights, float)
    memo = {}

    def total(rows, bought, spent):
        # return summed over rows with the same knowledge
        key = (tuple(rows), bought, round(spent, 9))
        if key in memo:
            return memo[key]
        mask = np.array(bought)
        best = max(
            -sum(weights[i] * rules.losses[c, labels[i]] for i in rows) for c in range(rules.n_classes)
        )
        for u in open_units(rules, mask, spent, np.zeros(rules.n_units, bool)):
            cost = price(rules, [v for v in range(rules.n_units) if mask[v]], u)
            after = tuple(b or v == u for v, b in enumerate(bought))
            worth = 0.0
            shown = sorted({tuple(values[i, rules.groups[u]]) for i in rows})
            for value in shown:
                part = [i for i in rows if tuple(values[i, rules.groups[u]]) == value]
                worth += total(part, after, spent + cost) - cost * weights[part].sum()
            best = max(best, worth)
        memo[key] = best
        return best

    everyone = list(range(len(labels)))
    return total(everyone, (False,) * rules.n_units, 0.0) / weights.sum()


def all_binary_rows(n):
    return np.array(list(itertools.product([0, 1], repeat=n)), dtype=float)
