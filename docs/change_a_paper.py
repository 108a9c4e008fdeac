"""Import a paper, change its loss and its flips, sweep and plot: how much do one-sided flips cost under the hinge loss?"""

import numpy as np

import theorysim as ts

paper = ts.load("label_noise_stages")
base = paper.params(loss="hinge", flip_minus=0.0, n=80, steps=300, records=30)  # flips of the class +1 only
data = ts.sweep(paper.trial, base, over={"flip_plus": np.linspace(0, 0.4, 5)}, seeds=10)

with ts.plotting.style():
    figure, ((axes,),) = ts.plotting.canvas(width=4.4)
    for color, flip in zip(ts.plotting.COLORS, data.flip_plus.values, strict=False):
        curve = data.test_error.sel(flip_plus=flip, time=slice(1, None))
        ts.plotting.band(axes, curve, "time", rf"$\tau_+={flip:.1f}$", color=color)
    axes.set(xscale="log", xlabel="iteration", ylabel="test error, true labels")
    axes.legend()
    ts.plotting.save(figure, "one_sided_hinge.png")
print(data.test_error.isel(time=-1).mean("seed").round(3).values)
