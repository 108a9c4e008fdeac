"""A bound of one's own as a property test: gradient descent with this step never lets the training loss grow."""

from hypothesis import given, settings
from hypothesis import strategies as st

import theorysim as ts

paper = ts.load("label_noise_stages")


@given(signal=st.floats(0, 8), flip=st.floats(0, 0.5), dim=st.integers(100, 10**9))
@settings(max_examples=8, deadline=None)
def test_loss_never_grows(signal, flip, dim):
    point = paper.params(n=30, steps=50, records=12, signal=signal, flip_plus=flip, flip_minus=flip, dim=dim, lr=2 / dim)
    loss = ts.sweep(paper.trial, point, seeds=2).train_loss
    assert float(loss.diff("time").max()) <= 1e-6
