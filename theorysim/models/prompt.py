"""A trained prompt behind a frozen text encoder."""

from __future__ import annotations

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from .._errors import InvalidArgument
from ..exact import own_basis


class Prompt(nnx.Module):
    r"""The product of an image feature with the text feature of a trained prompt; the encoder is frozen.

    $$ f(x) = \sum_k \langle x^{(k)}, h(p)\rangle,\qquad h(p) = \sigma(Wp)-\sigma(-Wp),\qquad \sigma(z)=\max(0,z), $$

    where the rows of $W$ are the latent features. As $\sigma(z)-\sigma(-z)=z$, the encoder is $h(p)=Wp$, and so it is computed:
    prompts start at zero coordinates, where automatic differentiation takes both ReLUs for flat. The two classes have the
    text features $\pm h(p)$, so that the margin is that of a two-class softmax of $\pm f$ (`objectives.softmax`).

    **Arguments:**

    - `prompt`: $p$, shape `(d,)`, trained.
    - `encoder`: $W$, frozen: shape `(f, d)`, or shape `(d,)` for orthogonal latent features of these lengths, in their own
      coordinates; all of length 1 by default.

    **Raises:** `InvalidArgument` for an encoder that does not fit the prompt.

    Source: Pan et al. (2024), arXiv 2409.19610, and Pan et al. (2025), arXiv 2412.01256, in outline.

    >>> import jax.numpy as jnp
    >>> model = Prompt(jnp.array([1.0, -2.0]))
    >>> model((jnp.array([[3.0]]), jnp.array([[0.0, 1.0]]))).tolist()
    [1.0]
    """

    def __init__(self, prompt: Float[Array, ...], encoder: Float[Array, ...] | None = None):
        if prompt.ndim != 1:
            raise InvalidArgument("prompt", prompt.shape, "must be a vector")
        encoder = jnp.ones_like(prompt) if encoder is None else encoder
        if encoder.ndim not in (1, 2) or encoder.shape[-1] != prompt.shape[0]:
            raise InvalidArgument(
                "encoder", encoder.shape, f"must have the shape ({prompt.shape[0]},) or (f, {prompt.shape[0]})"
            )
        self.prompt = nnx.Param(prompt)
        self.encoder = nnx.Variable(encoder)

    @property
    def feature(self) -> Float[Array, " f"]:
        """The text feature $h(p)$."""
        encoder, prompt = self.encoder[...], self.prompt[...]
        return encoder * prompt if encoder.ndim == 1 else encoder @ prompt

    @property
    def filters(self) -> Float[Array, "1 f"]:
        """The text feature as the only filter, for observers of filters."""
        return self.feature[None]

    @property
    def side(self) -> Float[Array, " 1"]:
        """The class of that filter: $+1$."""
        return jnp.ones(1, self.prompt[...].dtype)

    def __call__(self, patches: tuple[Float[Array, "n _"], ...]) -> Float[Array, " n"]:
        """The score $f$ of each sample; patches may be narrower than the text feature."""
        feature, total = self.feature, jnp.zeros(())
        for patch in patches:
            total = total + patch @ feature[: patch.shape[1]]
        return total

    def in_own_basis(self, fixed: int) -> Prompt:
        """A prompt of the same text feature in `fixed + 1` coordinates, for fresh points: see `exact.own_basis`."""
        return Prompt(own_basis(self.filters, fixed)[0])
