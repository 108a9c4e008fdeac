"""What is trained: small networks as `flax.nnx` modules, of which only `nnx.Param` leaves move."""

from . import attention, masks, ssm
from .attention_stack import AttentionStack
from .autoregressive_attention import AutoregressiveAttention
from .decoder import Decoder
from .linear_attention import LinearAttention
from .mamba import Mamba, MambaBlock
from .prompt import Prompt
from .ssm import S4, S6
from .three_layer_cnn import ThreeLayerCNN
from .two_layer_cnn import TwoLayerCNN
from .two_layer_linear import TwoLayerLinear
from .two_layer_transformer import TwoLayerTransformer

__all__ = [
    "S4",
    "S6",
    "AttentionStack",
    "AutoregressiveAttention",
    "Decoder",
    "LinearAttention",
    "Mamba",
    "MambaBlock",
    "Prompt",
    "ThreeLayerCNN",
    "TwoLayerCNN",
    "TwoLayerLinear",
    "TwoLayerTransformer",
    "attention",
    "masks",
    "ssm",
]
