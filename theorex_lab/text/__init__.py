"""What is done to text, for every design.

Secrets are masked, invisible characters are dropped, texts are shortened.
"""
