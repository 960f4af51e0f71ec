"""The words of the simulated failed runs: fields of work, teams, and what agents say."""

# ruff: noqa: E501 - sentences of agents stand on one line
from __future__ import annotations

from typing import NamedTuple


class Field(NamedTuple):
    """A made-up field of work, in which a team answers a question about a table.

    Attributes:
        name: Its name.
        rows: What the rows of the table are, and `row` for one.
        measure: What is measured, in `unit`.
        excluded: The status that a question leaves out.
        statuses: The others.
        places: Where, and `periods`: when.
        labels: The names of rows.
        tool: The name of the tool, and `table` of what it reads.
        team: Names of lead, fetcher, analyst, coder and checker.
        bounds: The least and the greatest value.
    """

    name: str
    rows: str
    row: str
    measure: str
    unit: str
    excluded: str
    statuses: tuple[str, ...]
    places: tuple[str, ...]
    periods: tuple[str, ...]
    labels: tuple[str, ...]
    tool: str
    table: str
    team: tuple[str, str, str, str, str]
    bounds: tuple[int, int]


_MONTHS = ("March", "April", "May", "June", "September", "October", "November")
_QUARTERS = (
    "the first quarter",
    "the second quarter",
    "the third quarter",
    "2024",
    "2025",
)
_WEEKS = ("week 12", "week 19", "week 23", "week 31", "week 40", "week 44")

FIELDS = (
    Field(
        "deliveries",
        "shipments",
        "shipment",
        "weight",
        "kg",
        "cancelled",
        ("delivered", "in transit"),
        ("Coldbrook depot", "Dunmarsh depot", "Highmere depot"),
        _MONTHS,
        (
            "S-4410",
            "S-4417",
            "S-4421",
            "S-4432",
            "S-4436",
            "S-4450",
            "S-4463",
            "S-4478",
            "S-4491",
            "S-4502",
        ),
        "query_shipments",
        "shipments",
        (
            "Dispatch_Lead",
            "Depot_Clerk",
            "Logistics_Analyst",
            "Python_Coder",
            "Load_Checker",
        ),
        (40, 980),
    ),
    Field(
        "support",
        "tickets",
        "ticket",
        "time to the first answer",
        "minutes",
        "duplicate",
        ("solved", "open"),
        ("the billing queue", "the login queue", "the mobile queue"),
        _WEEKS,
        (
            "T-118",
            "T-126",
            "T-131",
            "T-145",
            "T-152",
            "T-166",
            "T-170",
            "T-189",
            "T-193",
            "T-207",
        ),
        "search_tickets",
        "tickets",
        (
            "Support_Manager",
            "Ticket_Reader",
            "Service_Analyst",
            "Script_Writer",
            "Quality_Reviewer",
        ),
        (3, 240),
    ),
    Field(
        "library",
        "loans",
        "loan",
        "number of days on loan",
        "days",
        "renewed",
        ("returned", "overdue"),
        ("the Millrace branch", "the Oakhithe branch", "the Saltmere branch"),
        _MONTHS,
        (
            "Tides",
            "Glass Harbour",
            "A Field Guide",
            "The Ninth Map",
            "Salt Roads",
            "Low Orbit",
            "Quiet Engines",
            "Moss",
            "The Lamp Room",
            "Winter Ferry",
        ),
        "catalogue_export",
        "loans",
        (
            "Head_Librarian",
            "Catalogue_Agent",
            "Circulation_Analyst",
            "Data_Programmer",
            "Records_Auditor",
        ),
        (2, 90),
    ),
    Field(
        "buses",
        "trips",
        "trip",
        "delay",
        "seconds",
        "diverted",
        ("completed", "short-turned"),
        ("line 4", "line 17", "line 28"),
        _WEEKS,
        (
            "06:10",
            "07:25",
            "08:05",
            "09:40",
            "11:15",
            "13:50",
            "15:30",
            "17:05",
            "18:20",
            "21:45",
        ),
        "timetable_api",
        "trips",
        (
            "Operations_Planner",
            "Feed_Collector",
            "Punctuality_Expert",
            "Code_Expert",
            "Verification_Expert",
        ),
        (15, 900),
    ),
    Field(
        "energy",
        "meters",
        "meter",
        "consumption",
        "kWh",
        "estimated",
        ("read", "smart"),
        ("the north campus", "the workshops", "the dormitories"),
        _QUARTERS,
        (
            "M-01",
            "M-04",
            "M-07",
            "M-09",
            "M-12",
            "M-15",
            "M-18",
            "M-21",
            "M-26",
            "M-30",
        ),
        "read_meters",
        "meter_readings",
        (
            "Energy_Manager",
            "Meter_Reader",
            "Consumption_Analyst",
            "Computation_Agent",
            "Plausibility_Checker",
        ),
        (120, 8_700),
    ),
    Field(
        "conference",
        "talks",
        "talk",
        "length",
        "minutes",
        "withdrawn",
        ("accepted", "invited"),
        ("the main hall", "the east room", "the workshop track"),
        ("day 1", "day 2", "day 3", "day 4"),
        (
            "Okafor",
            "Lindqvist",
            "Marchetti",
            "Abara",
            "Devlin",
            "Sorensen",
            "Haddad",
            "Pires",
            "Novak",
            "Teller",
        ),
        "programme_lookup",
        "programme",
        (
            "Programme_Chair",
            "Schedule_Agent",
            "Session_Analyst",
            "Toolsmith",
            "Proof_Reader",
        ),
        (8, 95),
    ),
    Field(
        "bakery",
        "orders",
        "order",
        "invoice amount",
        "euros",
        "refunded",
        ("paid", "on account"),
        ("the station shop", "the harbour shop", "the market stall"),
        _MONTHS,
        (
            "B-301",
            "B-305",
            "B-312",
            "B-318",
            "B-324",
            "B-327",
            "B-333",
            "B-340",
            "B-346",
            "B-359",
        ),
        "orders_db",
        "orders",
        (
            "Shop_Owner_Proxy",
            "Bookkeeper",
            "Sales_Analyst",
            "SQL_Writer",
            "Accounts_Checker",
        ),
        (18, 1_450),
    ),
    Field(
        "builds",
        "packages",
        "package",
        "test time",
        "seconds",
        "skipped",
        ("passed", "flaky"),
        ("the release pipeline", "the nightly pipeline", "the docs pipeline"),
        _WEEKS,
        (
            "core",
            "router",
            "parser",
            "codec",
            "render",
            "auth",
            "queue",
            "cache",
            "ledger",
            "mailer",
        ),
        "ci_report",
        "build_report",
        ("Release_Captain", "Log_Fetcher", "Build_Analyst", "Engineer", "Review_Bot"),
        (4, 620),
    ),
    Field(
        "rain",
        "stations",
        "station",
        "rainfall",
        "mm",
        "under repair",
        ("reporting", "manual"),
        ("the upper valley", "the coast", "the plateau"),
        _MONTHS,
        (
            "Yarrowby",
            "Larkfield",
            "Westering",
            "Pinecombe",
            "Junewick",
            "Fernhollow",
            "Eastlea",
            "Rookhurst",
            "Valegate",
            "Ivyton",
        ),
        "weather_archive",
        "rain_stations",
        (
            "Hydrology_Lead",
            "Archive_Agent",
            "Climate_Analyst",
            "Numerics_Coder",
            "Data_Validator",
        ),
        (5, 310),
    ),
    Field(
        "museum",
        "exhibitions",
        "exhibition",
        "number of visitors",
        "visitors",
        "private",
        ("open", "touring"),
        ("the old wing", "the glass wing", "the annex"),
        _QUARTERS,
        (
            "Blue Period Maps",
            "Looms",
            "Clockwork",
            "Ice Age",
            "Paper Cities",
            "Harbour Lights",
            "First Radios",
            "Silk",
            "Fossils",
            "Night Trains",
        ),
        "visitor_counts",
        "visitors",
        (
            "Curator",
            "Records_Agent",
            "Audience_Analyst",
            "Report_Coder",
            "Fact_Checker",
        ),
        (150, 9_400),
    ),
    Field(
        "incidents",
        "outages",
        "outage",
        "time down",
        "minutes",
        "planned",
        ("resolved", "mitigated"),
        ("region west", "region north", "the edge network"),
        _QUARTERS,
        (
            "INC-21",
            "INC-24",
            "INC-29",
            "INC-33",
            "INC-38",
            "INC-40",
            "INC-47",
            "INC-52",
            "INC-55",
            "INC-61",
        ),
        "incident_search",
        "outages",
        (
            "Incident_Commander",
            "Telemetry_Agent",
            "Reliability_Analyst",
            "Automation_Agent",
            "Postmortem_Reviewer",
        ),
        (2, 480),
    ),
    Field(
        "samples",
        "samples",
        "sample",
        "nitrate reading",
        "mg per 10 l",
        "contaminated",
        ("valid", "repeated"),
        ("the mill pond", "the canal", "the spring"),
        _MONTHS,
        ("W3", "W5", "W8", "W11", "W14", "W16", "W20", "W22", "W27", "W31"),
        "lab_results",
        "samples",
        (
            "Study_Coordinator",
            "Lab_Agent",
            "Chemistry_Expert",
            "Statistics_Coder",
            "Method_Checker",
        ),
        (4, 420),
    ),
)

QUESTIONS = {
    "total": (
        "What is the total {measure} in {unit} of the {rows} of {place} in {period}, without the {excluded} ones?",
        "Add up the {measure} ({unit}) of all {rows} at {place} for {period}. Leave {excluded} {rows} out. Which total do you get?",
        "Leaving aside everything marked {excluded}, how many {unit} of {measure} do the {rows} of {place} come to in {period}?",
    ),
    "count": (
        "How many {rows} of {place} had a {measure} above {limit} {unit} in {period}, if {excluded} ones do not count?",
        "Count the {rows} at {place} in {period} whose {measure} exceeds {limit} {unit}; ignore those that are {excluded}.",
        "In {period}, which number of {rows} of {place} went over {limit} {unit} of {measure}? Anything {excluded} is to be left out.",
    ),
    "largest": (
        "Which {row} of {place} had the largest {measure} in {period}, {excluded} ones aside?",
        "Name the {row} with the highest {measure} among the {rows} of {place} in {period}. Do not consider {excluded} ones.",
        "Not looking at {excluded} {rows}: which one leads in {measure} at {place} in {period}?",
    ),
    "range": (
        "By how many {unit} do the largest and the smallest {measure} of the {rows} of {place} differ in {period}, without {excluded} ones?",
        "What is the spread (largest minus smallest {measure}, in {unit}) of the {rows} at {place} in {period}? {excluded} ones do not count.",
    ),
}

OPENINGS = (
    "We have a request from outside: {question}\nEach of you has a part. Keep to what {tool} returns, and say so when something is unclear.",
    "Task: {question}\n\nThe answer goes into a report this afternoon, so it has to be exact. {fetcher} has access to {tool}; {analyst} reads what comes back.",
    "You are given a task and a short plan.\n\n# Task\n{question}\n\n# Notes\nOne figure or one name is wanted, nothing else. The table is called {table}.",
    "New question for the team: {question}\nPlease work step by step, and hand over with everything that the next one needs.",
    "{question}\nI coordinate. Who fetches, who computes and who checks is as last time. We end when the result stands.",
)
PLANS = (
    "Plan: 1) fetch the {rows} of {place} for {period} with {tool}; 2) drop those that are {excluded}; 3) {operation}; 4) report one result.",
    "I would go about it like this. First the rows of {table} for {place}, {period}. Then the {excluded} ones go out. On what is left we {operation}.",
    "Three steps are enough: get {rows} ({place}, {period}), filter by status so that nothing {excluded} stays, {operation}.",
    "Let us split the work: {fetcher} pulls {period} for {place}; {analyst} removes {excluded} {rows}; then we {operation} and {checker} looks over it.",
)
BAD_PLANS = {
    "status": (
        "Plan: 1) fetch the {rows} of {place} for {period} with {tool}; 2) take every row that comes back; 3) {operation}; 4) report one result.",
        "I would go about it like this. First the rows of {table} for {place}, {period}. On all of them together we {operation}; the status column is of no interest here.",
        "Two steps are enough: get all {rows} ({place}, {period}), then {operation} over the whole list.",
    ),
    "period": (
        "Plan: 1) fetch the {rows} of {place} for {other_period} with {tool}; 2) drop those that are {excluded}; 3) {operation}; 4) report one result.",
        "Three steps are enough: get {rows} ({place}, {other_period}), filter by status so that nothing {excluded} stays, {operation}.",
        "Let us split the work: {fetcher} pulls {other_period} for {place}; {analyst} removes {excluded} {rows}; then we {operation}.",
    ),
}
OPERATIONS = {
    "total": (
        "add up the {measure}",
        "sum the {measure} column",
        "form the total {measure}",
    ),
    "count": (
        "count those above {limit} {unit}",
        "count what exceeds {limit}",
        "see how many pass {limit} {unit}",
    ),
    "largest": (
        "take the one with the largest {measure}",
        "sort by {measure} and take the first",
        "look for the maximum {measure}",
    ),
    "range": (
        "subtract the smallest {measure} from the largest",
        "take largest minus smallest {measure}",
        "form the spread of the {measure}",
    ),
}
FETCHES = (
    "Pulling the rows now.",
    "I query {table} for {place}, {period}.",
    "Here is the call that gets the {rows}:",
    "I start with the data, everything else depends on it.",
    "On it. One call to {tool} should be enough for {place}.",
    "To begin with I need the {rows} of {place}; the table is {table}.",
)
REPAIRS = (
    "It seems that the name of the column was wrong. Corrected call:",
    "There was an error in my call, the filter has to be quoted. Once more:",
    "The service was busy. The same request with a longer timeout:",
    "The session had run out; I logged in again and repeat the request.",
    "My mistake, the table wants the place in full. Again:",
)
ERRORS = (
    "exitcode: 1 (execution failed)\nCode output: Traceback (most recent call last):\n  File \"query.py\", line 4, in <module>\nKeyError: 'perid'",
    "exitcode: 1 (execution failed)\nCode output: TimeoutError: {tool} gave no answer within 10 s",
    "observation: 401 Unauthorized: the session of {tool} has expired",
    "exitcode: 1 (execution failed)\nCode output: SyntaxError: unterminated string literal (line 3)",
    "observation: error: unknown place; give the full name as it stands in {table}",
)
READS = (
    "{n} {rows} count here, the {excluded} ones are out: {listing}.",
    "Reading the output: {listing}. The rows marked {excluded} are left aside, so {n} remain.",
    "From the output I take these {n} values in {unit}: {listing}. Everything {excluded} was dropped.",
    "After the filter {n} {rows} are left. In detail: {listing}.",
    "What counts for {place} in {period} ({n} {rows}): {listing}. Status was checked row by row.",
)
CODES = (
    "I put the numbers into a short script so that nobody adds by hand.",
    "The calculation as code:",
    "Let me compute it.",
    "With the rows above the rest is arithmetic; here it is in Python.",
    "A few lines are enough, and they can be checked:",
)
COMPUTED_ALOUD = (
    "With these values the result is {answer}.",
    "That gives {answer}.",
    "I went through them twice; it comes to {answer}.",
    "So the answer should be {answer}, if nobody objects.",
    "Worked out on these rows: {answer}.",
)
HANDOFFS = (
    "Hand-over to {checker}: {place}, {period}, {excluded} ones excluded, {n} {rows}, result {answer}.",
    "For whoever writes it up: result {answer}, from {n} {rows} of {place} in {period}, without {excluded}. Source {table}.",
    "Summary so far. Question: {measure} of {rows} at {place}, {period}. Filter: not {excluded}. Rows used: {n}. Result: {answer}.",
    "Passing this on: {n} rows used, {excluded} ones removed, outcome {answer}. Nothing is open on my side.",
)
CHECKS = (
    "I agree with the figures as they stand in the thread. {answer} can go out.",
    "I compared the summary with what was handed to me; {answer} is consistent with it.",
    "Looks good to me. The number of rows fits, the unit is {unit}, and {answer} follows.",
    "Confirmed: from the rows that I was given I get {answer} as well.",
    "No objection. {answer}, in line with the steps above.",
    "I looked for an error in the last step and see none; {answer} it is.",
    "Recomputed from the hand-over, no error in the arithmetic: {answer}.",
)
ENDS = (
    "Final answer: {answer}. TERMINATE",
    "The task is complete. Result: {answer}.\n\nTERMINATE",
    "We report {answer} for {place}, {period}. TERMINATE",
    "Thank you all. {answer} is what I send to the requester. TERMINATE",
)
ASIDES = (
    "Before we go on: is {period} meant by the date of the entry or of the last change? The description of {table} says entry, so nothing changes.",
    "A word on units: {table} stores {measure} in {unit}, no conversion is needed.",
    "I keep an eye on the budget of calls; we have used little of it so far.",
    "Could you also note where the rows come from? The requester likes to see the source.",
    "Last month somebody asked the same of {other_place}. That answer is of no use here, the places share no rows.",
    "Please write names exactly as in the table, {first} for example.",
    "I have looked at the description of {table}: one line a {row}, no line twice.",
    "Assuming that the export is complete, which its header confirms, we need no second source.",
    "I agree with the order of the steps. Whoever is ready goes first.",
    "For the record, {other_period} had a correction of the table; {period} had none.",
    "Could {analyst} say in one sentence what is left to do? I lost the thread for a moment.",
    'As an example of the form: the last report said "{first}" and the source under it.',
    "I made a rough check by eye: values between {low} and {high} {unit} are what one expects in this field.",
    "The tool was updated on Monday. Its answers have one column more, which we can ignore.",
)
NODS = (
    "No error on my side. Go on.",
    "Nothing failed so far, good.",
    "That reads without an error; please continue.",
    "I see no error in this step.",
    "Fine. I wait for the next step.",
    "Understood, {place} it is.",
    "I have nothing to add. If a call failed, tell me.",
    "Thanks, clear enough.",
)
FILLERS = (
    "I write down each step so that it can be followed later.",
    "If something looks odd, say so now and not at the end.",
    "The order of the rows does not matter for this.",
    "I have not rounded anything.",
    "Names are as the table spells them.",
    "This is the same way that we took in the earlier report.",
    "Nothing else was changed in between.",
    "The rest of the plan stays as it is.",
    "I can show the intermediate values if anybody wants them.",
    "Please do not repeat the call, it is slow at this hour.",
    "The status column has only the values that its description lists.",
    "Next step is with {checker}.",
)
# What each mistake says of itself: why it decided the run, and what would prevent it.
REASONS = {
    "wrong_plan": (
        "The plan leaves out a condition of the question, and all later steps follow it.",
        "The plan asks for something else than the question; the rest is done correctly.",
        "A condition of the task was changed in the plan.",
    ),
    "wrong_tool_arguments": (
        "The call asks for {wrong_argument}; the answer is valid, but of other rows.",
        "The tool is called with {wrong_argument}, which nobody notices.",
        "An argument of the call is wrong ({wrong_argument}).",
    ),
    "tool_error_ignored": (
        "The tool gave only part of the rows and said so; the step goes on as if they were all.",
        "The failed part of the call was never repeated.",
        "The message of the tool about missing rows is passed over.",
    ),
    "made_up_data": (
        "The value of {gap} was never looked up; the step states one.",
        "The table has no value for {gap}, and the agent fills one in.",
        "{gap} is given a value that no tool returned.",
    ),
    "wrong_extraction": (
        "A value was read from the wrong row.",
        "One row of the output was left out when it was read.",
        "A row that is {excluded} was taken among those that count.",
    ),
    "wrong_code": (
        "The script has a mistake; its input was right.",
        "The calculation compares or cuts wrongly, so that its output is off.",
        "The code runs, but computes something else.",
    ),
    "lost_in_handoff": (
        "The hand-over drops a row, and those after it have only the hand-over.",
        "What was found out is not passed on in full.",
        "The summary for the next agent loses part of the data.",
    ),
    "premature_end": (
        "The run ends after the first page of the answer.",
        "The agent concludes before the second page was read.",
        "There was more to fetch, and the step ends the work.",
    ),
    "loop": (
        "The same call is repeated though its answer cannot change.",
        "The agent begins to repeat itself and never tries another way.",
        "A repetition without any change starts here, until the turns are used up.",
    ),
    "ignored_colleague": (
        "A colleague's objection was right and is brushed aside.",
        "The correction was on the table and is overruled.",
        "The step keeps the draft though the check had shown its fault.",
    ),
}
FIXES = {
    "wrong_plan": (
        "Copy every condition of the question into the plan, and tick each off before fetching.",
        "Before the first call, let a second agent compare the plan with the wording of the task.",
        "Write place, period and exclusions of the question at the head of the plan.",
    ),
    "wrong_tool_arguments": (
        "Read the arguments of a call back against the question before it is sent.",
        "After each call compare place and period in the answer with those of the task.",
        "Fill arguments of {tool} from the task's own words, never from memory.",
    ),
    "tool_error_ignored": (
        "When a tool reports fewer rows than it has, repeat the call before reading any.",
        "Treat a partial answer of {tool} as a failed call.",
        "Check the number of rows that the tool announces against those that arrived.",
    ),
    "made_up_data": (
        "State no value that stands in no answer of a tool; look up what is missing.",
        "Where a row has no value, call {tool} for that row alone.",
        "Mark each value with the step that it comes from; what has none is looked up.",
    ),
    "wrong_extraction": (
        "Read the output row by row and quote each row that is used.",
        "Let a second agent read the same output and compare.",
        "Repeat the status beside every value that is taken.",
    ),
    "wrong_code": (
        "Test the script on three rows by hand first.",
        "Print the rows that enter the calculation.",
        "Have the code reviewed before it runs.",
    ),
    "lost_in_handoff": (
        "Hand over the full list of rows, not a summary.",
        "State in each hand-over how many rows there are, and let the next one count.",
        "The next agent opens the original output instead of the summary.",
    ),
    "premature_end": (
        "End only when the tool says that no page is left.",
        "Ask for the next page until the answer is empty.",
        "Before the end, compare the number of rows with the total that the tool states.",
    ),
    "loop": (
        "After two equal answers stop repeating and report it.",
        "Do not send the same call three times.",
        "Keep a list of calls that were tried.",
    ),
    "ignored_colleague": (
        "Adopt every objection of a colleague.",
        "Change the result whenever somebody doubts it.",
        "Whoever objects last decides.",
    ),
}
