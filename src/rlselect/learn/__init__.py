"""The learning core shared by the rooms: masks, rewards and costs, never X and y."""

from rlselect.learn._actor import LogitActor, natural_direction, ridge_direction, sample_masks, score
from rlselect.learn._critic import Critic
from rlselect.learn._decisions import (
    Cutoff,
    DecisionRule,
    ExpectedF1,
    FalseDiscovery,
    MostProbable,
    RuleName,
    as_rule,
    read_rule,
)
from rlselect.learn._policies import (
    UCB,
    EpsilonGreedy,
    Policy,
    PolicyName,
    Softmax,
    ThompsonSampling,
    as_policy,
)
from rlselect.learn._schedules import Constant, LinearRamp, PowerDecay, Schedule, as_schedule
from rlselect.learn._subset_games import Judge, TemporalDifferences, UpperConfidenceTree
from rlselect.learn._trajectory import Trajectory
from rlselect.learn._values import ValueTable, key_mask, subset_key

__all__ = [
    "UCB",
    "Constant",
    "Critic",
    "Cutoff",
    "DecisionRule",
    "EpsilonGreedy",
    "ExpectedF1",
    "FalseDiscovery",
    "Judge",
    "LinearRamp",
    "LogitActor",
    "MostProbable",
    "Policy",
    "PolicyName",
    "PowerDecay",
    "RuleName",
    "Schedule",
    "Softmax",
    "TemporalDifferences",
    "ThompsonSampling",
    "Trajectory",
    "UpperConfidenceTree",
    "ValueTable",
    "as_policy",
    "as_rule",
    "as_schedule",
    "key_mask",
    "natural_direction",
    "read_rule",
    "ridge_direction",
    "sample_masks",
    "score",
    "subset_key",
]
