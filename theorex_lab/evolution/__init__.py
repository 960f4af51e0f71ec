"""Outcomes, review, gate, policy, the audit log and maintenance."""
