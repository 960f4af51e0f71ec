"""What is done to text, for every design: masking of secrets, invisible characters,
shortening.
"""
