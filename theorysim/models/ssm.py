"""State-space layers: the static one (S4, diagonal) and the selective one (S6)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxtyping import Array, Float

from .._errors import InvalidArgument

_SCANS = ("sequential", "associative")
_HOLDS = ("zero", "euler")
_TRAINED = ("all", "selection")


def recurrence(decay: Any, inputs: Any, *, scan: str = "sequential") -> Float[Array, "b k *s"]:
    r"""All states of $h_l=a_lh_{l-1}+v_l$, $h_0=0$, entry by entry.

    **Arguments:** `decay`, `inputs`: $a$ and $v$, time on the second axis, of shapes that broadcast; `scan`: `"sequential"`,
    one step after the other, or `"associative"`, the tree of $(a,v)\circ(a',v')=(aa',a'v+v')$, for a device with many threads.

    **Returns:** the states, of the common shape.

    **Raises:** `InvalidArgument` for another word.

    >>> import jax.numpy as jnp
    >>> recurrence(0.5 * jnp.ones((1, 1)), jnp.array([[4.0, 0.0, 1.0]])).tolist()
    [[4.0, 2.0, 2.0]]
    """
    if scan not in _SCANS:
        raise InvalidArgument("scan", scan, f"must be {' or '.join(_SCANS)}")
    decay, inputs = jnp.broadcast_arrays(decay, inputs)
    if scan == "associative":
        return lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (decay, inputs), axis=1)[1]

    def step(h: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
        h = at[0] * h + at[1]
        return h, h

    states = lax.scan(step, jnp.zeros_like(inputs[:, 0]), (decay.swapaxes(0, 1), inputs.swapaxes(0, 1)))[1]
    return states.swapaxes(0, 1)


def held(step: Any, rate: Any, hold: str) -> tuple[Array, Array]:
    r"""A step of $\dot h=-rh+v$ in discrete time: the decay $\bar A$ of the state and the factor $\bar B$ of $v$.

    $$ \bar A=e^{-\Delta r},\qquad \bar B=(1-e^{-\Delta r})/r\ \ (\text{zero-order hold})\quad\text{or}\quad
       \bar B=\Delta\ \ (\text{Euler}). $$

    **Arguments:** `step`: $\Delta>0$; `rate`: $r>0$; `hold`: `"zero"` or `"euler"`.

    **Returns:** $\bar A$, $\bar B$.

    >>> import math
    >>> [round(float(v), 3) for v in held(math.log(2), 1.0, "zero")]
    [0.5, 0.5]
    """
    kept = -step * rate
    return jnp.exp(kept), (-jnp.expm1(kept) / rate if hold == "zero" else jnp.broadcast_to(step, jnp.shape(kept)))


def _words(hold: str, trained: str) -> None:
    for name, value, known in (("hold", hold, _HOLDS), ("trained", trained, _TRAINED)):
        if value not in known:
            raise InvalidArgument(name, value, f"must be {' or '.join(known)}")


class S4(nnx.Module):
    r"""A diagonal state-space layer, the same at each token: channel $c$ of the tokens has its own states.

    $$ h_l=\bar A\,h_{l-1}+\bar B\,B_cu_{l,c},\qquad o_{l,c}=\langle C_c,h_l\rangle, $$

    with $\bar A,\bar B$ as in `models.ssm.held`. It is the convolution $o_c=\kappa_c*u_c$ with its `kernel`.

    **Arguments:**

    - `write`, `read`: $B$ and $C$, shape `(D, H)`.
    - `rate`: $r>0$, shape `(D, H)`, 1 by default: $A=-\operatorname{diag}r$.
    - `step_bias`: $\Delta_c=\mathrm{softplus}$ of it, shape `(D,)`, 0 by default.
    - `trained`: `"all"`, or the `"selection"` alone: $B$ and $C$. Static.
    - `hold`: `"zero"` or `"euler"`. Static.

    **Raises:** `InvalidArgument` for another word.

    Source: Gu, Goel, Re (2022); diagonal: Gupta, Gu, Berant (2022).

    >>> import jax.numpy as jnp
    >>> layer = S4(jnp.ones((1, 2)), jnp.ones((1, 2)), step_bias=jnp.log(jnp.array([1.0])))  # softplus(0) = log 2
    >>> layer(jnp.array([[[1.0], [0.0], [0.0]]]))[0, :, 0].tolist()
    [1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        write: Float[Array, "D H"],
        read: Float[Array, "D H"],
        *,
        rate: Any = None,
        step_bias: Any = None,
        trained: str = "all",
        hold: str = "zero",
    ):
        _words(hold, trained)
        kind: Any = nnx.Param if trained == "all" else nnx.Variable
        rate = jnp.ones_like(write) if rate is None else rate
        self.write, self.read, self.log_rate = nnx.Param(write), nnx.Param(read), kind(jnp.log(rate))
        self.step_bias = kind(jnp.zeros_like(write[:, 0]) if step_bias is None else step_bias)
        self.hold = hold

    def _held(self) -> tuple[Array, Array]:
        return held(jax.nn.softplus(self.step_bias[...])[:, None], jnp.exp(self.log_rate[...]), self.hold)

    def kernel(self, length: int) -> Float[Array, "D k"]:
        r"""What an input of 1 gives after 0, 1, .. tokens: $\kappa_{c,j}=\sum_hC_{ch}\bar A_{ch}^j\bar B_{ch}B_{ch}$."""
        decay, gain = self._held()
        powers = decay[..., None] ** jnp.arange(length)
        return jnp.einsum("dh,dhk->dk", self.read[...] * gain * self.write[...], powers)

    def __call__(self, tokens: Float[Array, "b k D"], *, scan: str = "sequential") -> Float[Array, "b k D"]:
        """The outputs at all tokens; `scan` as in `models.ssm.recurrence`."""
        decay, gain = self._held()
        states = recurrence(decay, gain * self.write[...] * tokens[..., None], scan=scan)
        return jnp.einsum("bkdh,dh->bkd", states, self.read[...])


class S6(nnx.Module):
    r"""The selective state-space layer of Mamba: what is written, what is read and how long it is kept depend on the token.

    $$ h_l^{(c)}=\bar A_l\,h_{l-1}^{(c)}+\bar B_l\,B_lu_{l,c},\qquad o_{l,c}=\langle C_l,h_l^{(c)}\rangle+s_cu_{l,c}, $$
    $$ B_l=W_Bu_l+b_B,\qquad C_l=W_Cu_l+b_C,\qquad \Delta_l=\mathrm{softplus}(W_2W_1u_l+b_\Delta), $$

    with $\bar A_l,\bar B_l$ as in `models.ssm.held`; each of the `D` channels has its step size, and all share $B_l$ and $C_l$.

    **Arguments:**

    - `write`, `read`: $W_B$ and $W_C$, shape `(H, D)`; their biases start at 0.
    - `rate`: $r>0$, shape `(D, H)`, 1 by default: $A=-\operatorname{diag}r$.
    - `step`: the pair $(W_1^\top,W_2^\top)$ of shapes `(D, r)`, `(r, D)`; by default there is none: all tokens are kept alike.
    - `step_bias`: $b_\Delta$, shape `(D,)`, 0 by default.
    - `skip`: $s$, shape `(D,)`; by default there is none.
    - `trained`: `"all"`, or the `"selection"` alone: $W_B,W_C,b_B,b_C$. Static.
    - `hold`: `"zero"` (the definition) or `"euler"` (as Mamba is coded). Static.

    **Raises:** `InvalidArgument` for another word.

    Source: Gu, Dao (2023).

    >>> import jax.numpy as jnp
    >>> layer = S6(jnp.array([[1.0, 0.0]]), jnp.array([[1.0, 0.0]]))  # memory of x y, asked with x
    >>> layer(jnp.array([[[1.0, 3.0], [2.0, 0.0]]]))[0, :, 1].tolist()
    [1.5, 1.5]
    """

    def __init__(
        self,
        write: Float[Array, "H D"],
        read: Float[Array, "H D"],
        *,
        rate: Any = None,
        step: Any = None,
        step_bias: Any = None,
        skip: Any = None,
        trained: str = "all",
        hold: str = "zero",
    ):
        _words(hold, trained)
        kind: Any = nnx.Param if trained == "all" else nnx.Variable
        rate = jnp.ones_like(write.T) if rate is None else rate
        self.write, self.read = nnx.Param(write), nnx.Param(read)
        self.write_bias, self.read_bias = nnx.Param(jnp.zeros_like(write[:, 0])), nnx.Param(jnp.zeros_like(read[:, 0]))
        self.log_rate = kind(jnp.log(rate))
        self.step_bias = kind(jnp.zeros_like(write[0]) if step_bias is None else step_bias)
        self.narrow, self.widen = (kind(step[0]), kind(step[1])) if step is not None else (None, None)
        self.skip = None if skip is None else kind(skip)
        self.hold = hold

    def steps(self, tokens: Float[Array, "b k D"]) -> Float[Array, "b k D"]:
        r"""The step sizes $\Delta_l$ of all channels."""
        bias = jnp.broadcast_to(self.step_bias[...], tokens.shape)
        if self.narrow is None or self.widen is None:
            return jax.nn.softplus(bias)
        return jax.nn.softplus(tokens @ self.narrow[...] @ self.widen[...] + bias)

    def states(
        self, tokens: Float[Array, "b k D"], *, channel: int | None = None, scan: str = "sequential"
    ) -> Float[Array, "b k C H"]:
        r"""The states $h_l^{(c)}$ after each token, of one `channel` or of all."""
        mine = slice(None) if channel is None else slice(channel, channel + 1 or None)
        write = tokens @ self.write[...].T + self.write_bias[...]
        step, rate = self.steps(tokens)[..., mine, None], jnp.exp(self.log_rate[...])[mine]
        if scan != "sequential":
            decay, gain = held(step, rate, self.hold)
            return recurrence(decay, gain * write[:, :, None] * tokens[..., mine, None], scan=scan)

        def token(h: Array, at: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            decay, gain = held(at[0], rate, self.hold)  # inside the loop: these arrays are as large as all states
            h = decay * h + gain * at[1][:, None] * at[2]
            return h, h

        steps, writes, inputs = (part.swapaxes(0, 1) for part in (step, write, tokens[..., mine, None]))
        along = steps, writes, inputs
        return lax.scan(token, jnp.zeros_like(along[0][0] * rate), along)[1].swapaxes(0, 1)

    def outputs(
        self, tokens: Float[Array, "b k D"], states: Float[Array, "b k C H"], *, channel: int | None = None
    ) -> Float[Array, "b k C"]:
        """What is read from given states at all tokens, of one `channel` or of all."""
        read = tokens @ self.read[...].T + self.read_bias[...]
        said = jnp.einsum("bkch,bkh->bkc", states, read)
        if self.skip is None:
            return said
        mine = slice(None) if channel is None else slice(channel, channel + 1 or None)
        return said + self.skip[...][mine] * tokens[..., mine]

    def __call__(
        self, tokens: Float[Array, "b k D"], *, channel: int | None = None, scan: str = "sequential"
    ) -> Float[Array, "b k C"]:
        """The outputs at all tokens, of one `channel` or of all; `scan` as in `models.ssm.recurrence`."""
        return self.outputs(tokens, self.states(tokens, channel=channel, scan=scan), channel=channel)
