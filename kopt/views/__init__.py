"""How a declaration sees a sample: in coordinates to be solved, through products by K to be evaluated."""

from kopt.views.evaluation import EvaluationView
from kopt.views.explicit import ExplicitView
from kopt.views.products import ProductView
from kopt.views.view import FeatureVector, View

__all__ = ["EvaluationView", "ExplicitView", "FeatureVector", "ProductView", "View"]
