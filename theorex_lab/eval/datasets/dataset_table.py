"""List the public data sets: their repositories, files and licences.

The table also says what a complete set holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote

RAW_ADDRESS = "https://raw.githubusercontent.com"


class DataFile(NamedTuple):
    """One file of a data set.

    name: in the set's folder, where it may also carry a further .gz.  path: in the
    repository, a folder if there are members; "-" where it has no public address.
    sha256: of the uncompressed bytes. members: paths below `path` of what a .tar holds;
    its sha256 is that of the list of its members in the order of their names, a line
    each, as the program sha256sum writes them, so that the way of packing does not
    matter.
    """

    name: str
    path: str
    sha256: str
    members: tuple[str, ...] = ()


class PublishedTranscripts(NamedTuple):
    """Transcripts in a repository, from which a log is rebuilt.

    Attributes:
        name: The file in the cache that the log becomes.
        folders: The folders of the transcripts.
        host: The host of the repository, with its protocol.
    """

    name: str
    folders: tuple[str, ...]
    host: str = "https://github.com"


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """What is known of a public data set before it is there.

    Attributes:
        name: Its name, also of its folder.
        repository: Where it was published, owner/name; "-" for nowhere.
        commit: The commit that is read, 40 hexadecimal digits; "-" for none.
        licence: The licence in words; one that holds "non-commercial" or "research use"
            is marked.
        files: The files.
        about: What it is, in one line.
        scores: What is scored on it, in one line.
        size_bytes: The size of its files, unpacked.
        counts: What a complete set holds.
        base_url: The host of the raw files.
        transcripts: What the set's log is rebuilt from where its file is nowhere; None
            where it cannot be rebuilt.
    """

    name: str
    repository: str
    commit: str
    licence: str
    files: tuple[DataFile, ...]
    about: str = ""
    scores: str = ""
    size_bytes: int = 0
    counts: Mapping[str, float] = field(default_factory=dict)
    base_url: str = RAW_ADDRESS
    transcripts: PublishedTranscripts | None = None

    @property
    def research_only(self) -> bool:
        """Return whether the licence does not allow commercial use."""
        return "non-commercial" in self.licence or "research use" in self.licence

    @property
    def is_public(self) -> bool:
        """Return whether the set can be downloaded, or rebuilt from what can be."""
        return self.transcripts is not None or all(
            file.path != "-" for file in self.files
        )

    def address(self, file: DataFile, member: str = "") -> str:
        """Return where the file, or one member of it, is downloaded from.

        >>> file = DataFile("a.json", "data/A&B/a.json", "0" * 64)
        >>> DatasetInfo("demo", "owner/repo", "c0ffee", "MIT", (file,)).address(file)
        'https://raw.githubusercontent.com/owner/repo/c0ffee/data/A%26B/a.json'
        """
        path = f"{file.path}/{member}" if member else file.path
        return f"{self.base_url}/{self.repository}/{self.commit}/{quote(path)}"


_MMLU_SUBJECTS = """
    abstract_algebra anatomy astronomy business_ethics clinical_knowledge
    college_biology college_chemistry college_computer_science college_mathematics
    college_medicine college_physics computer_security conceptual_physics econometrics
    electrical_engineering elementary_mathematics formal_logic global_facts
    high_school_biology high_school_chemistry high_school_computer_science
    high_school_european_history high_school_geography
    high_school_government_and_politics high_school_macroeconomics
    high_school_mathematics high_school_microeconomics high_school_physics
    high_school_psychology high_school_statistics high_school_us_history
    high_school_world_history human_aging human_sexuality international_law
    jurisprudence logical_fallacies machine_learning management marketing
    medical_genetics miscellaneous moral_disputes moral_scenarios nutrition philosophy
    prehistory professional_accounting professional_law professional_medicine
    professional_psychology public_relations security_studies sociology
    us_foreign_policy virology world_religions
"""
_MMLU_MEMBERS = tuple(f"mmlu_{subject}.csv" for subject in _MMLU_SUBJECTS.split())

_WHOANDWHEN_MEMBERS = tuple(f"{number}.json" for number in range(1, 127))

_ALFWORLD_MEMBERS = (
    *(f"base_run_logs/env_results_trial_{trial}.json" for trial in range(7)),
    *(f"reflexion_run_logs/env_results_trial_{trial}.json" for trial in range(15)),
)

_PFR_CHAPTERS = """
    100_percent approx_hom_pfr distance entropy entropy_pfr fibring further_improvement
    hom_pfr improved_exponent jensen main pfr torsion weak_pfr
"""
_PFR_MEMBERS = tuple(f"{chapter}.tex" for chapter in _PFR_CHAPTERS.split())

LLMROUTER = DatasetInfo(
    name="llmrouter",
    repository="ulab-uiuc/LLMRouter",
    commit="4e7a796942ce26e9d5f2b93191c7c2585c99c2e3",
    licence="MIT",
    files=(
        DataFile(
            name="routing_train.json",
            path="data/dcrouter_preprocessed/train.json",
            sha256="ad3ae70149998f02cbf0dd4557ccb6afcf365ac9391b7371329ffc22201e90e3",
        ),
        DataFile(
            name="routing_test.json",
            path="data/dcrouter_preprocessed/test.json",
            sha256="fbb6d3e3f62c7018e5446d3154cc05812d3124381f774738e9f0bac5bff79c79",
        ),
        DataFile(
            name="query_train.jsonl",
            path="data/example_data/query_data/default_query_train.jsonl",
            sha256="f1b2e3281dc3f9e082016812e1a778ca30e9828c7e58fa0a9f6dc52350ad4b8c",
        ),
        DataFile(
            name="query_test.jsonl",
            path="data/example_data/query_data/default_query_test.jsonl",
            sha256="0fdf4b4236fb81c1a673a01950fb974e02599c83164b0e7832888aefaa490e27",
        ),
        DataFile(
            name="default_llm.json",
            path="data/example_data/llm_candidates/default_llm.json",
            sha256="278f790564efd758ab28a9b6ce141d3fa057219de9bad40b31562c4286549552",
        ),
    ),
    about="answers of nine language models to 6,108 questions of 14 tasks, scored",
    scores="routing: which model answers a question well enough",
    size_bytes=8_311_979,
    counts={
        "models": 9,
        "train_queries": 5608,
        "train_tasks": 14,
        "test_queries": 500,
        "test_tasks": 10,
    },
)

ROUTELLM = DatasetInfo(
    name="routellm",
    repository="lm-sys/RouteLLM",
    commit="0b64fdafe049e596a3f5657c219329f24af24198",
    licence="Apache-2.0; questions of MMLU and GSM8K, both MIT",
    files=(
        DataFile(
            name="gsm8k_responses.csv",
            path="routellm/evals/gsm8k/gsm8k_responses.csv",
            sha256="1f38ed03db354a020f71e92022383dc3cf37bbf2694dea4daaeea7b6c43fe57b",
        ),
        DataFile(
            name="mmlu_responses.tar",
            path="routellm/evals/mmlu/responses",
            sha256="66ba0fd633e306cd652c87e7620ef80aacc9432b7aadde78012dfe7656eeb269",
            members=_MMLU_MEMBERS,
        ),
    ),
    about="MMLU and GSM8K questions, and whether a weak and a strong model answered them",
    scores="routing: quality against the share of the strong model",
    size_bytes=8_090_422,
    counts={
        "mmlu_questions": 14042,
        "mmlu_subjects": 57,
        "mmlu_weak_correct": 9560,
        "mmlu_strong_correct": 11315,
        "gsm8k_questions": 1319,
        "gsm8k_weak_correct": 842,
        "gsm8k_strong_correct": 1130,
    },
)

TAUBENCH_AIRLINE = DatasetInfo(
    name="taubench_airline",
    repository="sierra-research/tau-bench",
    commit="59a200c6d575d595120f1cb70fea53cef0632f6b",
    licence="MIT",
    files=(
        DataFile(
            name="gpt-4o-airline.json",
            path="historical_trajectories/gpt-4o-airline.json",
            sha256="e9e6c0297660c537f83d4fd9c476ce7a9a86ecd2784874b7bfc13be598e37bfa",
        ),
    ),
    about="200 runs of an agent at an airline's desk, with every call and the reward",
    scores="procedures and causal advice: will the next trial succeed",
    size_bytes=4_114_038,
    counts={
        "runs": 200,
        "tasks": 50,
        "trials": 4,
        "successes": 84,
    },
)

WHOANDWHEN = DatasetInfo(
    name="whoandwhen",
    repository="mingyin1/Agents_Failure_Attribution",
    commit="3d9d568840f004b389638f97adf3e0ab8b5a9514",
    licence="MIT",
    files=(
        DataFile(
            name="whoandwhen_algorithm_generated.tar",
            path="Who&When/Algorithm-Generated",
            sha256="53756a5d4d7b58df4223d6195a7d3b50182efbc1464d4ad67b5806e4c51ccb34",
            members=_WHOANDWHEN_MEMBERS,
        ),
    ),
    about="126 failed runs of teams of agents, with who failed at which step",
    scores="failures: which agent and which step decided",
    size_bytes=2_682_880,
    counts={"runs": 126, "label_not_on_step": 3},
)

REFLEXION_ALFWORLD = DatasetInfo(
    name="reflexion_alfworld",
    repository="noahshinn/reflexion",
    commit="218cf0ef1df84b05ce379dd4a8e47f17766733a0",
    licence="MIT",
    files=(
        DataFile(
            name="alfworld_env_results.tar",
            path="alfworld_runs/root",
            sha256="b7c83220e2ea859e130f3c523aba785edfc6a21484b20f9528c1031d25321d06",
            members=_ALFWORLD_MEMBERS,
        ),
    ),
    about="134 tasks tried up to 15 times, with what the agent wrote after a failure",
    scores="failures: does a written lesson help the next trial",
    size_bytes=1_699_840,
    counts={
        "environments": 134,
        "trials": 15,
        "base_trials": 7,
        "reflections": 200,
    },
)

LOCOMO = DatasetInfo(
    name="locomo",
    repository="dial481/locomo-audit",
    commit="9493fb4b4af4256ed17a18e8fd0b3cfdeec29539",
    licence="CC BY-NC 4.0 (non-commercial); conversations by Snap Research, copy by dial481",
    files=(
        DataFile(
            name="locomo10.json",
            path="data/locomo10.json",
            sha256="79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
        ),
    ),
    about="ten long conversations, with questions and where their answers stand",
    scores="retrieval: are the turns found that hold the answer",
    size_bytes=2_805_274,
    counts={"logs": 10, "turns": 5882, "questions": 1535},
)

QMSUM = DatasetInfo(
    name="qmsum",
    repository="Yale-LILY/QMSum",
    commit="83d7768c1f2b4dfeb091385d3dc7e239b8e5bb7e",
    licence="MIT",
    files=(
        DataFile(
            name="val.jsonl",
            path="data/ALL/jsonl/val.jsonl",
            sha256="fc7444e241bdbe6997c01720d07f1a58b7357284acb73f909766e5a4700db49f",
        ),
    ),
    about="35 meetings, with questions and the spans that people marked",
    scores="retrieval: are the marked turns found",
    size_bytes=2_714_748,
    counts={"logs": 35, "turns": 20123, "questions": 237},
)

PRECISIONMEMBENCH = DatasetInfo(
    name="precisionmembench",
    repository="tenurehq/precisionMemBench",
    commit="18c7955357b33098a64d601bc8e4624c41743972",
    licence="MIT",
    files=(
        DataFile(
            name="beliefs.seed.json",
            path="fixtures/beliefs.seed.json",
            sha256="35659b3b9a581b644fc6746e1b4e902c3e7b56c0973b546bf7b0816a69e3de98",
        ),
        DataFile(
            name="retrieval.cases.json",
            path="fixtures/retrieval.cases.json",
            sha256="09e99f0852280538abe34b03570f65583fdb10df3c554b7150f0f665d5db709c",
        ),
    ),
    about="35 beliefs of a person, with what must and must not come back",
    scores="retrieval: right beliefs, and no stale ones",
    size_bytes=69_243,
    counts={"logs": 1, "beliefs": 35, "cases": 76},
)

CODING_SESSIONS = DatasetInfo(
    name="coding_sessions",
    repository="specstoryai/getspecstory",
    commit="210d6095c58e26c49ca8093789c491ebe8f28203",
    licence="Apache-2.0; parsed from the transcripts, masked and cut",
    files=(
        DataFile(
            name="getspecstory.jsonl",
            path="-",
            sha256="b001495b1418040a60133a43759b9dce913e96f5b9874e45ff475e94b259f67f",
        ),
    ),
    about="a year of a coding agent's sessions on one project",
    scores="the briefing, replays and comparisons of whole memories",
    size_bytes=9_815_725,
    counts={"logs": 1, "lines": 12734, "sessions": 127},
    transcripts=PublishedTranscripts(
        "getspecstory.rebuilt.jsonl.gz",
        (".specstory/history", "specstory-cli/.specstory/history"),
    ),
)

SESSION_NEEDS = DatasetInfo(
    name="session_needs",
    repository="-",
    commit="-",
    licence=(
        "made by reading recorded sessions; its quotes stand under their licences"
        " (Apache-2.0, CC BY-SA 4.0, MIT)"
    ),
    files=(
        DataFile(
            name="calibrate_backend.jsonl",
            path="-",
            sha256="1d0e2967ed67606ebc56cf67eb859c904b99e1ad127f4c2f89a1da8eae18f8b5",
        ),
        DataFile(
            name="getspecstory.jsonl",
            path="-",
            sha256="b509c8b133031ce378285e41ad03cf83072bfd8413e5e6be2d9f5aa3368dae73",
        ),
        DataFile(
            name="gryag.jsonl",
            path="-",
            sha256="ba8d92586292f46bcd17e22f81d77552a05ae08398395f28480582c7a4f00e3c",
        ),
        DataFile(
            name="minsky.jsonl",
            path="-",
            sha256="b90a3ded88b3eeaa41e7bedf274be02ab2f66f6ceeab76da70b1df3272a62eab",
        ),
    ),
    about="what 66 recorded sessions needed to know when they began",
    scores="the briefing: needs that are covered per token",
    size_bytes=235_480,
    counts={
        "projects": 4,
        "sessions": 66,
        "needs": 462,
    },
)

FACT_UPDATES = DatasetInfo(
    name="fact_updates",
    repository="-",
    commit="-",
    licence="MIT; made by a program, all names invented",
    files=(
        DataFile(
            name="facts-1k.jsonl",
            path="-",
            sha256="e5bcbb9e809d2a80f93f8ec7e45d460664914b218fbb595749356ef95371793d",
        ),
        DataFile(
            name="facts-8k.jsonl",
            path="-",
            sha256="e0e56b94891ea428c3e49175f17c481b2b5e3cf80ff8222df0dcd530fe456998",
        ),
    ),
    about="invented statements, many of which correct or end earlier ones",
    scores="retrieval: the right statement before the stale one",
    size_bytes=1_369_892,
    counts={"logs": 2, "statements": 9000, "questions": 1350},
)

STSB = DatasetInfo(
    name="stsb",
    repository="PhilipMay/stsb-multi-mt",
    commit="30de0dec4ee199b7f42351d3f1a0b19592955385",
    licence="scores CC BY-SA 4.0; sentences have licences of their own, for research use",
    files=(
        DataFile(
            name="stsb-en-dev.csv",
            path="data/stsb-en-dev.csv",
            sha256="d29586e96558c4eb52cf5ea5d14e9c24d3bf0e44f111b017caba43a5adc33226",
        ),
    ),
    about="1,500 pairs of sentences, with how similar people find them",
    scores="duplicates: similarity of texts",
    size_bytes=204_675,
    counts={"pairs": 1500},
)

SICK = DatasetInfo(
    name="sick",
    repository="brmson/dataset-sts",
    commit="e1d3375f5b3bc24f21aa4e46f96eb379e9fc1081",
    licence="CC BY-NC-SA 3.0 (non-commercial)",
    files=(
        DataFile(
            name="SICK_train.txt",
            path="data/sts/sick2014/SICK_train.txt",
            sha256="266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e",
        ),
        DataFile(
            name="SICK_trial.txt",
            path="data/sts/sick2014/SICK_trial.txt",
            sha256="5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56",
        ),
        DataFile(
            name="SICK_test_annotated.txt",
            path="data/sts/sick2014/SICK_test_annotated.txt",
            sha256="2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0",
        ),
    ),
    about="9,927 pairs of sentences, with relatedness and contradictions",
    scores="contradictions: found and falsely found",
    size_bytes=1_123_447,
    counts={"pairs": 9927},
)

FEVER_SYMMETRIC = DatasetInfo(
    name="fever_symmetric",
    repository="TalSchuster/FeverSymmetric",
    commit="fa25d17e73ea0694edc78133ec654b9f32f6db73",
    licence="CC BY-SA 3.0",
    files=(
        DataFile(
            name="fever_symmetric_dev.jsonl",
            path="symmetric_v0.2/fever_symmetric_dev.jsonl",
            sha256="1d43d016da9264de2139cd10edd459ffbeac84f1fd85d60b70ab6ef63d283f81",
        ),
    ),
    about="708 pairs of claim and evidence, half of them refuted",
    scores="contradictions: order of pairs",
    size_bytes=466_743,
    counts={"pairs": 708},
)

EQUATIONAL_THEORIES = DatasetInfo(
    name="equational_theories",
    repository="teorth/equational_theories",
    commit="54edcda2f320cef0a241f8109fa164f901a69b87",
    licence="Apache-2.0",
    files=(
        DataFile(
            name="full_entries.json",
            path="full_entries.json",
            sha256="c33dc30ee4630764b7e9c34addad9a4236b14611aee61834a32c503585cb98d3",
        ),
        DataFile(
            name="equations.txt",
            path="data/equations.txt",
            sha256="e30e1a6735011ff36fdb228d37b232eb7cda9d4a836cbbefc69c07e6871c8010",
        ),
        DataFile(
            name="duals.json",
            path="data/duals.json",
            sha256="08e5aa39ddfc84c1b76f128b2b437293b6e7a7a6b1b4cb0d3052bdd429dea87f",
        ),
    ),
    about="4,694 laws of magmas, and which of them imply which",
    scores="research: the closure has 8,178,279 pairs",
    size_bytes=4_293_846,
    counts={"laws": 4694, "implications": 10657},
)

PFR_BLUEPRINT = DatasetInfo(
    name="pfr_blueprint",
    repository="teorth/pfr",
    commit="01c9b666945eaf73b3f7d8b20ffe003f8640e630",
    licence="Apache-2.0",
    files=(
        DataFile(
            name="chapters.tar",
            path="blueprint/src/chapter",
            sha256="cbaa0cb0342a5220257aac2ad5d36e7c33c685685c34fbb3af878109ec05ac83",
            members=_PFR_MEMBERS,
        ),
    ),
    about="a proof's 218 theorems in LaTeX, and which of them use which",
    scores="research: related theorems",
    size_bytes=165_407,
    counts={"theorems": 218, "uses": 497},
)

METAMATH_QL = DatasetInfo(
    name="metamath_ql",
    repository="metamath/set.mm",
    commit="da128d578f8b6bee36938624b149f689bdfccf51",
    licence="CC0-1.0",
    files=(
        DataFile(
            name="ql.mm",
            path="ql.mm",
            sha256="5142773b26f61ce7aabe6178de25559d5b18251797f4999f539bda8f48358a5f",
        ),
    ),
    about="1,140 formal theorems of quantum logic, and the premises of each",
    scores="research: premises of a new theorem",
    size_bytes=590_804,
    counts={"theorems": 1140, "uses": 11838},
)

ALL = (
    LLMROUTER,
    ROUTELLM,
    TAUBENCH_AIRLINE,
    WHOANDWHEN,
    REFLEXION_ALFWORLD,
    LOCOMO,
    QMSUM,
    PRECISIONMEMBENCH,
    CODING_SESSIONS,
    SESSION_NEEDS,
    FACT_UPDATES,
    STSB,
    SICK,
    FEVER_SYMMETRIC,
    EQUATIONAL_THEORIES,
    PFR_BLUEPRINT,
    METAMATH_QL,
)

DATASETS: dict[str, DatasetInfo] = {info.name: info for info in ALL}


class PackagedInfo(NamedTuple):
    """A set that comes with the project.

    Attributes:
        name: Its name.
        file: The name of its file in datasets/.
        about: What it is, in one line.
    """

    name: str
    file: str
    about: str


PACKAGED_LICENCE = "MIT, as the project"
_PACKAGED_SETS = (
    PackagedInfo(
        "simulated_team",
        "simulated_team.jsonl.gz",
        "a simulation of three agents at work for 180 days",
    ),
    PackagedInfo(
        "simulated_sessions",
        "simulated_sessions.jsonl.gz",
        "a simulation of 89 sessions of a developer with a coding agent",
    ),
    PackagedInfo(
        "simulated_needs",
        "simulated_needs.jsonl.gz",
        "what 24 of the simulated sessions needed to know when they began",
    ),
    PackagedInfo(
        "simulated_questions",
        "simulated_questions.jsonl.gz",
        "twelve simulated conversations with 348 questions of seven kinds",
    ),
    PackagedInfo(
        "simulated_calls",
        "simulated_calls.jsonl.gz",
        "a simulation of 1,200 queries that seven made-up models answered",
    ),
    PackagedInfo(
        "simulated_failures",
        "simulated_failures.jsonl.gz",
        "a simulation of 240 failed runs of teams, with fixes and second tries",
    ),
    PackagedInfo(
        "local_runs",
        "local_runs.jsonl.gz",
        "164 short tasks, each answered by a small model and by rules",
    ),
    PackagedInfo(
        "signals_en",
        "signals_en.jsonl.gz",
        "labels of 730 English messages of public sets, without the messages",
    ),
    PackagedInfo(
        "signals_ru",
        "signals_ru.jsonl.gz",
        "156 Russian messages written for this purpose, with their labels",
    ),
    PackagedInfo(
        "six_designs",
        "six_designs.json.gz",
        "what six memory designs were worth on ten data sets: scores alone",
    ),
)
PACKAGED: dict[str, PackagedInfo] = {info.name: info for info in _PACKAGED_SETS}

# Figures that others had on the sets on which routing is scored; of llmrouter a quick
# trial, its settings not validated,
# whose training holds 119 of the 500 test queries.
PUBLISHED: dict[str, dict[str, float]] = {
    "llmrouter": {
        "best_single": 0.563,
        "task_matrix": 0.587,
        "oracle": 0.743,
        "uniform": 0.376,
        "task_matrix_and_20_neighbours": 0.617,
    },
    "routellm_mmlu": {"weak": 0.6808, "strong": 0.8058, "oracle": 0.8586},
    "routellm_gsm8k": {"weak": 0.6384, "strong": 0.8567},
}
