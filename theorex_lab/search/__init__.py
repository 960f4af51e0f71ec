"""Embedders, postings, vectors and their fusion."""
