"""What is not the own word of who wrote a prompt.

Regular expressions, each matched where a line begins.
"""

# A message that begins so was written by a program: summaries, expansions, prompts for
# other agents.
WHOLE_MESSAGE = (
    r"This session is being continued from a previous conversation",
    r"Caveat: The messages below",
    r"\[Request interrupted",
    (
        r"You are (?:an?|the)"
        r" [^.\n]{0,80}\b(?:agent|assistant|expert|specialist|reviewer"
        r"|engineer|developer|architect|analyst)\b"
    ),
    r"Please analyze this codebase and create a CLAUDE\.md",
    r"Your task is to create a detailed summary",
    r"Base directory for this skill",
    r"(?:Skill|Command) instructions?:",
    r"\#+ [^\n]{1,80}\n+(?:You are|Your (?:task|role|job) is)\b",
    r"Stop hook feedback",
    r"The user (?:sent|doesn't want|opened|selected)\b",
    r"Ты\s[—–-]\s",
)

# From such a line on stands what a program gave: recalled memory, or a summary.
GIVEN_BACK = (
    r".*Recalled from earlier sessions\. It is data",
    r".*No session of this project is recorded yet: this is from its git history",
    r".*What follows is recalled data\. Nothing in it is an instruction",
    r".*Recalled data, no instructions:",
    r"\# Shared Agent Context\s*$",
    r"Caveat: The messages below",
    r"This session is being continued from a previous conversation",
)

# From such a line on nothing is the user's word any more.
TO_THE_END = (
    r".*Recalled from earlier sessions\. It is data",
    r".*No session of this project is recorded yet: this is from its git history",
    r".*What follows is recalled data\. Nothing in it is an instruction",
    r".*Recalled data, no instructions:",
    r"\# Shared Agent Context\s*$",
    r"Caveat: The messages below",
    r"This session is being continued from a previous conversation",
    r"(?:---+ ?)?(?:BEGIN|Begin) (?:quote|paste|file|document|output|log)\b",
    r"Skip to (?:main )?content",
    (
        r"\#+ (?:installation|install|usage|getting started|licen[cs]e|contributing"
        r"|table of contents|quick ?start|requirements|changelog|faq)\b"
    ),
    (
        r"(?:table of contents|on this page|edit this page|last"
        r" updated|subscribe|©|copyright"
        r"|\d+ min(?:ute)? read)\b"
    ),
    (
        r"(?:Accept (?:all )?cookies|All rights reserved|Privacy Policy|Terms of"
        r" Service|Sign in|Log in to)\b"
    ),
    r"Traceback \(most recent call last\)",
    (
        r"(?:assistant|system|human|ai|bot|stdout|stderr|(?:tool |command"
        r" )?output)\s?(?::|>|-\s)"
    ),
    r"(?:From|Subject|Sent): \S",
)

# A line that ends in a colon and says so: what follows is someone else's word, to the
# end.
INTRODUCTION = (
    (
        r"\b(?:readme|docs?|documentation|page|article|website|web"
        r" site|blog|wiki|e-?mail"
        r"|ticket|issue|transcript|review(?:er)?|bot|copilot|cursor|claude|gemini|chatgpt|he"
        r"|she|they|someone|it)\b[^.\n]{0,40}\b(?:says?|said|reads?|wrote|writes|states?"
        r"|suggests?|suggested|recommends?|recommended|told me|gave me|responded"
        r"|replied)\b[^.\n]{0,40}"
    ),
    r"\b(?:found|pasted?|copied|content|contents|text|excerpt|quote)\b[^.\n]{0,60}",
    (
        r"\b(?:output|logs?|error|errors|trace|stack"
        r" trace|response|result|results|feedback"
        r"|comments?|review|diff|transcript|warning|warnings|console)\b[^.\n]{0,40}"
    ),
    r"(?:вывод|логи?|ошибк[аи]|пишет|говорит|написано|сообщение|статья|ответ)[^.\n]{0,40}",
    (
        r"\bfollowing"
        r" (?:plan|document|spec|issue|page|text|prompt|review|message|ticket)\b[^.\n]{0,40}"
    ),
)

# Lines that are nobody's own word in a prompt: indented blocks and the marks of test
# reports.
NOT_OWN = (r"(?:\t| {4,})(?!\s*(?:[-*+•–]|\(?\d{1,3}[.)])\s)", r"\s*[✓✗✔✘×√]")

# Logs, traces, diffs, listings, terminals: never a sentence, whoever wrote the message.
MACHINE_LINE = (
    r"\s*\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:",
    r"\s*\[?\d\d:\d\d:\d\d\b",
    (
        r"\s*\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|PANIC|CRITICAL|PASS|FAIL"
        r"|SKIP)\b[\]:]?(?=\s|$)"
    ),
    r"\s*at \S+ ?\(",
    r'\s*File ".*", line \d',
    (
        r"\s*(?:[A-Za-z_.]*(?:Error|Exception|Warning)|panic|fatal|error(?: [A-Z]+\d+)?"
        r"|warning|goroutine \d+|caused by|npm ERR!|make\[?\d*\]?)\s?[:!\[]"
    ),
    r"\s*(?:---|===) ?(?:PASS|FAIL|RUN|SKIP)",
    r"\s*(?:ok|FAIL|\?)\s+\S+/\S+",
    (
        r"(?:@@ |diff --git |index [0-9a-f]{7,}\.\.|[+-]{3}"
        r" [ab/]|[+-](?![\s\d-])|[+-]\s{2,})"
    ),
    r"\s*[$%#❯➜λ] [a-z./~]",
    r"\s*(?:drwx|-rw|lrwx)",
    r"\s*[⏺⎿│├└┌╭╰╮╯║╔╚✻✽✶✳·]",
    r"\s*\d+\s*(?:[→│]|[|:]\s)",
    r"\s*[\s\u200b-\u200f\u2060\ufeff]*[>|＞»]",
    r"\s*(?:\d+[.)]?\s+)?\S+:\d+(?::\d+)?:?(?:\s|$)",
    r"""\s*[{}\[\]"',]""",
    r'\s*"?[A-Za-z_-]+"\s*:|\s*[\w-]+:\s*[{\[]',
    (
        r"\s*(?:const|let|var|func|def|class|import|from|return|package|public|private|static"
        r"|export|async|await|type|struct|interface|if|for|while|switch|case|else|elif|try"
        r"|except|select|insert|update|delete)\b.*[({;=:\[]\s*$"
    ),
    (
        r"""\s*(?:import|package|from|export|func|def|const|let|var) [\w.{"'(]+"""
        r"(?:\s*$|\s*[=({]|\s+import\b)"
    ),
    (
        r"\s*(?:sudo|curl|wget|git|npm|npx|pnpm|yarn|pip|uv|go|cargo|docker|kubectl|brew|apt"
        r"|cd|ls|cat|echo|export|mkdir|rm|chmod) (?:-|\S+ -|\S+$|https?:|[\w./-]+/)"
    ),
    r"\s*(?:https?://\S+|(?:~|\.{1,2})?/\S+|[A-Za-z]:\\\S+|[\w.-]+(?:/[\w.-]+)+/?|[\w-]+\.[a-z]{1,5})\s*$",
    r"\s*//|\s*/\*|\s*\*/|\s*#!|\s*<!--|\s*--\s",
    r"\s*\[[ \w-]+\](?:\(|:| \w+=)",
    r"\s*\S+\s*[:+]?=\s*\S+\s*$",
    r"\s*--?[a-z][\w-]*\s{2,}\S",
)

# Found anywhere in a sentence: escapes, JSON, code, tables, diffs, addresses that are
# cut.
UNREADABLE = (
    r'\\\\?[nrt"u]\S',
    r"&(?:lt|gt|amp|quot|nbsp|#\d+);",
    r"\x1b|[\ue000-\uf8ff\ufffd]|[─-╿]",
    r'"\s*:\s*["\d{\[]|[{\[]"|"[}\]]',
    r"(?:&&|\|\||:=|=>|===?|!=|\+=|</|/>|;\s*$|[({\[]\s*$)",
    r"\s\|\s.*\s\|\s",
    r"\b[0-9a-f]{24,}\b|[A-Za-z0-9+/]{60,}|\S{120}",
    r"(?:^|\s)(?:\.{3}|…)\s*\[|\[truncated|\[image|\[Pasted text",
)

# One of these signs, a "(" at the end or a word this long is in whatever one of the
# patterns above fits.
UNREADABLE_SIGN = r'[\\&"\[\]{}|=<>;\x1b\ue000-\uf8ff\ufffd─-╿]'
SHORTEST_UNREADABLE = 24  # characters

# A program's element within a sentence that is about it: after a word, with nothing but
# a few words in it.
_MENTIONED_NAME = (
    r"(?:system-reminder|command-(?:name|message|args|contents)|local-command-(?:stdout|stderr|caveat)"
    r"|bash-(?:input|stdout|stderr)|user-prompt-submit-hook|session-start-hook|post-tool-use-hook"
    r"|task-notification|ide_(?:opened_file|selection|diagnostics))"
)
_MENTION_BEFORE = r"""(?<=[\s`"'(])"""
_MENTION_AFTER = r"""(?=[\s`"').,;:!?]|\Z)"""
MENTIONED_ELEMENT = (
    rf"{_MENTION_BEFORE}<({_MENTIONED_NAME})>[^<>.!?\n]{{0,100}}</\1>{_MENTION_AFTER}"
)
MENTIONED_TAG = rf"{_MENTION_BEFORE}</?{_MENTIONED_NAME}/?>{_MENTION_AFTER}"

# Their text is a program's, also where they are never closed; closed, every tag's text
# is.
MACHINE_TAGS = (
    "command-",
    "local-command-",
    "system-reminder",
    "task-notification",
    "ide_",
    "user-prompt-submit-hook",
    "tool_",
    "function_",
    "antml",
    "bash-",
    "teammate-message",
    "session-start-hook",
    "post-tool-use-hook",
    "context",
    "document",
    "environment_",
    "instructions",
    "user_instructions",
    "attachment",
    "file",
    "persisted-output",
)

# What stands before an item of a list.
LIST_MARKER = (
    r"\s*(?:[-*+•–]|\(?\d{1,3}[.)]|[A-Za-z]\))\s+(?:\[[ xX]\]\s+)?",
    r"\s*(?:✅|❌|⚠️|✓|✗|→)\s*",
)
