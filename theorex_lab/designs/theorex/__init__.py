"""Theorex: concepts with counts and links that decay, a chain from flash over short-term memory to the axon, and a shared web."""
