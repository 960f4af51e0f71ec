"""Transcripts of coding agents, read into the captures that their hooks would have made."""
