"""Recorded events run again under other settings."""
