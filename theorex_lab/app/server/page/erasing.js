// Erasure: it says first what goes, and asks.

import { post } from "./client.js";
import { byId, counted, make, say } from "./dom.js";
import { eventItem } from "./evidence.js";
import { attempt, inProject } from "./state.js";

// Ask, and erase; the answer is whether something was erased.
export async function confirmErasure(ids, opener) {
  const reached = await attempt(() => post("/memory/reach", inProject({ ids })));
  if (!reached) return false;
  fill(reached);
  const dialog = byId("erase");
  const isSure = await answered(dialog);
  if (!isSure) {
    opener.focus();
    say("Nothing was erased.");
    return false;
  }
  say("Erasing …");
  const answer = await attempt(() => post("/memory/erase", inProject({ ids, expected: reached.total })));
  if (!answer) {
    opener.focus();
    return false;
  }
  say(`${counted(answer.erased, "event")} erased for good.`);
  return true;
}

function fill(reached) {
  const left = reached.total - reached.events.length;
  const rest = left > 0 ? ` The first ${reached.events.length} are listed.` : "";
  const what = reached.total === 1 ? "1 event goes." : `${counted(reached.total, "event")} go: those that it rests on, and what was derived from them.`;
  byId("erase-what").textContent = `${what} Whole messages go, not single sentences.${rest} This cannot be undone. Backups and exports keep what they hold.`;
  byId("erase-list").replaceChildren(...reached.events.map(eventItem));
  byId("erase-now").textContent = `Erase ${counted(reached.total, "event")}`;
}

function answered(dialog) {
  return new Promise((resolve) => {
    const finish = (isSure) => {
      dialog.close();
      resolve(isSure);
    };
    byId("erase-now").onclick = () => finish(true);
    byId("erase-keep").onclick = () => finish(false);
    dialog.oncancel = (event) => {
      event.preventDefault();
      finish(false);
    };
    dialog.showModal();
    byId("erase-keep").focus();
  });
}
