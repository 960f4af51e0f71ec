"""Secrets taken out of texts, wherever a text comes in. Standard library only."""
