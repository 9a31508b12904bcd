"""Classes whose objects may be saved and loaded, by name; a file can ask for no others."""

from importlib import import_module

__all__ = ["METHODS", "class_named", "is_known"]

# class names are used once in the library; a class that is not here is neither written nor read
_HOMES = {
    "data._coded": "CodedFeatures",
    "data._dask": "PiecePool",
    "data._design": "Design",
    "data._encoder": "TableEncoder",
    "data._gaps": "Gaps",
    "data._groups": "FeatureGroups",
    "data._pairs": "ColumnPairs",
    "data._parts": "Draw Piece Pick Slice",
    "data._pool": "Pool",
    "data._sampler": "RowSampler",
    "data._units": "FeatureUnits Units",
    "datumwise._classifier": "DatumwiseClassifier",
    "datumwise._encoding": "BinEncoder LinearEncoder Regressors",
    "datumwise._exact": "TablePolicy",
    "datumwise._fitted": "FittedPurchases",
    "datumwise._levels": "LevelLinear",
    "datumwise._network": "NetworkShape",
    "datumwise._network_frontier": "PriceFrontier",
    "datumwise._network_inputs": "InputColumns ScoreEncoder",
    "datumwise._network_policy": "NetworkFamily NetworkPolicy",
    "datumwise._policy": "AdditivePolicy",
    "datumwise._reasons": "PurchaseReasons",
    "datumwise._regressor": "DatumwiseRegressor",
    "datumwise._rules": "PurchaseRules",
    "datumwise._settings": "NetworkTraining PaperIteration PolicyIteration",
    "datumwise._sure": "Promise",
    "datumwise._tree": "QuestionNode",
    "kernels._networks": "Networks",
    "kernels._tied_moves": "TiedMoves Ties",
    "learn._decisions": "Cutoff ExpectedF1 FalseDiscovery MostProbable",
    "learn._policies": "EpsilonGreedy Softmax ThompsonSampling UCB",
    "learn._schedules": "Constant LinearRamp PowerDecay",
    "learn._trajectory": "Trajectory",
    "machines._elimination": "EliminationPath",
    "machines._anova_kernel": "AnovaKernel AnovaState",
    "machines._kernels": "AdditiveState ChiSquaredKernel GaussianKernel LinearKernel PolynomialKernel",
    "machines._losses": "EpsilonInsensitiveLoss HingeLoss LogisticLoss SquaredLabelLoss SquaredLoss",
    "machines._stopping": "ChangePoint Threshold",
    "machines._tuning": "Tuner",
    "regimes._action_columns": "ActionColumns",
    "regimes._advantage": "AdvantageLearning ContrastMachine",
    "regimes._anova_kernel": "ActionAnovaState CategoryFeatures ColumnFeatures ContrastState KeptState",
    "regimes._bends": "Bends",
    "regimes._column_machine": "ColumnMachine",
    "regimes._contrasts": "TailoringEffect",
    "regimes._dose": "DoseRange",
    "regimes._encoding": "HistoryEncoder",
    "regimes._estimates": "RegimeComparison RegimeValue",
    "regimes._line_machine": "LineMachine",
    "regimes._overlap": "OverlapReport",
    "regimes._own_loss": "ResponseLink",
    "regimes._policy_tree": "PolicyTree StageTree TreeSplit",
    "regimes._q_learning": "QLearning",
    "regimes._selection": "StageSelection",
    "regimes._stage_machine": "StageMachine",
    "regimes._stage_rfe": "StageRFE",
    "regimes._stages": "HistoryColumn StageData StageFrame",
    "regimes._tailoring": "TailoringPath",
    "regimes._tree_search": "TreeNode",
    "subset.acp._acp": "ActorCriticPredictor",
    "subset.acp._machine": "ConstantClasses ConstantModel FittedMachine",
    "subset.acp._paper": "PolicyGradient",
    "subset.acp._stages": "PredictorChoice",
    "subset.acp.masked._kernel": "KernelModel",
    "subset.acp.masked._linear": "LinearModel",
    "subset.acp.masked._network": "NetworkModel",
    "subset.acp.masked._predictor": "ClassModel",
    "subset.revs._average": "SubsetAverage",
    "subset.revs._choices": "Choices",
    "subset.revs._effort": "SearchState",
    "subset.revs._revs": "REVS",
    "subset.revs._sarsa": "Sarsa",
    "subset.revs._size_prior": "SizePrior",
    "subset.revs._structure": "Structure",
    "subset.revs._visited": "Tally",
    "subset.revs._walk": "Walker",
    "subset.revs.evidence._glm_subset": "GlmSubset",
    "subset.revs.evidence._gram": "LazyGram",
    "subset.revs.evidence._placement": "Shelf",
    "subset.revs.evidence._ridge_subset": "RidgeSubset",
    "subset.revs.evidence._rows": "Rows",
    "subset.risk_rfe._machine": "ConstantMachine KernelMachine LinearMachine",
    "subset.risk_rfe._mismatch_features": "MismatchFeatures",
    "subset.risk_rfe._risk_rfe": "RiskRFE",
    "subset.rivals._cfs": "CorrelationFeatureSelection",
    "subset.rivals._divide": "DivideAndConquer",
    "subset.rivals._fstd": "FSTD",
    "subset.rivals._fuse": "FUSE",
    "subset.rivals._thompson": "ThompsonSelector",
    "temporal._curves": "FittedCurves",
    "temporal._design": "ProcessDesign",
    "temporal._dropout": "Dropout",
    "temporal._equations": "Equations",
    "temporal._estimate": "Estimate",
    "temporal._model": "TemporalProcessRegression",
    "temporal._selection": "Selection TermModel",
    "temporal._smooth": "Window",
    "temporal._splines": "SplineCurves",
}
_MODULES = {name: f"rlselect.{module}" for module, names in _HOMES.items() for name in names.split()}
# methods that an object may hold of itself or of another: how rows are taken, how wide a problem is, scores
METHODS = frozenset({"take", "_width", "decision"})


def is_known(kind: type) -> bool:
    """Whether objects of this class may be saved."""
    return _MODULES.get(kind.__name__) == kind.__module__


def class_named(name: object) -> type | None:
    """The class of this name, None if a file may not ask for it."""
    if not isinstance(name, str) or name not in _MODULES:
        return None
    found = getattr(import_module(_MODULES[name]), name, None)
    return found if isinstance(found, type) else None
