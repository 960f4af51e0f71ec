"""Speech acts, scored: how well the classifier tells what sentences do, and its fit.

Labels stand in a table without the text of the sentences, which belongs to the logs:
project, session, time, kind of the hook, offset of the statement in its message, hash
of its text, class, and whether the class was sure. Each project is scored by a model
that was fitted on the others.
"""

import csv
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.files import write_atomically
from theorex_lab.eval.datasets.logs import hook_form_log
from theorex_lab.eval.datasets.sources import DATA_VARIABLE, data_folder
from theorex_lab.memory.briefing.session_log import Message, Prompt, sessions_of
from theorex_lab.memory.decay import Floats
from theorex_lab.text.speech_acts import (
    LABELS,
    Label,
    Model,
    Speaker,
    cue_features,
    likeliest_of,
)

COLUMNS = (
    "project",
    "session",
    "time",
    "kind",
    "offset",
    "hash",
    "class",
    "sure",
    "draw",
)
HASH_CHARACTERS = 10
# Words of a prompt that count as its user's: typed, or sent by the user's standing order.
_OWN_WORDS = ("own", "standing")
# A feature is fitted where it stands in at least so many sentences.
_FEWEST_SENTENCES = 3
# Strength of the ridge penalty, a share of the loss of a sentence.
_PENALTY = 0.005
# Weight of a sentence: (1 / sentences of its class) to this power. 0 fits the shares of
# the labels, 1 gives every class the same weight.
_BALANCE = 0.5
_ITERATIONS = 300
_DIGITS = 3  # of a weight in the file
_PLACE = "coding_sessions/{project}.jsonl.gz"


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence of a log with its class.

    Attributes:
        project: The project of the log.
        label: The class.
        is_sure: Whether no other class could be defended.
        features: Its features, as the classifier has them.
    """

    project: str
    label: Label
    is_sure: bool
    features: Mapping[str, float]


class ClassScore(NamedTuple):
    """How one class of one project is told.

    Attributes:
        project: The project, 'all' for all of them.
        label: The class.
        precision: Share of what was told to be of the class that is.
        recall: Share of the class that was told to be of it.
        n: Sentences of the class.
    """

    project: str
    label: str
    precision: float
    recall: float
    n: int

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True, slots=True)
class SpeechActScore:
    """How well the classifier does on projects that it was not fitted on.

    Attributes:
        n: Sentences.
        unsure: Share of them for which another class could be defended.
        accuracy: Share that was told right.
        accuracy_of_sure: The same of those that were sure.
        baseline: Share of the most frequent class by speaker, which is the baseline.
        macro_f1: Mean of F1 over the classes, all projects together.
        classes: Precision and recall by project and class.
    """

    n: int
    unsure: float
    accuracy: float
    accuracy_of_sure: float
    baseline: float
    macro_f1: float
    classes: tuple[ClassScore, ...]

    def result(self) -> dict[str, Any]:
        """Return the score for JSON."""
        classes: list[dict[str, Any]] = []
        for row in self.classes:
            figures = row._asdict()
            figures["f1"] = row.f1
            classes.append(figures)
        return {
            "dataset": "speech_acts",
            "n": self.n,
            "unsure": self.unsure,
            "metrics": {
                "accuracy": self.accuracy,
                "accuracy_of_sure": self.accuracy_of_sure,
                "macro_f1": self.macro_f1,
            },
            "baselines": {
                "most_frequent_of_speaker": {
                    "accuracy": self.baseline,
                },
            },
            "classes": classes,
        }

    def text(self) -> str:
        """Return the score as a table for people."""
        lines = [
            f"speech acts, n = {self.n}; each project by a model of the others",
            f"macro-F1 {self.macro_f1:.3f}, accuracy {self.accuracy:.3f}"
            f" (sure labels {self.accuracy_of_sure:.3f}; most frequent class of the"
            f" speaker {self.baseline:.3f}); unsure {self.unsure:.2f}",
            f"{'project':<20}{'class':<12}{'precision':>10}{'recall':>8}{'n':>6}",
        ]
        for row in self.classes:
            lines.append(
                f"{row.project:<20}{row.label:<12}{row.precision:>10.2f}"
                f"{row.recall:>8.2f}{row.n:>6}"
            )
        return "\n".join(lines)


def labelled_sentences(path: str | Path) -> list[LabelledSentence]:
    """Return the sentences of a table of labels, read from the logs.

    Raises:
        InvalidInput: THEOREX_DATA names no folder, the table is another, or a sentence
            is not in its log.
    """
    rows_by_project = defaultdict[str, list[dict[str, str]]](list)
    for row in _rows(Path(path)):
        rows_by_project[row["project"]].append(row)
    sentences: list[LabelledSentence] = []
    for project, rows in rows_by_project.items():
        statements = _statements_of(project)
        for row in rows:
            sentences.append(_sentence(row, statements))
    return sentences


def fit(sentences: Sequence[LabelledSentence]) -> Model:
    """Fit a multinomial logistic regression with a ridge penalty.

    Nesterov's accelerated gradient from zero; nothing is drawn.

    Raises:
        InvalidInput: There are no sentences.
    """
    if not sentences:
        raise InvalidInput("got no labelled sentences; allowed is one or more")
    names = _frequent_features(sentences)
    inputs = _inputs(sentences, names)
    classes = np.array([LABELS.index(sentence.label) for sentence in sentences])
    targets = np.eye(len(LABELS))[classes]
    weights = _descend(inputs, targets, _sentence_weights(classes))
    by_feature: dict[str, tuple[float, ...]] = {}
    for name, row in zip(names, weights.tolist(), strict=True):
        by_feature[name] = tuple(round(weight, _DIGITS) for weight in row)
    return Model(LABELS, by_feature)


def score_speech_acts(sentences: Sequence[LabelledSentence]) -> SpeechActScore:
    """Score each project by a model that was fitted on the others.

    Raises:
        InvalidInput: The sentences are of fewer than two projects.
    """
    projects = sorted({sentence.project for sentence in sentences})
    if len(projects) < 2:
        raise InvalidInput(
            f"got sentences of {len(projects)} projects; allowed are two or more, since"
            " each is scored by a model of the others"
        )
    rows: list[_TestedSentence] = []
    classes: list[ClassScore] = []
    for project in projects:
        others: list[LabelledSentence] = []
        tested: list[LabelledSentence] = []
        for sentence in sentences:
            if sentence.project == project:
                tested.append(sentence)
            else:
                others.append(sentence)
        project_rows = _tested(tested, others)
        rows += project_rows
        classes += _class_scores(project, project_rows)
    return _summary(rows, classes)


def write_model(model: Model, path: str | Path) -> None:
    """Write a model as the file of weights that the classifier reads."""
    lines: list[str] = []
    for feature, weights in sorted(model.weights.items()):
        name = json.dumps(feature, ensure_ascii=False)
        numbers = json.dumps(weights)
        lines.append(f"  {name}: {numbers}")
    content = (
        f'{{"labels": {json.dumps(model.labels)},\n "weights": {{\n'
        + ",\n".join(lines)
        + "\n}}\n"
    )
    write_atomically(Path(path), content.encode())


def text_hash(text: str) -> str:
    """Return the short hash by which a statement is known again."""
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_CHARACTERS]


class _TestedSentence(NamedTuple):
    sentence: LabelledSentence
    prediction: Label
    baseline: Label

    def by_baseline(self) -> "_TestedSentence":
        """Return the row as if the baseline had made its prediction."""
        return self._replace(prediction=self.baseline)


class _PlacedStatement(NamedTuple):
    text: str
    offset: int
    after: str
    in_quote: bool


_StepKey = tuple[str, int, str]  # session, time (µs UTC), kind of the hook


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"got the labels {path}, which cannot be read: {error}; allowed is a table"
            f" with the columns {', '.join(COLUMNS)}"
        ) from error
    reader = csv.DictReader(content.splitlines(), delimiter="\t")
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise InvalidInput(
            f"got the columns {reader.fieldnames} in {path}; allowed are"
            f" {', '.join(COLUMNS)}, separated by tabs"
        )
    rows = list(reader)
    labels = {row["class"] for row in rows}
    if not labels <= set(LABELS):
        raise InvalidInput(
            f"got the classes {sorted(labels - set(LABELS))} in {path}; allowed are"
            f" {', '.join(LABELS)}"
        )
    return rows


def _statements_of(project: str) -> dict[_StepKey, list[_PlacedStatement]]:
    """Return the statements of a project's log by where they stand."""
    folder = data_folder()
    if folder is None:
        raise InvalidInput(
            f"the sentences are in the logs, which {DATA_VARIABLE} has to name; set it"
            f" to a folder that holds {_PLACE.format(project=project)}"
        )
    log = hook_form_log(project, folder / _PLACE.format(project=project))
    statements = defaultdict[_StepKey, list[_PlacedStatement]](list)
    for session in sessions_of(log.events):
        for prompt in session.prompts:
            key = (session.id, prompt.at, "UserPromptSubmit")
            statements[key] += _of_prompt(prompt)
        for message in session.messages:
            key = (session.id, message.at, "Stop")
            statements[key] += _of_message(message)
    return statements


def _of_prompt(prompt: Prompt) -> list[_PlacedStatement]:
    placed: list[_PlacedStatement] = []
    for offset, (statement, words) in enumerate(prompt.statements):
        in_quote = words not in _OWN_WORDS
        placed.append(_PlacedStatement(statement.text, offset, prompt.after, in_quote))
    return placed


def _of_message(message: Message) -> list[_PlacedStatement]:
    return [
        _PlacedStatement(statement.text, offset, "", False)
        for offset, statement in enumerate(message.statements)
    ]


def _sentence(
    row: Mapping[str, str], statements: Mapping[_StepKey, Sequence[_PlacedStatement]]
) -> LabelledSentence:
    key = (row["session"], to_microseconds(row["time"]), row["kind"])
    speaker: Speaker = "user" if row["kind"] == "UserPromptSubmit" else "agent"
    for statement in statements.get(key, ()):
        if (
            statement.offset == int(row["offset"])
            and text_hash(statement.text) == row["hash"]
        ):
            features = cue_features(
                statement.text,
                speaker=speaker,
                after=statement.after,
                position=statement.offset,
                in_quote=statement.in_quote,
            )
            return LabelledSentence(
                row["project"],
                cast(Label, row["class"]),
                row["sure"] == "yes",
                features,
            )
    raise InvalidInput(
        f"got a label of statement {row['offset']} with the hash {row['hash']} at"
        f" {row['time']} in session {row['session']} of {row['project']}, which is not"
        " in the log; label it again where sentences are cut another way"
    )


def _frequent_features(sentences: Sequence[LabelledSentence]) -> list[str]:
    """Return the features that stand in enough sentences, sorted."""
    uses = Counter[str]()
    for sentence in sentences:
        uses.update(list(sentence.features))
    return sorted(name for name, number in uses.items() if number >= _FEWEST_SENTENCES)


def _inputs(sentences: Sequence[LabelledSentence], names: Sequence[str]) -> Floats:
    columns = {name: number for number, name in enumerate(names)}
    inputs = np.zeros((len(sentences), len(names)))
    for number, sentence in enumerate(sentences):
        for feature, value in sentence.features.items():
            column = columns.get(feature)
            if column is not None:
                inputs[number, column] = value
    return inputs


def _sentence_weights(classes: np.ndarray[Any, Any]) -> Floats:
    """Return the weight of each sentence, by how rare its class is; mean 1."""
    sizes = np.bincount(classes, minlength=len(LABELS))
    own_sizes = sizes[classes]
    rarities = 1.0 / own_sizes
    weights: Floats = rarities**_BALANCE
    weights /= weights.mean()
    return weights


def _descend(inputs: Floats, targets: Floats, sentence_weights: Floats) -> Floats:
    """Return the weights (feature, class) with the least penalized loss."""
    size = len(inputs)
    roots = np.sqrt(sentence_weights)
    weighted = inputs * roots[:, None]
    largest = float(np.linalg.norm(weighted, 2))
    # The curvature of a softmax is at most one half in any direction.
    steepest = 0.5 * largest**2
    steepest /= size
    steepest += _PENALTY
    weights = np.zeros((inputs.shape[1], targets.shape[1]))
    ahead = weights
    momentum = 1.0
    for _ in range(_ITERATIONS):
        probabilities = _softmax(inputs @ ahead)
        errors = probabilities - targets
        errors *= sentence_weights[:, None]
        gradient = inputs.T @ errors
        gradient /= size
        gradient += _PENALTY * ahead
        moved = ahead - gradient / steepest
        root = (1 + 4 * momentum**2) ** 0.5
        next_momentum = (1 + root) / 2
        speed = (momentum - 1) / next_momentum
        ahead = moved + speed * (moved - weights)
        weights = moved
        momentum = next_momentum
    return weights


def _softmax(scores: Floats) -> Floats:
    highest = scores.max(axis=1, keepdims=True)
    odds = np.exp(scores - highest)
    totals = odds.sum(axis=1, keepdims=True)
    shares: Floats = odds / totals
    return shares


def _summary(
    rows: Sequence[_TestedSentence], classes: Sequence[ClassScore]
) -> SpeechActScore:
    """Return the score of all projects, with that of each."""
    overall = _class_scores("all", rows)
    sure = [row for row in rows if row.sentence.is_sure]
    by_baseline = [row.by_baseline() for row in rows]
    return SpeechActScore(
        n=len(rows),
        unsure=1 - len(sure) / len(rows),
        accuracy=_share_right(rows),
        accuracy_of_sure=_share_right(sure),
        baseline=_share_right(by_baseline),
        macro_f1=float(np.mean([row.f1 for row in overall])),
        classes=(*overall, *classes),
    )


def _tested(
    tested: Sequence[LabelledSentence], others: Sequence[LabelledSentence]
) -> list[_TestedSentence]:
    """Return what a model of the others, and the baseline, tell of sentences."""
    model = fit(others)
    counts = defaultdict[bool, Counter[Label]](Counter)
    for sentence in others:
        counts[_is_users(sentence)][sentence.label] += 1
    rows: list[_TestedSentence] = []
    for sentence in tested:
        prediction = likeliest_of(sentence.features, model).label
        most_frequent = counts[_is_users(sentence)].most_common(1)
        baseline = most_frequent[0][0] if most_frequent else LABELS[0]
        rows.append(_TestedSentence(sentence, prediction, baseline))
    return rows


def _is_users(sentence: LabelledSentence) -> bool:
    return "user: always" in sentence.features


def _class_scores(project: str, rows: Sequence[_TestedSentence]) -> list[ClassScore]:
    right = Counter[Label]()
    predicted = Counter[Label]()
    actual = Counter[Label]()
    for row in rows:
        label = row.sentence.label
        actual[label] += 1
        predicted[row.prediction] += 1
        if row.prediction == label:
            right[label] += 1
    scores: list[ClassScore] = []
    for label in LABELS:
        precision = right[label] / max(predicted[label], 1)
        recall = right[label] / max(actual[label], 1)
        scores.append(ClassScore(project, label, precision, recall, actual[label]))
    return scores


def _share_right(rows: Sequence[_TestedSentence]) -> float:
    right = sum(row.prediction == row.sentence.label for row in rows)
    return right / max(len(rows), 1)
