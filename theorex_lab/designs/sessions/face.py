"""What a lab gives as `lab.sessions`: rules, files and sessions in short."""

from typing import Any

from theorex_lab.designs.sessions.digests import (
    captures_of,
    digest_of,
    in_words,
    keep_digest,
)
from theorex_lab.designs.sessions.said import NeededFile, needed_files
from theorex_lab.designs.sessions.sections import StandingRule, standing_rules
from theorex_lab.memory.contract import DesignApi


class Sessions(DesignApi):
    """Sessions in one home.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     lab.sessions.rules()
    []
    """

    def rules(self) -> list[StandingRule]:
        """Return the rules of users that stand, often and lately given first.

        See `designs.sessions.sections.standing_rules`.
        """
        return standing_rules(self.home, self.home.clock.now())

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
