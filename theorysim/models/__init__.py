"""What is trained: small networks as `flax.nnx` modules, of which only `nnx.Param` leaves move."""

from . import masks
from .decoder import Decoder
from .linear_attention import LinearAttention
from .prompt import Prompt
from .three_layer_cnn import ThreeLayerCNN
from .two_layer_cnn import TwoLayerCNN
from .two_layer_linear import TwoLayerLinear

__all__ = ["Decoder", "LinearAttention", "Prompt", "ThreeLayerCNN", "TwoLayerCNN", "TwoLayerLinear", "masks"]
