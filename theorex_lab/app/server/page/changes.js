// What its owner changed, and how that is taken back.

import { get, post } from "./client.js";
import { button, byId, counted, make, newId, say, stored, time } from "./dom.js";
import { attempt, inProject } from "./state.js";

const KINDS = [["pinned", "pin", "Pinned"], ["correction", "correct", "Corrected", "correction"], ["trusted", "trust", "Trusted"], ["dismissed", "dismiss", "Dismissed"]];

export async function showChanges(body) {
  const answer = await get("/memory/changes", inProject());
  const items = answer.changes.flatMap((change) => KINDS.filter(([name]) => change[name]).map((kind) => changeItem(change, kind)));
  const list = items.length ? make("ul", { class: "entries" }, ...items) : make("p", {}, "You have changed nothing yet.");
  body.replaceChildren(make("p", {}, "Here you take back what you pinned, corrected, trusted or dismissed, on this page or by the commands."), list);
  say(counted(items.length, "change") + ".");
}

function changeItem(change, [name, action, title, noun = action]) {
  const id = newId("change");
  const text = stored(name === "correction" ? change.correction : change.text, "p", "entry-text");
  text.id = id;
  const undo = button(`Undo ${noun}`, () => attempt(() => takeBack(change, action)), { "aria-describedby": id });
  return make("li", {}, text,
    make("p", { class: "meta" }, make("span", { class: "badge" }, title), `${change.section} · `, time(change.timestamp)),
    name === "correction" ? stored(`It was: ${change.text}`, "p", "meta") : null,
    make("div", { class: "actions" }, undo));
}

async function takeBack(change, action) {
  await post("/memory/mark", inProject({ action, item: change.id, undo: true }));
  await showChanges(byId("view-body"));
  byId("view-title").focus();
  say("It is taken back.");
}
