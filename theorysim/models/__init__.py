"""What is trained: small networks as `flax.nnx` modules, of which only `nnx.Param` leaves move."""

from .two_layer_cnn import TwoLayerCNN

__all__ = ["TwoLayerCNN"]
