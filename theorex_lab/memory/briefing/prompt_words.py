"""The words by which a prompt and what was said earlier are compared.

An agent's hook reads every prompt with this module, in a process of its own: standard
library only, and few patterns. English: its stop words and endings are those of
`text.wording`.
"""

from __future__ import annotations

from theorex_lab.core.remembering import remembered

# Words that say nothing of what a text is about, as `text.wording` has them, and what is
# left of a contraction.
_STOP_WORDS = frozenset(
    """
    a an the and or but if then else of to in on at by for with from as is are was were
    be been being it its this that these those there here i you he she we they me my
    your our their his her them us do does did done have has had not no so just can
    could should would will may might must shall what which who when where why how all
    any some each than too very also into over under out up down about after before
    again more most other only own same such now let lets please ok okay yes yeah
    hi hello thanks thank one make sure get got go going want need like use using used
    isn aren wasn weren doesn didn don hasn haven hadn won wouldn couldn shouldn mustn
    ain ll ve re
    """.split()
)
# Words by which any piece of work is asked for or reported. They say little of its
# subject.
GENERIC_WORDS = frozenset(
    """
    work working works task tasks thing things file files change changes changed code
    update updates updated add added implement implemented implementation fix fixes
    fixed fixing create created remove removed review done complete completed ready
    success successful successfully correct correctly proper properly currently now
    issue issues problem problems error errors bug bugs failing fail fails failed
    element elements test tests tested testing pass passes passing run running runs
    linter lint clean build built look looks looking take read check checked see step
    steps next first last new old two three four five few part parts way project
    repo repository codebase go through try continue start finish start staged commit
    committed push pushed expected outcome progress plan summary note report result
    results everything anything something nothing improvement improvements major minor
    following whole rest remaining question option options explain tell show give help
    need needed required needs good better best great nice well pretty stuff bit lot
    conflict conflicts resolve resolved resolution merge merged fully verified
    """.split()
)
# Words of a conversation, which say nothing of its subject.
_CONVERSATION_WORDS = frozenset(
    """
    able actually ahead already also always back bad basically clearly even ever exact
    exactly feel goes guess having hear hmm instead just keep kind know let little look
    maybe mean much never nope note obviously oh other please possible possibly pretty
    probably quickly quite ran rather really research right same say saying seem sense
    should simply sorry still suggest sure talk tell think try understand usually very
    wanted well while whole wonder wrong yep yet
    """.split()
)
# Signs that no word holds.
_PARTING = dict.fromkeys(map(ord, "\"'`,;:()[]{}<>=|\\!?*&^%$@~+…“”‘’«»→•"), " ")
_EDGES = "./-#"  # signs that stand within a word alone
_MAY_END_A_NUMBER = frozenset("0123456789" + _EDGES)  # signs of ASCII
# Words before the number of an issue or a pull request.
_NUMBERED = frozenset(
    "pr prs issue issues task tasks ticket tickets bug bugs request pull".split()
)
_NUMBERED_PATHS = ("pull/", "issues/")
NUMBER_MARK = "#"  # how the term of such a number begins
FILE_MARK = "/"  # how the term of a file's name begins
_SHORTEST_PART = 3
_SHORTEST_STEM = 3
_LONGEST_WITH_E = 4  # letters of a word whose final e stays
_LONGEST_ENDING = 6  # letters after the dot of a file's name
_LONGEST_WORD = 120
_LONGEST_NUMBER = 5
_FOLDERS_OF_A_LONG_PATH = 2
# Consonants that are doubled before an ending, as in "running".
_DOUBLED = frozenset("bdgmnprt")

# Of a prompt nothing behind these many characters is read.
LONGEST_READ = 16_000
# Of a prompt with more characters all but the first lines are taken for pasted.
_LONG_PROMPT = 1_500
_TYPED_LINES = 4
_LONGEST_TYPED_LINE = 1_200
_LEAST_LETTERS = 0.62
_CODE_ENDS = (
    ";",
    "{",
    "}",
    "=>",
    "\\",
    "</",
)
_PASTED_STARTS = (
    ">",
    "|",
    "<",
    "[",
    "+++",
    "---",
    "@@",
    "//",
    "/*",
    "$ ",
    "diff ",
    'File "',
    "Traceback",
    "import ",
    "def ",
    "func ",
    "const ",
    "class ",
)
# Words before a colon at a line's end that announce what another wrote. English.
_ANNOUNCING = frozenset(
    """
    issue ticket page doc docs document documentation readme spec article error errors
    output log logs message messages email review reviews comment comments template
    terminal response website blog transcript says said shows returned prints wrote
    following below result results trace stack
    """.split()
)
_USERS_WORDS = frozenset(
    "my our i we suggestions rules requirements tasks steps".split()
)


def word_stem(word: str) -> str:
    """Return a word in lower case without its English ending.

    >>> word_stem("tests"), word_stem("running"), word_stem("queries"), word_stem("cache")
    ('test', 'run', 'query', 'cach')
    """
    stemmed = _without_ending(word)
    if len(stemmed) > _LONGEST_WITH_E and stemmed.endswith("e"):
        return stemmed[:-1]
    return stemmed


def _without_ending(word: str) -> str:
    last = word[-1:]
    if last == "s":
        return _without_s(word)
    if last == "g" and word.endswith("ing"):
        return _undoubled(word, 3)
    if last == "d":
        if word.endswith("edly"):
            return _undoubled(word, 4)
        if word.endswith("ed"):
            return _undoubled(word, 2)
    if last == "y" and word.endswith("ly"):
        return _undoubled(word, 2)
    return word


def _without_s(word: str) -> str:
    """Return a word without the s of a plural or of a verb."""
    without_ies = word.removesuffix("ies")
    if without_ies != word and len(without_ies) >= _SHORTEST_STEM:
        return f"{without_ies}y"
    without_es = word.removesuffix("es")
    if without_es != word and len(without_es) >= _SHORTEST_STEM:
        return _undoubled(word, 2)
    return _undoubled(word, 1)


def _undoubled(word: str, n_letters: int) -> str:
    """Return a word without its last letters, and without what they doubled."""
    n_left = len(word) - n_letters
    if n_left < _SHORTEST_STEM:
        return word
    beginning = word[:n_left]
    if n_left == _SHORTEST_STEM:
        return beginning
    last = beginning[-1]
    if last in _DOUBLED and last == beginning[-2]:
        return beginning[:-1]
    return beginning


_GENERIC_STEMS = frozenset(map(word_stem, GENERIC_WORDS | _CONVERSATION_WORDS))


def is_generic(stem: str) -> bool:
    """Return whether a stem says little of what a piece of work is about.

    >>> is_generic(word_stem("updating")), is_generic(word_stem("caching"))
    (True, False)
    """
    return stem in _GENERIC_STEMS


def words_in(text: str, heading: str = "") -> tuple[set[str], set[str]]:
    """Return the words of a text, and the words that its names are made of.

    Args:
        text: The text.
        heading: The heading that it stands under, whose words are taken in as well; ''
            for none.

    Returns:
        The stems of words that say what it is about, with names as a whole and files
        without their folders; and beside them the stems of the parts of names, and
        numbers of issues after "#".

    >>> words, parts = words_in("Set `maxRetries` in net/client.py, see PR 12")
    >>> sorted(words)
    ['client.py', 'maxretry', 'pr', 'see', 'set']
    >>> sorted(parts)
    ['#12', 'client', 'max', 'net', 'retry']
    """
    words: set[str] = set()
    parts: set[str] = set()
    runs = _runs_of(text)
    if heading:
        runs += _runs_of(heading)
    for word, word_parts in set(map(_word_of, runs)):
        words.add(word)
        parts.update(word_parts)
    words.discard("")
    last = ""
    for run in runs:
        if run[-1] in _MAY_END_A_NUMBER or not run.isascii():
            number = _number_in(run, last)
            if number:
                parts.add(f"{NUMBER_MARK}{number}")
        last = run
    return words, parts - words


def _runs_of(text: str) -> list[str]:
    """Return the runs of signs that the words of a text are in."""
    return text.translate(_PARTING).split()


# Most runs of signs come again; an index of a year of sessions reads each many times.
@remembered(1 << 15)
def _word_of(run: str) -> tuple[str, frozenset[str]]:
    """Return the stem of a run of signs, '' where it says nothing, and its parts.

    Args:
        run: Signs without a space.
    """
    word = run.strip(_EDGES)
    if not _says_something(word):
        return "", frozenset()
    lower = word.lower()
    if word.isalpha() and (word.islower() or word.istitle()):
        return word_stem(lower), frozenset()
    parts: set[str] = set()
    _add_parts(word, parts)
    return word_stem(_file_in(lower) or lower), frozenset(parts)


def _says_something(word: str) -> bool:
    """Return whether a word is neither a number nor one of no meaning of its own."""
    if not 1 < len(word) < _LONGEST_WORD or word[0].isdigit():
        return False
    return word.lower() not in _STOP_WORDS


def _number_in(run: str, last: str) -> str:
    """Return the number of an issue or a pull request that a run of signs names.

    A single digit counts steps, and names nothing.

    Args:
        run: Signs without a space.
        last: Those before them.
    """
    if not run[-1].isdigit() and run[-1] not in _EDGES:
        return ""
    bare = run.strip("./-")
    number = bare.rpartition("#")[2]
    if not number.isdigit():
        for path in _NUMBERED_PATHS:
            number = number.rpartition(path)[2]
    if not number.isdigit() or not 1 < len(number) <= _LONGEST_NUMBER:
        return ""
    is_named = number != bare or last.lower().strip(_EDGES) in _NUMBERED
    return number if is_named else ""


def _add_parts(word: str, parts: set[str]) -> None:
    """Add the words that a name is made of."""
    for piece in _pieces(word):
        lower_piece = piece.lower()
        if len(piece) >= _SHORTEST_PART and lower_piece not in _STOP_WORDS:
            parts.add(word_stem(lower_piece))


def _pieces(name: str) -> list[str]:
    """Return the words of a name: what stands between signs, digits and humps.

    >>> _pieces("maxRetries_of.HTTPClient2")
    ['max', 'Retries', 'of', 'HTTP', 'Client']
    """
    pieces: list[str] = []
    start = 0
    for end in range(1, len(name) + 1):
        if end < len(name) and not _parts_at(name, end):
            continue
        piece = name[start:end]
        if piece.isalpha():
            pieces.append(piece)
        start = end
    return pieces


def _parts_at(name: str, position: int) -> bool:
    """Return whether one word of a name ends before a position."""
    before = name[position - 1]
    here = name[position]
    if not before.isalpha() or not here.isalpha():
        return True
    if not here.isupper():
        return False
    following = name[position + 1 : position + 2]
    return before.islower() or following.islower()


def _file_in(word: str) -> str:
    """Return the file that a word in lower case names, without its folders."""
    name = word.rpartition("/")[2]
    return name if is_file_name(name) else ""


def is_file_name(word: str) -> bool:
    """Return whether a word names a file, by its ending.

    >>> is_file_name("client.py"), is_file_name("client"), is_file_name("1.5")
    (True, False, False)
    """
    beginning, dot, ending = word.rpartition(".")
    if not beginning or not dot:
        return False
    return ending.isalnum() and ending[0].isalpha() and len(ending) <= _LONGEST_ENDING


def numbers_after_command(text: str) -> list[str]:
    """Return the numbers that a slash command is given, as in "/review 177"."""
    if not text.startswith("/"):
        return []
    line = text.partition("\n")[0]
    numbers: list[str] = []
    for argument in line.split()[1:]:
        number = argument.lstrip("#")
        if number.isdigit() and 1 < len(number) <= _LONGEST_NUMBER:
            numbers.append(number)
    return numbers


def without_folders(text: str) -> str:
    """Return a text whose addresses and long paths are cut to their last part.

    >>> without_folders("See https://example.org/docs/cache in src/app/main.py")
    'See cache in main.py'
    """
    lines: list[str] = []
    for line in text.split("\n"):
        if line.count("/") > 1:
            line = " ".join(map(_last_part, line.split(" ")))
        lines.append(line)
    return "\n".join(lines)


def _last_part(run: str) -> str:
    """Return the last part of an address or a long path; another run as it is."""
    if "://" not in run and run.count("/") < _FOLDERS_OF_A_LONG_PATH:
        return run
    number = _number_in(run, "")
    if number:
        return f"{NUMBER_MARK}{number}"
    path = run.rstrip("/")
    return path.rpartition("/")[2]


def own_and_pasted(prompt: str) -> tuple[str, str]:
    r"""Return what a user wrote in a prompt, and what seems to be pasted into it.

    Text in fences, quotations, logs and code are pasted, what follows a line that
    announces another's words, and what stands far down in a long prompt.

    >>> own_and_pasted("It fails with this error:\nKeyError in load")
    ('It fails with this error:', 'KeyError in load')
    """
    own_lines: list[str] = []
    pasted_lines: list[str] = []
    is_fenced = False
    is_announced = False
    is_long = len(prompt) > _LONG_PROMPT
    lines = prompt[:LONGEST_READ].splitlines()
    for number, line in enumerate(lines):
        bare = line.strip()
        if bare.startswith(("```", "~~~")):
            is_fenced = not is_fenced
            continue
        is_far_down = is_long and number >= _TYPED_LINES
        is_anothers = is_fenced or is_announced or is_far_down
        if is_anothers or _looks_pasted(bare):
            pasted_lines.append(bare)
            continue
        own_lines.append(bare)
        is_announced = _announces(bare)
    own_text = "\n".join(own_lines)
    pasted_text = "\n".join(pasted_lines)
    return own_text, pasted_text


def _looks_pasted(line: str) -> bool:
    """Return whether a line is a quotation, a log or code by its form."""
    if not line:
        return False
    if line.startswith(_PASTED_STARTS) or line.endswith(_CODE_ENDS):
        return True
    if len(line) > _LONGEST_TYPED_LINE:
        return True
    n_letters = sum(map(str.isalpha, line))
    n_spaces = line.count(" ")
    return n_letters + n_spaces <= _LEAST_LETTERS * len(line)


def _announces(line: str) -> bool:
    """Return whether a line ends in a colon, and what follows is another's."""
    if not line.endswith(":"):
        return False
    beginning = line[:-1]
    words = beginning.lower().split()
    if not _USERS_WORDS.isdisjoint(words):
        return False
    return not _ANNOUNCING.isdisjoint(words)


def spellings_in(text: str) -> dict[str, str]:
    """Return the words of a text as they are spelt in it, by their stems."""
    spellings: dict[str, str] = {}
    for run in text.translate(_PARTING).split():
        word = run.strip(_EDGES)
        spellings.setdefault(word_stem(word.lower()), word)
    return spellings
