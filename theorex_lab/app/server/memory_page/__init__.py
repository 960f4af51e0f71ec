"""What the page of `theorex serve` asks: one's own memory, to read and to put right.

Every route here needs the page's key, which agents do not have, since what the page's
user does counts as the user's own word.
"""
