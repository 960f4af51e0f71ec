"""List the facts of the simulated team that change.

Each is a sentence with a gap, and the values that it takes, one after the other.
"""

FACTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Mara Okafor works from {}", ("Lisbon", "Utrecht", "Bergen")),
    ("Jonas Lindqvist works from {}", ("Malmö", "Gothenburg")),
    ("Priya Raman works from {}", ("Leeds", "Pune")),
    ("Tomasz Zielinski works from {}", ("Kraków", "Vienna")),
    ("Aiko Brandt works from {}", ("Hamburg", "Osaka")),
    ("Luc Moreau works from {}", ("Lyon", "Brussels")),
    (
        "Support for the northern depots is done by {}",
        ("Jonas Lindqvist", "Aiko Brandt", "Luc Moreau"),
    ),
    ("The staging database runs in {}", ("Frankfurt", "Dublin", "the office rack")),
    ("Backups are kept in {}", ("Stockholm", "Milan")),
    (
        "The weekly planning meets in {}",
        ("the harbour room", "the library", "a video call"),
    ),
    ("The pilot depot is in {}", ("Rotterdam", "Antwerp", "Gdańsk")),
    ("The customer's acceptance tests are led by {}", ("Ms Adeyemi", "Mr Castellan")),
    ("The database version is {}", ("PostgreSQL 15", "PostgreSQL 16", "PostgreSQL 17")),
    (
        "Builds run on {}",
        ("two shared runners", "four shared runners", "one large host"),
    ),
    ("The linter in use is {}", ("ruff 0.6", "ruff 0.8")),
    ("Dashboards are drawn with {}", ("Grafana 10", "Grafana 11")),
    (
        "Secrets are read from {}",
        ("the vault on host kestrel", "the cloud secret store"),
    ),
    ("The design files are in {}", ("the shared drive", "the wiki")),
)
