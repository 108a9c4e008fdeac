"""How the state moves: rules `(init, step, commutes)`."""

from . import queries as queries
from ._rule import Dynamics, Training
from .accumulated import accumulated
from .driven import driven
from .elastic import elastic
from .federated import each_client, federated, weights_by_group, weights_by_similarity
from .gradient_descent import gradient_descent
from .sam import sam

__all__ = [
    "Dynamics",
    "Training",
    "accumulated",
    "driven",
    "each_client",
    "elastic",
    "federated",
    "gradient_descent",
    "sam",
    "weights_by_group",
    "weights_by_similarity",
]
