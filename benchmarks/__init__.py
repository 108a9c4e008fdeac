"""Side-by-side timings, core for core: `python -m benchmarks [--full]`."""
