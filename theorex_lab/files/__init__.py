"""What comes in from files and goes out to them.

That is documents, transcripts and formats of other systems.
"""
