"""Sessions: what coding sessions leave behind — the user's rules, files, digests, fixes — read from captures by rules.

Our own design beside the published ones, and the one whose sections the context shows where no other is named.
"""

KINDS = {"digest": 1, "fixed": 1}
# Of lines of the context.
RULE, LAST, SAID, FILE, TOPIC = "rule", "last", "sentence", "file", "topic"
