"""EventLog events run again under other settings."""
