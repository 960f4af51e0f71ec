// Failures that wait for a word of their owner.

import { get, post } from "./client.js";
import { button, byId, counted, make, newId, say, stored, time } from "./dom.js";
import { confirmErasure } from "./erasing.js";
import { attempt, inProject } from "./state.js";

const PAGE = 10;

export async function showFailures(body) {
  const list = make("ul", { class: "failures" });
  const more = button("More failures", () => attempt(() => load(list, more)));
  body.replaceChildren(
    make("p", {}, "A failure waits until somebody says what would have prevented it. A fix that you trust becomes a known fix, which comes back when something like it is done again."),
    list, more);
  const total = await load(list, more);
  if (!total) list.replaceWith(make("p", {}, "No failure waits. Outcomes come in with: theorex outcome."));
  say(total ? `${counted(total, "failure")} to review.` : "No failure waits.");
}

async function load(list, more) {
  const answer = await get("/memory/failures", inProject({ offset: list.childElementCount, limit: PAGE }));
  list.append(...answer.failures.map(failureItem));
  more.hidden = list.childElementCount >= answer.total;
  return answer.total;
}

function failureItem(failure) {
  const id = newId("failure");
  const title = stored(failure.decision || "(the outcome was erased)", "h3", "entry-text");
  title.id = id;
  const item = make("li", {}, title,
    stored(failure.result ? `It ended with: ${failure.result}` : "", "p", "stored"),
    make("p", { class: "meta" }, `agent ${failure.agent} · `, time(failure.timestamp), ` · score ${failure.score.toFixed(2)}`),
    make("dl", { class: "detail" }, ...suspicion(failure), ...proposal(failure)));
  item.append(actions(failure, item, id));
  return item;
}

function suspicion(failure) {
  if (failure.step === null && failure.confidence === null) return pair("Suspected step", "None is named: no trace of the run was kept.");
  if (failure.step === null) return pair("Suspected step", "Not known: none is the decisive one more likely than not.");
  const sure = failure.confidence === null ? "" : ` (confidence ${failure.confidence.toFixed(2)})`;
  return pair(`Suspected step ${failure.step}${sure}`, failure.step_text || failure.failure_class.replaceAll("_", " "));
}

const proposal = (failure) => pair("Proposed fix", failure.fix || sentence(failure.problem));

const pair = (term, text) => [make("dt", {}, term), make("dd", { dir: "auto" }, text)];

const sentence = (text) => text ? `None: ${text}.` : "None.";

function actions(failure, item, id) {
  const described = { "aria-describedby": id };
  return make("div", { class: "actions" },
    failure.fix ? button("Trust this fix", () => attempt(() => trust(failure, item)), described) : null,
    button("Dismiss", () => attempt(() => dismiss(failure, item)), described),
    button("Erase …", (event) => erase(failure, item, event.currentTarget), { ...described, class: "danger", "aria-haspopup": "dialog" }));
}

async function trust(failure, item) {
  if (failure.fix_id) await post("/memory/mark", inProject({ action: "trust", item: failure.fix_id }));
  else await post("/memory/failures/trust", inProject({ outcome: failure.outcome }));
  settle(item, `Trusted: ${failure.fix}`);
  say("Trusted: it is a known fix from now on.");
}

async function dismiss(failure, item) {
  const target = failure.fix_id || failure.outcome;
  await post("/memory/mark", inProject({ action: "dismiss", item: target }));
  const undo = button("Undo dismiss", () => attempt(() => restore(target)));
  settle(item, `Dismissed: ${failure.decision || failure.fix}`, undo);
  undo.focus();
  say("Dismissed. Undo dismiss shows it again.");
}

async function restore(target) {
  await post("/memory/mark", inProject({ action: "dismiss", item: target, undo: true }));
  await showFailures(byId("view-body"));
  byId("view-title").focus();
  say("It is shown again.");
}

async function erase(failure, item, opener) {
  if (await confirmErasure([failure.outcome], opener)) settle(item, "Erased.");
}

function settle(item, text, ...more) {
  item.className = "gone";
  item.tabIndex = -1;
  item.replaceChildren(stored(text, "p", "entry-text"), make("div", { class: "actions" }, ...more));
  item.focus();
}
