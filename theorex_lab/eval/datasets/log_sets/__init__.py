"""Make logs out of data sets.

Each module reads some sets, and gives the name of each part with a function that makes
its log.
"""
