// One line of the briefing, or one result, with all that can be done to it.

import { post } from "./client.js";
import { button, make, newId, say, stored, time } from "./dom.js";
import { confirmErasure } from "./erasing.js";
import { evidenceButton } from "./evidence.js";
import { attempt, inProject } from "./state.js";

const mark = (action, item, more = {}) => post("/memory/mark", inProject({ action, item, ...more }));

// `changed` loads the list again and gives the focus to the entry's button of a name.
export function entryItem(entry, changed) {
  const item = make("li", { "data-item": entry.id });
  item.append(...shown(entry, item, changed));
  return item;
}

function shown(entry, item, changed) {
  const textId = newId("text");
  const text = stored(entry.text, "p", "entry-text");
  text.id = textId;
  const evidence = evidenceButton(entry, textId);
  const form = make("div", {});
  const actions = make("div", { class: "actions" },
    pinButton(entry, changed, textId),
    correctButton(entry, form, changed, textId),
    entry.correction ? undoCorrection(entry, changed, textId) : null,
    entry.trusted ? trustButton(entry, changed, textId) : null,
    button("Dismiss", () => attempt(() => dismiss(entry, item, changed)), { "aria-describedby": textId }),
    evidence.opener,
    eraseButton(entry, changed, textId));
  return [text, why(entry), actions, form, evidence.region];
}

function why(entry) {
  const badges = [["pinned", "Pinned"], ["correction", "In your words"], ["trusted", "Trusted"]]
    .filter(([name]) => entry[name]).map(([, title]) => make("span", { class: "badge" }, title));
  return make("p", { class: "meta", dir: "auto" }, ...badges, entry.why, entry.why ? " · " : "", time(entry.timestamp), entry.subject ? ` · ${entry.subject}` : "");
}

function pinButton(entry, changed, textId) {
  const text = entry.pinned ? "Unpin" : "Pin";
  const act = async () => {
    await mark("pin", entry.id, { undo: entry.pinned });
    await changed(entry.id, entry.pinned ? "Pin" : "Unpin");
    say(entry.pinned ? "The pin is taken back." : "Pinned: it comes first from now on. Unpin takes that back.");
  };
  return button(text, () => attempt(act), { "aria-describedby": textId });
}

function undoCorrection(entry, changed, textId) {
  const act = async () => {
    await mark("correct", entry.id, { undo: true });
    await changed(entry.id, "Correct");
    say("The former text is back.");
  };
  return button("Undo correction", () => attempt(act), { "aria-describedby": textId });
}

function trustButton(entry, changed, textId) {
  const act = async () => {
    await mark("trust", entry.id, { undo: true });
    await changed(entry.id, "Pin");
    say("It is no standing rule any more.");
  };
  return button("Undo trust", () => attempt(act), { "aria-describedby": textId });
}

function correctButton(entry, form, changed, textId) {
  const opener = button("Correct", () => openForm(), { "aria-describedby": textId, "aria-expanded": "false" });
  const close = () => {
    form.replaceChildren();
    opener.setAttribute("aria-expanded", "false");
    opener.focus();
  };
  const save = async (words) => {
    await mark("correct", entry.id, { text: words });
    await changed(entry.id, "Undo correction");
    say("Corrected: your words stand in its place. Undo correction brings the former text back.");
  };
  function openForm() {
    opener.setAttribute("aria-expanded", "true");
    form.replaceChildren(correctionForm(entry, save, close));
    form.querySelector("textarea").focus();
  }
  return opener;
}

function correctionForm(entry, save, close) {
  const id = newId("words");
  const words = make("textarea", { id, dir: "auto", maxlength: "4000", required: true });
  words.value = entry.correction || entry.words;
  const form = make("form", { class: "detail" }, make("label", { for: id }, "Your words in its place"), words,
    make("div", { class: "actions" }, make("button", {}, "Save"), button("Cancel", close)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(() => save(words.value));
  });
  form.addEventListener("keydown", (event) => event.key === "Escape" && close());
  return form;
}

async function dismiss(entry, item, changed) {
  await mark("dismiss", entry.id);
  const undo = button("Undo dismiss", () => attempt(() => restore(entry, changed)));
  item.classList.add("gone");
  item.replaceChildren(stored(`Dismissed: ${entry.text}`, "p", "entry-text"), make("div", { class: "actions" }, undo));
  undo.focus();
  say("Dismissed: it comes back no more. Undo dismiss shows it again.");
}

async function restore(entry, changed) {
  await mark("dismiss", entry.id, { undo: true });
  await changed(entry.id, "Dismiss");
  say("It is shown again.");
}

function eraseButton(entry, changed, textId) {
  const opener = button("Erase …", async () => {
    if (await confirmErasure(entry.events, opener)) await attempt(() => changed("", ""));
  }, { class: "danger", "aria-describedby": textId, "aria-haspopup": "dialog", disabled: !entry.events.length });
  return opener;
}

// Give the focus to a button of an entry, or to a heading where the entry is gone.
export function focusEntry(list, id, name, heading) {
  const item = [...list.querySelectorAll("[data-item]")].find((each) => each.dataset.item === id);
  const target = item && [...item.querySelectorAll("button")].find((each) => each.textContent === name);
  (target || heading).focus();
}
