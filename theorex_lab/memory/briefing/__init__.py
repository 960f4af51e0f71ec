"""What a session starts with and a prompt gets: chosen, ranked, within a budget, rendered."""
