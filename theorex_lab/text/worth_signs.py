"""What makes a sentence worth keeping, and of which type.

Weights and regular expressions, tried in any case. Weights are log odds against not
keeping it: a type's are added, and to each those of "any". Fitted to one half of the
labelled turns by penalized regression.
"""

SIGNS: dict[str, tuple[tuple[float, str], ...]] = {
    "any": (
        (-1.8, r"\?\W*$"),
        (
            -1.6,
            (
                r"^\W*(?:let me|let's see|i'll|i will|i'm going to|i can|i could|if"
                r" you|want me"
                r"|would you|should i|say the word|happy to|ready"
                r" (?:for|to|when)|shall|do you|which "
                r"(?:do|would|one)|next (?:natural|open|step)|worth"
                r" (?:a|eyeballing)|give it|run `"
                r"|re-run|try )"
            ),
        ),
        (
            -1.4,
            (
                r"\b(?:want me to|let me know|your call|say the word|if you'd"
                r" (?:like|rather|prefer)"
                r"|happy to|whenever you|i can (?:also|add|shorten)|ready when|what do"
                r" you think"
                r"|go ahead|give it a)\b"
            ),
        ),
        (
            -1.4,
            (
                r"^\W*(?:all|the)? ?(?:tests?|build|linter?|gates?|everything|both|full"
                r" (?:state"
                r"|suite)|\d+ packages)\b.{0,60}\b(?:pass\w*|clean|green|ok|done|0"
                r" issues)\b"
            ),
        ),
        (
            -1.0,
            (
                r"\b(?:lint\w*|golangci-lint|build|gofmt|tests)\b.{0,40}\b(?:clean|0"
                r" issues|pass\w*|green|ok)\b"
            ),
        ),
        (
            -0.6,
            (
                r"^\W*(?:here(?:'s| is| are)|now i have|i now"
                r" have|good|great|ok|okay|done|got it"
                r"|sounds good|agreed|you're right|you were right|yes|no|perfect|all"
                r" (?:the )?(?:four"
                r"|five|three|\d+))\b[^—:]{0,60}$"
            ),
        ),
        (
            -1.2,
            (
                r"✅|\bgood"
                r" (?:—|-|why|catch|guard|use|separation|function|documentation)\b|\b(?:clean"
                r"|correct|proper|clear|excellent|thoughtful|safe)(?:ly)?"
                r" (?:and|error|guard|comment"
                r"|separation|handl|dry)\w*"
            ),
        ),
        (-0.9, r"^.{0,45}$"),
        (-0.7, r"^.{0,70}$"),
        (
            -1.1,
            r"^\W*(?:pro|con|pros|cons|option|question|note|nit|observation|lines?)\b",
        ),
        (-0.8, r"^\W*(?:`?test\w*|tests added|verified)\b"),
        (1.1, r"`"),
        (0.2, r"—"),
        (-1.3, r"^\W*(?:lines? \d|[\w/]+\.\w{1,4}:\d|❓)"),
        (0.4, r"^\W*\*\*"),
    ),
    "discovery": (
        (1.4, r"^\W*(?:so|but|right now|today)\b"),
        (
            0.5,
            (
                r"\b(?:creates|walks|matches|indexes|prints|makes|sends|loads|carries|contains"
                r"|includes|exists?|works|covers|tracks|counts|resolves|points|parses|keeps|passes"
                r"|ends? up)\b"
            ),
        ),
        (0.8, r"\b(?:is|are|was|were|does|has|have)\b"),
        (
            0.8,
            (
                r"\b(?:because|since|root cause|cause[sd]?|means|turns out|which is"
                r" why|so that|due to"
                r"|the reason|the (?:actual |real"
                r" )?(?:bug|problem|issue|gap|mismatch))\b"
            ),
        ),
        (
            0.6,
            (
                r"\b(?:never|only|always|already|today|currently|right now|at"
                r" all|anywhere|no "
                r"(?:existing|longer)|there(?:'s| is| are)"
                r" no|not|n't|without|nothing|none|still)\b"
            ),
        ),
        (
            0.6,
            (
                r"\b(?:actually|instead|but|even"
                r" though|despite|whereas|while|contradicts?|mismatch"
                r"|inconsistent|stale|missing|duplicat\w*|identical|leaks?|fails?|breaks?|wrong"
                r"|incorrect|unguarded|redundant)\b"
            ),
        ),
        (
            1.1,
            (
                r"\b(?:returns|uses|reads|writes|calls|lives|stores|watches|treats|splits|requires"
                r"|hands|holds|opens|expects|defaults|depends)\b"
            ),
        ),
    ),
    "decision": (
        (
            1.4,
            (
                r"\b(?:i(?:'d)? recommend|recommendation|recommended|my"
                r" (?:lean|rec|recommendation)"
                r"|i lean|leaning|decided|decision|the right"
                r" (?:call|choice|approach|fix|move)|we"
                r"(?:'ll| will| should| need| want)|should"
                r" (?:be|have|just|start)|let's|prefer|(?:is"
                r"|are) out of scope|deferred?|settled|deliberately|intentionally|per"
                r" your call|for v1"
                r"|not v1|greenfield|worth (?:it|deciding)|no backfill)\b"
            ),
        ),
        (0.8, r"\*\*D\d+|\bD\d+\b"),
        (
            0.8,
            (
                r"\b(?:keep|stays?|go with|rather than|instead of|over a|so (?:i'd|the"
                r" fix|we)|the fix"
                r"|fix shape|approach|option [a-d]\b|stick|drop)\b"
            ),
        ),
        (
            0.6,
            r"\b(?:must|need to|needs? to|has to|have to|only when|not (?:at|yet))\b",
        ),
        (0.3, r"\b(?:no|not|never|don't|shouldn't|only)\b"),
    ),
    "feature": (
        (0.4, r"→"),
        (
            0.6,
            (
                r"\b(?:new|implemented|supports?|feature|built|now"
                r" (?:shows?|supports?|reads?|has"
                r"|writes?|opens?|records?|appears?))\b"
            ),
        ),
        (-0.2, r"^\W*\*\*[^*]{3,60}\*\*\W*(?:—|-|:|now|respects|flag|helper)"),
        (0.4, r"^\W*(?:`[^`]+`(?:\(\))?)\W*(?:—|–|-|:|→|=|now)"),
        (
            1.6,
            (
                r"^\W*(?:wraps|loads|filters|shows|renders|streams|pushes|debounces|follows|respects"
                r"|uses|links|opens|adds|is styled)\b"
            ),
        ),
        (
            0.6,
            (
                r"\b(?:cycles|toggles|persisted|highlight\w*|scoped|filter|footer|picker|key|flag|hint"
                r"|view|screen|row)\b"
            ),
        ),
        (
            1.1,
            (
                r"\b(?:we want|make it|should (?:show|have|say)|let's"
                r" (?:put|have|make)|provide|give "
                r"(?:the user|them))\b"
            ),
        ),
    ),
    "change": (
        (
            3.2,
            (
                r"^\W*(?:\*\*[^*]+\*\*\W*)?(?:\(\d[\d, ]*\)\W*)?(?:also |i |i've |i"
                r" also )?(?:added"
                r"|removed|renamed|moved|updated|fixed|replaced|extracted|rewrote|deleted|dropped"
                r"|changed|converted|collapsed|wrote|written|kept|took|merged|reworded|normalized"
                r"|consolidated|integrated|registered|captured|recorded|downgraded|split|switched"
                r"|bumped|tightened|reverted|marked|corrected|re-added|noted|cross-referenced"
                r"|documented|synced|applied|rebuilt|reworked|refactored|hoisted|unified)\b"
            ),
        ),
        (
            0.8,
            (
                r"\b(?:is|are|was|were|has been|have been) (?:now"
                r" |gone|removed|renamed|replaced|moved"
                r"|fixed|updated|rewritten|dropped|deleted|no"
                r" longer|reworded|synced|unexported"
                r"|kept)\b|\bis gone\b"
            ),
        ),
        (1.5, r"\bnow\b"),
        (
            1.4,
            (
                r"\bnow"
                r" (?:does|takes|checks|returns|names|calls|says|leads|stops|includes|carries"
                r"|honors|derives|counts|explains|uses)\b"
            ),
        ),
        (0.5, r"^\W*(?:refactor|rename|remove|move|update|replace|change|fix)\b"),
        (
            1.3,
            (
                r"\b(?:renamed|replaced|collapsed|became|gained|gains|moved"
                r" (?:in|out|from)|no longer"
                r"|dropped|used to)\b"
            ),
        ),
    ),
}
