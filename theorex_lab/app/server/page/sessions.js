// The timeline: sessions by day, opened to what was asked and answered.

import { get } from "./client.js";
import { button, counted, dayOf, make, newId, say, stored, time } from "./dom.js";
import { attempt, inProject, nameOf, state } from "./state.js";

const PAGE = 20;

export async function showSessions(body) {
  const list = make("div", {});
  const more = button("Earlier sessions", () => attempt(() => loadMore(list, more)));
  more.hidden = true;
  list.loaded = 0;
  list.day = "";
  body.replaceChildren(list, more);
  const total = await load(list, more);
  if (!total) list.replaceChildren(make("p", {}, "No session is recorded yet. Hooks record them: theorex install-hooks."));
  say(counted(total, "session") + ".");
}

async function loadMore(list, more) {
  const before = list.querySelectorAll(".opener").length;
  const total = await load(list, more);
  list.querySelectorAll(".opener")[before]?.focus();
  say(`${list.loaded} of ${counted(total, "session")}.`);
}

async function load(list, more) {
  const answer = await get("/memory/sessions", inProject({ offset: list.loaded, limit: PAGE }));
  for (const session of answer.sessions) append(list, session);
  list.loaded += answer.sessions.length;
  more.hidden = list.loaded >= answer.total;
  return answer.total;
}

function append(list, session) {
  const day = dayOf(session.first_at);
  if (day !== list.day) {
    list.day = day;
    list.append(make("h3", {}, day), make("ul", { class: "sessions" }));
  }
  list.lastElementChild.append(sessionItem(session));
}

function sessionItem(session) {
  const region = make("div", { class: "detail", id: newId("session"), role: "group", "aria-label": "What was said", hidden: true });
  const title = session.first_prompt || "(no prompt)";
  const opener = button(title, () => attempt(() => toggle(opener, region, session)), { class: "opener", dir: "auto", "aria-expanded": "false", "aria-controls": region.id });
  return make("li", {}, opener, about(session), files(session), region);
}

function about(session) {
  const parts = [` · agent ${session.agent}`];
  if (!state.project && session.project) parts.push(` · ${nameOf(session.project)}`);
  parts.push(` · ${counted(session.prompts, "prompt")} · ${counted(session.events, "event")}`);
  const isOneDay = dayOf(session.first_at) === dayOf(session.last_at);
  return make("p", { class: "meta" }, time(session.first_at, { hour: true }), "–", time(session.last_at, { hour: isOneDay }), ...parts);
}

function files(session) {
  if (!session.n_files) return null;
  const edited = session.files.slice(0, session.edited);
  const read = session.files.slice(session.edited);
  const parts = [];
  if (edited.length) parts.push(`Edited: ${edited.join(", ")}.`);
  if (read.length) parts.push(`Read: ${read.join(", ")}.`);
  const left = session.n_files - session.files.length;
  if (left > 0) parts.push(`And ${counted(left, "more file")}.`);
  return stored(parts.join(" "), "p", "meta");
}

async function toggle(opener, region, session) {
  const opens = region.hidden;
  region.hidden = !opens;
  opener.setAttribute("aria-expanded", String(opens));
  if (!opens || region.childElementCount) return;
  const steps = make("ol", { class: "events" });
  const more = button("Go on", () => attempt(() => loadSteps(steps, more, session, true)));
  more.hidden = true;
  region.append(steps, more);
  await loadSteps(steps, more, session, false);
}

async function loadSteps(steps, more, session, movesFocus) {
  const before = steps.childElementCount;
  const answer = await get("/memory/session", inProject({ agent: session.agent, session: session.session, offset: before }));
  steps.append(...answer.steps.map(stepItem));
  more.hidden = steps.childElementCount >= answer.total;
  if (movesFocus) steps.children[before]?.focus();
}

function stepItem(step) {
  const speaker = step.speaker === "prompt" ? "Prompt" : "Agent";
  return make("li", { tabindex: "-1" },
    make("p", { class: "meta" }, make("span", { class: "speaker" }, speaker), " · ", time(step.timestamp)),
    stored(step.text || "(no text)"),
    step.cut ? make("p", { class: "meta" }, "The text goes on; it is cut here.") : null);
}
