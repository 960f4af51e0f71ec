"""What comes in here: sessions of coding agents, documents, source code, pictures and
films.

A reader a form. Each line of a transcript becomes the capture that the hook would have
written; each file of another form becomes a `document` with its sections, symbols or
scenes, which every design finds in the one search.
"""
