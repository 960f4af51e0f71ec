"""Patterns of secrets are tried where one may begin, which must leave none out."""

import re

from theorex_lab.text.redact import secret_formats, secret_names, secret_tables
from theorex_lab.text.redact.masking import mask
from theorex_lab.text.redact.secret_words import VALUES_WITHOUT_A_SIGN


def test_rows_state_how_far_before_a_name_they_begin():
    for _, pattern, reach, _ in VALUES_WITHOUT_A_SIGN:
        if not reach:
            continue
        before, _, _ = pattern.partition("(?P<name>")
        without_flags = before.replace("(?i)", "")
        _, widest = re._parser.parse(without_flags, re.VERBOSE).getwidth()
        assert widest <= reach


def test_names_of_programs_are_words_before_a_blank():
    for program in secret_tables.PROGRAMS:
        starts = secret_formats._call_starts(f"(sudo; {program}.exe -p x")
        assert starts == [7]


def test_a_name_begins_at_its_hint_behind_what_it_looks_back_at():
    assert secret_names._reach_of("(?<![a-z])jwt", "jwt") == 0
    assert secret_names._reach_of("(?<![a-z])t?otp", "otp") > 0


def test_a_letter_that_patterns_take_for_another_hides_no_name():
    text = "Of passwords, pa\u017f\u017fword=hunter2x"
    assert mask(text) == "Of passwords, pa\u017f\u017fword=[masked]"
