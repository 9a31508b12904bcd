"""Two variables that say nothing alone: a linear selector leaves them, a policy over subsets finds them."""

import numpy as np

from rlselect import REVS, ActorCriticPredictor

rng = np.random.default_rng(1)
names = ["dose", "age", "weight", "enzyme", "inhibitor", *(f"marker {i}" for i in range(1, 21))]
X = rng.standard_normal((200, len(names)))
response = X[:, 0] - 0.7 * X[:, 1] + 1.2 * X[:, 3] * X[:, 4] + 0.4 * rng.standard_normal(200)

linear = REVS(random_state=0).fit(X, response)
print("REVS:", ", ".join(np.array(names)[linear.support_]))

policy = ActorCriticPredictor(random_state=0).fit(X, response)
print("ActorCriticPredictor:", ", ".join(np.array(names)[policy.support_]))
print(f"Led by the {policy.predictor_.name} predictor, {policy.n_fits_:,} subsets judged.")

fresh = rng.standard_normal((500, len(names)))
truth = fresh[:, 0] - 0.7 * fresh[:, 1] + 1.2 * fresh[:, 3] * fresh[:, 4]
print(f"R squared on new rows: {linear.score(fresh, truth):.2f} and {policy.score(fresh, truth):.2f}")
