"""Outcomes, review, gate, policy, the audit log and the night."""
