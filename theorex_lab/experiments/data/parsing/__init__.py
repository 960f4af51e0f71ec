"""Readers of the public data sets, one module a kind of data; `datasets` hands their results out."""
