"""Which model a query goes to: decision chain, confidence matrix, roles, heuristics,
energy.
"""
