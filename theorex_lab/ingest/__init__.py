"""What coding agents keep of their sessions comes in here: each line becomes the capture that the hook would have written.

A reader a form: Claude Code's lines, Codex's rollouts, lines in a hook's own form.
"""
