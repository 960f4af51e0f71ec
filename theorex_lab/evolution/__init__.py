"""Outcomes, review, acceptance test, policy, audit log and maintenance."""
