// The events that a line rests on, opened when they are asked for.

import { post } from "./client.js";
import { button, counted, make, newId, stored, time } from "./dom.js";
import { attempt, inProject, nameOf } from "./state.js";

export function eventItem(event) {
  const parts = [event.agent && `agent ${event.agent}`, event.project && `project ${nameOf(event.project)}`, event.source && `source ${event.source}`];
  const about = parts.filter(Boolean).join(", ");
  return make("li", {},
    make("p", { class: "meta" }, make("strong", {}, event.title), " · ", time(event.timestamp), about ? ` · ${about}` : ""),
    stored(event.text || "(no text)"),
    event.cut ? make("p", { class: "meta" }, "The text goes on; it is cut here.") : null,
    event.files.length ? stored(`Files: ${event.files.join(", ")}`, "p", "meta") : null);
}

export function evidenceButton(entry, describedBy) {
  const region = make("div", { class: "detail", id: newId("evidence"), role: "group", "aria-label": "Evidence", hidden: true });
  const opener = button(`Evidence (${entry.events.length.toLocaleString()})`, () => attempt(() => toggle(opener, region, entry)),
    { "aria-expanded": "false", "aria-controls": region.id, "aria-describedby": describedBy, disabled: !entry.events.length });
  return { opener, region };
}

async function toggle(opener, region, entry) {
  const opens = region.hidden;
  region.hidden = !opens;
  opener.setAttribute("aria-expanded", String(opens));
  if (!opens || region.childElementCount) return;
  region.replaceChildren(make("p", { class: "meta" }, "Reading the journal …"));
  const answer = await post("/memory/events", inProject({ ids: entry.events }));
  region.replaceChildren(make("ul", { class: "events" }, ...answer.events.map(eventItem)), ...notes(answer));
}

function notes(answer) {
  const left = answer.total - answer.events.length;
  const texts = [];
  if (left > 0) texts.push(`The newest ${answer.events.length} are shown; ${counted(left, "earlier event")} also say it.`);
  if (answer.absent) texts.push(`${counted(answer.absent, "event")} are not shown: they were erased, or are of another project.`);
  return texts.map((text) => make("p", { class: "meta" }, text));
}
