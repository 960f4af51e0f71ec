"""What every design stands on.

That is decay, counts, trust, evidence, items, search over them, and the context.
"""
