"""How the state moves: rules `(init, step, commutes)`."""

from . import queries as queries
from ._rule import Dynamics, Training
from .accumulated import accumulated
from .driven import driven
from .elastic import elastic
from .federated import each_client, federated, weights_by_group, weights_by_similarity
from .gradient_descent import gradient_descent
from .layers import Stream, attention_layer, fixed_weights, haar, layers, random_weights
from .sam import sam
from .until import until

__all__ = [
    "Dynamics",
    "Stream",
    "Training",
    "accumulated",
    "attention_layer",
    "driven",
    "each_client",
    "elastic",
    "federated",
    "fixed_weights",
    "gradient_descent",
    "haar",
    "layers",
    "random_weights",
    "sam",
    "until",
    "weights_by_group",
    "weights_by_similarity",
]
