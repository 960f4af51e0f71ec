"""Memory designs, one folder each; none knows another, and no room below knows one of them."""
