"""What the toolkit's paths cost beside peers that do the same work in the same run: the
rows of `python -m benchmarks`.
"""
