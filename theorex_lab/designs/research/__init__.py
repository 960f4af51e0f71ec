"""Research tiers, as EurekaClaw has them: episodes, records by key, a graph of theorems, insights by domain, and skills."""

# Kinds of events, and their members beside `v`, `project` and `source`.
#
# episode            agent_role, content, metadata: what an agent of a session did, in a line
# session_begun      domain: what the session is about; what it leaves stands there
# record             record_id, key, value, tags, source_session; an imported one its created_at too
# record_deleted     record_id, key
# theorem            node_id, theorem_name, formal_statement, domain, session_id, tags
# theorem_link       from_id, to_id, relation
# insight            category, title, content, confidence, domain, session_id, fingerprint; `replaces`: ids of those that it stands
#                    for from now on; `like`: ids of those that say much of the same
# skill              name, version, description, body, tags, agent_roles, pipeline_stages, origin
# skill_outcome      name, success, domain, session_id: how a session went in which the skill was given
# post_run           session_id, status, domain, and what was learnt: numbers by name
# model_asked        model, tokens: what an answer took
KINDS = dict.fromkeys(
    ("episode", "session_begun", "record", "record_deleted", "theorem", "theorem_link", "insight", "skill", "skill_outcome",
     "post_run", "model_asked"), 1)  # fmt: skip
CATEGORIES = ("domain_knowledge", "proof_strategy", "open_problems", "pitfalls")
RELATIONS = ("uses", "generalizes", "specializes", "contradicts")
ORIGINS = ("seed", "distilled", "manual")  # where a skill came from
GENERAL = "general"  # the domain of what names none
# Before the name of a skill, under which its outcomes are evidence.
SKILL_KEY = "skill:"
