"""Readers of the public data sets, one module a kind of data; `theorex_lab.experiments.data.datasets` hands their results out."""
