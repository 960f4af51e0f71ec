"""What a session starts with and a prompt gets.

It is chosen, ranked, kept within a budget, and rendered.
"""
