"""Data sets, simulated logs and labels: what experiments run on."""
