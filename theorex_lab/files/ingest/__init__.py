"""Documents, source code, pictures and films come in here, by a reader a form.

Each file becomes a `document` with its sections, symbols or scenes, which every design
finds in the one search. Sessions of coding agents come in by `files.transcripts`, where
each line becomes the capture that the hook would have written.
"""
