"""Plots and widgets; matplotlib and ipywidgets are imported here alone."""
