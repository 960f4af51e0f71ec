"""Tests of a memory: what it must recall, what it must never say, how it may change."""
