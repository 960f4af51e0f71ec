"""A whole memory design: notes about entities, of which the newest takes the place of
the one before.
"""

from dataclasses import dataclass

import click

from theorex_lab.core.settings import SettingsRecord, setting
from theorex_lab.files.command_line import command, emit, open_lab
from theorex_lab.memory import contract
from theorex_lab.memory.observation import TRUST


@dataclass(frozen=True, kw_only=True, repr=False)
class NoteSettings(SettingsRecord):
    sleep_after_days: float = setting(
        90.0, "age from which a note sleeps", unit="days", gt=0, le=36_500
    )


class Notes(contract.DesignApi):
    def write(
        self, entity: str, text: str, agent_id: str | None = None
    ) -> dict[str, str]:
        body = {"entity": entity, "text": text, "source": "agent"}
        return {"event_id": self.append("note", body, agent=agent_id or "main").id}

    def fall_asleep(self, agent: str | None) -> str:
        oldest = (
            self.home.clock.now()
            - self.home.settings_of(NOTES).sleep_after_days * 86_400_000_000
        )
        asleep = {
            each.body["note"]
            for each in self.home.journal.tail(0, kinds=["note_slept"])
        }
        old = [
            each
            for each in newest(self.home, agent)
            if each.at < oldest and each.id not in asleep
        ]
        for each in old:
            body = {"note": each.id, "entity": each.body["entity"]}
            self.append("note_slept", body, agent=each.agent, lineage=[each.id])
        return f"{len(old)} notes archived"


def newest(home, agent=None):
    notes = [
        each
        for each in home.journal.tail(0, kinds=["note"])
        if agent in (None, each.agent)
    ]
    return {(each.agent, each.body["entity"]): each for each in notes}.values()


def line(event):
    body = event.body
    trust = TRUST[body["source"]]
    untrusted_source = None if trust >= TRUST["agent"] else (event.agent, trust)
    line = contract.ContextLine("note", event.agent, body["text"], untrusted_source)
    return line._replace(items=(event.id,), statement=body["text"], at=event.at)


@command("list", "Show the notes that hold.")
def list_notes():
    notes = {each.body["entity"]: each.body["text"] for each in newest(open_lab().home)}
    emit({"notes": notes}, "\n".join(notes.values()))


NOTES = contract.Design(
    "notes",
    api=Notes,
    kinds={"note": 1, "note_slept": 1},
    settings=NoteSettings,
    items=(
        contract.ItemKind(
            "note",
            {
                "note": lambda each: [
                    contract.ItemText(each.body["entity"], each.body["text"])
                ]
            },
            hides={"note": lambda each: [each.body["entity"]]},
            sleeps={"note_slept": lambda each: [each.body["entity"]]},
        ),
    ),
    sections=(
        contract.Section(
            lambda home, _: [line(each) for each in newest(home)],
            briefing={
                "note": contract.BriefingPart("Decisions", 0.5, "a note of yours")
            },
        ),
    ),
    steps=(
        contract.MaintenanceStep(
            "notes", lambda home, agent: Notes(home).fall_asleep(agent)
        ),
    ),
    evidence={
        "note": lambda each: [
            contract.EvidenceRun("entity/" + each.body["entity"], each.agent, True)
        ]
    },
    audit=contract.AuditPart(
        {"note": ("note",)},
        lambda: lambda each: [("note", each.agent, {"entity": each.body["entity"]})],
    ),
    status=lambda home, agent: {"notes": len(newest(home, agent))},
    commands=lambda: click.Group(commands=[list_notes]),
    tools=lambda: [
        contract.AgentTool(
            "note", "Note what holds of an entity.", Notes.write, changes=True
        )
    ],
)
