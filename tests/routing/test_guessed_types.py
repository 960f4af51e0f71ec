"""Queries in languages that the rules of thumb do not read: the type is guessed, and said."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Run
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from theorex_lab import Lab
from theorex_lab.routing.heuristic import GUESSED_CONFIDENCE, classify

UNREAD = [
    "写一个对数组排序的函数",
    "配列をソートする関数を書いてください",
    "배열을 정렬하는 함수를 작성해 줘",
    "اكتب دالة لترتيب المصفوفة",
    "Напиши функцию сортировки массива",
    "Γράψε μια συνάρτηση ταξινόμησης",
    "כתוב פונקציה למיון מערך",
    "सूची को क्रमबद्ध करने का फलन लिखो",
    "เขียนโปรแกรมเรียงลำดับ",
    "Napisz funkcję sortującą tablicę",
    "Tolong buatkan fungsi pengurutan larik",
]
READ = [
    "Hello, how are you today?",
    "Guten Morgen, wie geht es dir?",
    "Bonjour, comment vas-tu ?",
    "¿Cómo estás hoy?",
    "ok",
    "Tell me about Москва",
]
MODELS: dict[str, Any] = {
    "models": {"big": {"tier": "large"}, "middle": {"tier": "medium"}},
    "roles": [
        {
            "agent_id": "sage",
            "role": "operative",
            "capabilities": ["general", "synthesis"],
            "model_preference": "middle",
        }
    ],
}


@pytest.mark.parametrize("query", UNREAD)
def test_no_certain_answer_is_given_for_what_cannot_be_read(query: str) -> None:
    with Lab.temporary(**MODELS) as lab:
        decision = lab.route(query)
    assert decision.is_guessed
    assert decision.confidence <= GUESSED_CONFIDENCE
    assert decision.reasons[-1].startswith(f"guessed: the type {decision.query_type}")


@pytest.mark.parametrize("query", READ)
def test_what_can_be_read_is_not_guessed(query: str) -> None:
    with Lab.temporary(**MODELS) as lab:
        decision = lab.route(query)
    assert (decision.is_guessed, decision.confidence) == (False, 1.0)


def test_a_sign_in_another_script_decides() -> None:
    assert classify("用 python 写 def sort(x):") == classify("def sort(x):")._replace(
        sign=classify("用 python 写 def sort(x):").sign
    )


def test_the_command_says_that_it_guessed(run: Run) -> None:
    for query in UNREAD[:3]:
        assert "(guessed)" in run("route", query).out
        assert '"is_guessed": true' in run("route", query, "--json").out


@hypothesis_settings(max_examples=60, deadline=None)
@given(
    st.text(
        st.sampled_from([chr(code) for code in range(0x4E00, 0x4F00)]),
        min_size=2,
        max_size=400,
    )
)
def test_letters_of_another_script_alone_are_always_guessed(query: str) -> None:
    assert classify(query).unread
