"""What Theorex declares of itself.

It is what its audit entries are read from, and the settings that the offline acceptance
test may change.
"""

# Kind of an entry of the audit log -> the kinds of events that it is read from.
READ_FROM = {
    "tier_change": ("imported", "prune", "scan"),
    "graduation": ("graduated",),
    "prune": ("prune",),
    "moment_capture": ("observation",),
}
MEMORY_SETTINGS = (
    "decayLaw",
    "decayParams",
    "halfLifeDays",
    "fixHalfLifeDays",
    "activeThreshold",
    "mildThreshold",
    "contextTokens",
)
