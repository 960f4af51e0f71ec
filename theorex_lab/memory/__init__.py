"""What every design stands on: decay, counts, trust, evidence, items, search over them,
and the context.
"""
