"""Causal memory, as the GEP memory graph has it: which signals were there, what was tried about them, and what came of it."""

# Kinds of events, and their members beside `v`, `project` and `source`.
#
# signal_snapshot     signal {key, signals, error_signature}, observed
# hypothesis          signal, hypothesis {id, text, predicted_outcome}, mutation, personality, gene, action, capsules, observed
# attempt             the same with hypothesis {id}, had_error; `cause`: the event of the failure that it answers, where it was captured, and
#                     `told`: both in words
# attempt_closed      the attempt's, and outcome {status, score, note, observed}, confidence, baseline; latency_ms, tokens, cost
# external_candidate  external, asset {type, id}, candidate; never counted as evidence
# asset               a gene or a capsule as it is now: asset {type, id, …}, asset_id, the hash of its content
# personality         parameters as they are now: state {…}, why
KINDS = dict.fromkeys(
    ("signal_snapshot", "hypothesis", "attempt", "attempt_closed", "external_candidate", "asset", "personality"), 1)  # fmt: skip
# Before the key of signals, under which outcomes are evidence of a gene.
SIGNAL_KEY = "signal:"
SIGNALS = f"causal/{SIGNAL_KEY}"  # as the table of evidence has it
SUCCESS, FAILED = "success", "failed"
