"""The learning core shared by the rooms: masks, rewards and costs, never X and y."""

from rlselect.learn._policies import UCB, EpsilonGreedy, Policy, Softmax, ThompsonSampling, as_policy
from rlselect.learn._schedules import Constant, LinearRamp, PowerDecay, Schedule, as_schedule
from rlselect.learn._trajectory import Trajectory
from rlselect.learn._values import ValueTable, key_mask, subset_key

__all__ = [
    "UCB",
    "Constant",
    "EpsilonGreedy",
    "LinearRamp",
    "Policy",
    "PowerDecay",
    "Schedule",
    "Softmax",
    "ThompsonSampling",
    "Trajectory",
    "ValueTable",
    "as_policy",
    "as_schedule",
    "key_mask",
    "subset_key",
]
