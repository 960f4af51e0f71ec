"""Take in documents, source code, pictures and films, with one reader for each form.

Each file becomes a `document` with its sections, symbols or scenes, which the search of
every design finds. `files.transcripts` imports sessions of coding agents: each line
becomes the capture that the hook would have written.
"""
