"""The table of public data sets: repository, commit, licence, sha256 and counts of each."""

from __future__ import annotations

from theorex_lab.experiments.data.dataset_files import DataFile, DatasetInfo

_TOUCHES = "git log --no-merges --no-renames --name-status --format='%x01%H %ct' HEAD"
_MMLU_SUBJECTS = """
    abstract_algebra anatomy astronomy business_ethics clinical_knowledge college_biology college_chemistry
    college_computer_science college_mathematics college_medicine college_physics computer_security
    conceptual_physics econometrics electrical_engineering elementary_mathematics formal_logic global_facts
    high_school_biology high_school_chemistry high_school_computer_science high_school_european_history
    high_school_geography high_school_government_and_politics high_school_macroeconomics high_school_mathematics
    high_school_microeconomics high_school_physics high_school_psychology high_school_statistics
    high_school_us_history high_school_world_history human_aging human_sexuality international_law jurisprudence
    logical_fallacies machine_learning management marketing medical_genetics miscellaneous moral_disputes
    moral_scenarios nutrition philosophy prehistory professional_accounting professional_law
    professional_medicine professional_psychology public_relations security_studies sociology us_foreign_policy
    virology world_religions
""".split()
_CHAPTERS = """
    100_percent approx_hom_pfr distance entropy entropy_pfr fibring further_improvement hom_pfr
    improved_exponent jensen main pfr torsion weak_pfr
""".split()
# By file: the paths of an archive's members below its own.
_MEMBERS = {
    "mmlu_responses.tar": tuple(f"mmlu_{subject}.csv" for subject in _MMLU_SUBJECTS),
    "chapters.tar": tuple(f"{chapter}.tex" for chapter in _CHAPTERS),
    "whoandwhen_algorithm_generated.tar": tuple(f"{number}.json" for number in range(1, 127)),
    "alfworld_env_results.tar": tuple(
        f"{kind}_run_logs/env_results_trial_{trial}.json"
        for kind, n_trials in (("base", 7), ("reflexion", 15))
        for trial in range(n_trials)
    ),
}

# Set, repository, commit, whether commercial use is allowed, licence.
_SETS = """
git_touches_helm stanford-crfm/helm 63754d05db6f874e41a395880fb573890a13e791 yes Apache-2.0
git_touches_pfr teorth/pfr 01c9b666945eaf73b3f7d8b20ffe003f8640e630 yes Apache-2.0
locomo dial481/locomo-audit 9493fb4b4af4256ed17a18e8fd0b3cfdeec29539 no CC BY-NC 4.0 (non-commercial); conversations by Snap Research, copy and audit by dial481
qmsum Yale-LILY/QMSum 83d7768c1f2b4dfeb091385d3dc7e239b8e5bb7e yes MIT
llmrouter ulab-uiuc/LLMRouter 4e7a796942ce26e9d5f2b93191c7c2585c99c2e3 yes MIT
routellm lm-sys/RouteLLM 0b64fdafe049e596a3f5657c219329f24af24198 yes Apache-2.0; questions of MMLU and GSM8K, both MIT
aider_leaderboards Aider-AI/aider 5dc9490bb35f9729ef2c95d00a19ccd30c26339c yes Apache-2.0
taubench_airline sierra-research/tau-bench 59a200c6d575d595120f1cb70fea53cef0632f6b yes MIT
whoandwhen mingyin1/Agents_Failure_Attribution 3d9d568840f004b389638f97adf3e0ab8b5a9514 yes MIT
reflexion_alfworld noahshinn/reflexion 218cf0ef1df84b05ce379dd4a8e47f17766733a0 yes MIT
stsb PhilipMay/stsb-multi-mt 30de0dec4ee199b7f42351d3f1a0b19592955385 no scores CC BY-SA 4.0; sentences under the licences of their sources, some for research only
sick brmson/dataset-sts e1d3375f5b3bc24f21aa4e46f96eb379e9fc1081 no CC BY-NC-SA 3.0 (non-commercial)
fever_symmetric TalSchuster/FeverSymmetric fa25d17e73ea0694edc78133ec654b9f32f6db73 yes CC BY-SA 3.0 and the terms of Wikipedia
equational_theories teorth/equational_theories 54edcda2f320cef0a241f8109fa164f901a69b87 yes Apache-2.0
pfr_blueprint teorth/pfr 01c9b666945eaf73b3f7d8b20ffe003f8640e630 yes Apache-2.0
metamath_ql metamath/set.mm da128d578f8b6bee36938624b149f689bdfccf51 yes CC0-1.0
"""

# Set, file, its path in the repository (- where the file is derived), sha256.
_FILES = """
git_touches_helm touches.log - 46ea7bfc4d1b1a53a19763055176361f916620859983ff289d1dde99e1cdb406
git_touches_pfr touches.log - 98f6c255ff0b8c8d36e558b2cf5d992e7de189b683445b155179b23a9a92fa8b
locomo locomo10.json data/locomo10.json 79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4
locomo locomo_audit_errors.json errors.json f298ef46263fada20688a1d672be37d4f488c6da3b19343eea55ae5c1b5fe55e
qmsum val.jsonl data/ALL/jsonl/val.jsonl fc7444e241bdbe6997c01720d07f1a58b7357284acb73f909766e5a4700db49f
llmrouter routing_train.json data/dcrouter_preprocessed/train.json ad3ae70149998f02cbf0dd4557ccb6afcf365ac9391b7371329ffc22201e90e3
llmrouter routing_test.json data/dcrouter_preprocessed/test.json fbb6d3e3f62c7018e5446d3154cc05812d3124381f774738e9f0bac5bff79c79
llmrouter query_train.jsonl data/example_data/query_data/default_query_train.jsonl f1b2e3281dc3f9e082016812e1a778ca30e9828c7e58fa0a9f6dc52350ad4b8c
llmrouter query_test.jsonl data/example_data/query_data/default_query_test.jsonl 0fdf4b4236fb81c1a673a01950fb974e02599c83164b0e7832888aefaa490e27
llmrouter default_llm.json data/example_data/llm_candidates/default_llm.json 278f790564efd758ab28a9b6ce141d3fa057219de9bad40b31562c4286549552
routellm gsm8k_responses.csv routellm/evals/gsm8k/gsm8k_responses.csv 1f38ed03db354a020f71e92022383dc3cf37bbf2694dea4daaeea7b6c43fe57b
routellm gsm8k_contaminated_prompts.jsonl routellm/evals/gsm8k/contaminated_prompts.jsonl 1f5a7be02148ee0f7f306d233ba76a6573c826cee9499a34f8ef938a1a84c234
routellm mmlu_contaminated_prompts.jsonl routellm/evals/mmlu/contaminated_prompts.jsonl 9606c968198eabf5efa46ccba31286392c8e35525d83c86661618ffc5ec6d40e
routellm mmlu_responses.tar routellm/evals/mmlu/responses 66ba0fd633e306cd652c87e7620ef80aacc9432b7aadde78012dfe7656eeb269
aider_leaderboards polyglot_leaderboard.yml aider/website/_data/polyglot_leaderboard.yml 85a50b25953512d18ba4bb0c23c0b8e626fcf9a5b52d287644b8a0b44b9535de
aider_leaderboards edit_leaderboard.yml aider/website/_data/edit_leaderboard.yml 4c437c9e22c7fff8b0d61cb8fd4bf9bdf44370783ac9b00a840a80c81319d36e
aider_leaderboards refactor_leaderboard.yml aider/website/_data/refactor_leaderboard.yml e01b88adf869b88501d48f9b041dbbb37e77e464e1bed886bb62f6b335c60561
aider_leaderboards architect.yml aider/website/_data/architect.yml 4e873014b748ee9a95672f8ef0b48e06514d9989f9898d489cc44a8d5cf79a01
taubench_airline gpt-4o-airline.json historical_trajectories/gpt-4o-airline.json e9e6c0297660c537f83d4fd9c476ce7a9a86ecd2784874b7bfc13be598e37bfa
whoandwhen whoandwhen_algorithm_generated.tar Who&When/Algorithm-Generated 53756a5d4d7b58df4223d6195a7d3b50182efbc1464d4ad67b5806e4c51ccb34
reflexion_alfworld alfworld_env_results.tar alfworld_runs/root b7c83220e2ea859e130f3c523aba785edfc6a21484b20f9528c1031d25321d06
stsb stsb-en-dev.csv data/stsb-en-dev.csv d29586e96558c4eb52cf5ea5d14e9c24d3bf0e44f111b017caba43a5adc33226
sick SICK_train.txt data/sts/sick2014/SICK_train.txt 266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e
sick SICK_trial.txt data/sts/sick2014/SICK_trial.txt 5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56
sick SICK_test_annotated.txt data/sts/sick2014/SICK_test_annotated.txt 2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0
fever_symmetric fever_symmetric_dev.jsonl symmetric_v0.2/fever_symmetric_dev.jsonl 1d43d016da9264de2139cd10edd459ffbeac84f1fd85d60b70ab6ef63d283f81
equational_theories full_entries.json full_entries.json c33dc30ee4630764b7e9c34addad9a4236b14611aee61834a32c503585cb98d3
equational_theories equations.txt data/equations.txt e30e1a6735011ff36fdb228d37b232eb7cda9d4a836cbbefc69c07e6871c8010
equational_theories duals.json data/duals.json 08e5aa39ddfc84c1b76f128b2b437293b6e7a7a6b1b4cb0d3052bdd429dea87f
pfr_blueprint chapters.tar blueprint/src/chapter cbaa0cb0342a5220257aac2ad5d36e7c33c685685c34fbb3af878109ec05ac83
metamath_ql ql.mm ql.mm 5142773b26f61ce7aabe6178de25559d5b18251797f4999f539bda8f48358a5f
"""

# Set, and what it holds when it is complete.
_COUNTS = """
git_touches_helm commits=5071 touches=16865 paths=2820 days=1664 added=2864 modified=12561 deleted=1439
git_touches_pfr commits=1343 touches=4422 paths=442 days=958 added=483 modified=3570 deleted=369
locomo conversations=10 sessions=272 turns=5882 questions=1986 with_evidence=1977 audit_notes=156
qmsum meetings=35 turns=20123 queries=237 spans=248 general_queries=35
llmrouter models=9 train_queries=5608 train_tasks=14 test_queries=500 test_tasks=10
routellm mmlu_questions=14042 mmlu_subjects=57 mmlu_weak_correct=9560 mmlu_strong_correct=11315 gsm8k_questions=1319 gsm8k_weak_correct=842 gsm8k_strong_correct=1130
aider_leaderboards polyglot=69 edit=98 refactor=14 architect=20
taubench_airline runs=200 tasks=50 trials=4 successes=84
whoandwhen runs=126 label_not_on_step=3
reflexion_alfworld environments=134 trials=15 base_trials=7 reflections=200
stsb pairs=1500 similar=264
sick train=4500 trial=500 test=4927 contradictions=1459
fever_symmetric pairs=708 refuted=354 claims=354 evidence_sentences=340
equational_theories laws=4694 implications=10657 facts=1698 duals=2305 closure=8178279
pfr_blueprint files=14 nodes=218 labels_of_nodes=268 uses=497
metamath_ql theorems=1140 axioms=48 uses=11838 never_used=377
"""


def _rows(table: str, columns: int) -> list[list[str]]:
    return [line.split(maxsplit=columns - 1) for line in table.strip().splitlines()]


def _tabulated() -> dict[str, DatasetInfo]:
    files: dict[str, list[DataFile]] = {}
    for name, file, path, sha256 in _rows(_FILES, 4):
        place = {"path": "", "derived_by": _TOUCHES} if path == "-" else {"path": path}
        files.setdefault(name, []).append(DataFile(file, sha256=sha256, members=_MEMBERS.get(file, ()), **place))
    counts = {name: dict(count.split("=") for count in held.split()) for name, held in _rows(_COUNTS, 2)}
    return {
        name: DatasetInfo(
            name, repository, commit, licence, commercial == "yes", tuple(files[name]),
            counts={held: int(number) for held, number in counts[name].items()},
        )
        for name, repository, commit, commercial, licence in _rows(_SETS, 5)
    }  # fmt: skip


DATASETS: dict[str, DatasetInfo] = _tabulated()
