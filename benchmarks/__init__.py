"""Named benchmarks, side by side with peers in one run: `python -m benchmarks <name> [--quick]`."""
