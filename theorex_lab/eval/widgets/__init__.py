"""Sliders over pictures, for notebooks."""
