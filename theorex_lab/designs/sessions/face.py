"""What a lab gives as `lab.sessions`: rules, files and sessions in short."""

from typing import Any

from theorex_lab.designs.sessions.digests import (
    captures_of,
    digest_of,
    in_words,
    keep_digest,
)
from theorex_lab.designs.sessions.said import NeededFile, needed_files
from theorex_lab.memory.briefing.candidates import Candidate
from theorex_lab.memory.briefing.personal_rules import personal_rule_candidates
from theorex_lab.memory.briefing.rule_sayings import sayings_of
from theorex_lab.memory.briefing.rules import rule_candidates
from theorex_lab.memory.briefing.session_log import recorded_sessions
from theorex_lab.memory.contract import DesignApi


class Sessions(DesignApi):
    """Sessions in one home.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     lab.sessions.rules()
    []
    """

    def rules(self) -> list[Candidate]:
        """Return the standing rules of users, the most certain first.

        Those about the person that other projects tell of are among them. See
        `memory.briefing.rules.rule_candidates` and `memory.briefing.personal_rules`.
        """
        now = self.home.clock.now()
        sessions = recorded_sessions(self.home, now)
        rules = [
            *rule_candidates(sessions, now),
            *personal_rule_candidates(
                self.home, lambda: list(sayings_of(sessions)), now
            ),
        ]
        return sorted(rules, key=lambda rule: -rule.weight)

    def files(self, query: str = "") -> list[NeededFile]:
        """Return the files that will probably be needed, for a query or in general.

        See `designs.sessions.said.needed_files`.
        """
        return needed_files(self.home, self.home.clock.now(), query)

    def digest(self, session: str, *, agent: str = "main") -> dict[str, Any] | None:
        """Return a session in short; see `designs.sessions.digests.digest_of`.

        Returns:
            Its parts, and beside them `words` for a reader; None where nothing was
            asked or done.
        """
        digest = digest_of(captures_of(self.home, agent, session))
        if digest is None:
            return None
        return {**digest, "words": in_words(digest)}

    def keep_digest(self, session: str, *, agent: str = "main") -> bool:
        """Append a session's digest and fixes; see `designs.sessions.digests.keep_digest`.

        Returns:
            False where nothing came since the last digest.
        """
        return keep_digest(self.home, agent, session)
