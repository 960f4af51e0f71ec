"""Which model a query goes to.

The parts are the decision chain, confidence matrix, roles, heuristics, and energy.
"""
