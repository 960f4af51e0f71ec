// What an agent would read, line by line.

import { get } from "./client.js";
import { byId, counted, make, newId, say, stored } from "./dom.js";
import { entryItem, focusEntry } from "./entry.js";
import { inProject, nameOf, state } from "./state.js";

let prompt = "";

export async function showBriefing(body) {
  const lines = make("div", {});
  body.replaceChildren(introduction(), promptForm(lines), lines);
  await load(lines);
}

function introduction() {
  const where = state.project ? `a session in ${nameOf(state.project)}` : "a session outside of any project";
  return make("p", {}, `This is what an agent reads at the start of ${where}. Each line says why it is there. What you change here counts as your own word.`);
}

function promptForm(lines) {
  const id = newId("prompt");
  const input = make("input", { id, dir: "auto", maxlength: "10000", placeholder: "empty: the start of a session" });
  input.value = prompt;
  const form = make("form", { class: "row" }, make("label", { for: id }, "What a prompt would bring"), input, make("button", {}, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    prompt = input.value.trim();
    load(lines).catch((error) => say(error.message, { problem: true }));
  });
  return form;
}

async function load(lines) {
  say("Reading the memory …");
  const briefing = await get("/memory/briefing", inProject({ query: prompt }));
  const changed = async (id, name) => {
    await load(lines);
    focusEntry(lines, id, name, byId("view-title"));
  };
  lines.replaceChildren(...sections(briefing, changed), asText(briefing));
  say(`${counted(briefing.lines.length, "line")}, ${counted(briefing.tokens, "token")}.${briefing.problem ? ` ${briefing.problem}` : ""}`);
}

function sections(briefing, changed) {
  if (!briefing.lines.length) return [make("p", {}, emptyWords())];
  const groups = Map.groupBy ? Map.groupBy(briefing.lines, (line) => line.section) : grouped(briefing.lines);
  return [...groups].flatMap(([title, lines]) => [
    make("h3", {}, title),
    make("ul", { class: "entries" }, ...lines.map((line) => entryItem(line, changed))),
  ]);
}

function grouped(lines) {
  const groups = new Map();
  for (const line of lines) groups.set(line.section, [...(groups.get(line.section) || []), line]);
  return groups;
}

const emptyWords = () => prompt ? "Nothing more is remembered that fits this prompt." : "Nothing is remembered yet. Hooks fill the memory: theorex install-hooks.";

function asText(briefing) {
  return make("details", {}, make("summary", {}, "The text as the agent gets it"), stored(briefing.text, "pre", "stored brief"));
}
