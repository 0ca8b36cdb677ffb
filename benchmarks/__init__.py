"""Side-by-side timings, as ratios taken interleaved in one run. `python -m benchmarks [name …]`."""
