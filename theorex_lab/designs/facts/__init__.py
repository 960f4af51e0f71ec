"""Facts with supersede chains, contradictions, a heartbeat and domains, as Engram keeps them."""
