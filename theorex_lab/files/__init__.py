"""What comes in from files and goes out to them: documents, transcripts, formats of
other systems.
"""
