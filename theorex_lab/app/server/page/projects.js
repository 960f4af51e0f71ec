// The projects of the home: list, choose, and which may be one.

import { get } from "./client.js";
import { button, byId, counted, dayOf, make, say, stored } from "./dom.js";
import { state } from "./state.js";

const STORED_PROJECT = "theorex-project";

export async function loadProjects() {
  const answer = await get("/memory/projects");
  state.projects = answer.projects;
  state.home = answer.home;
  state.onlyProject = answer.project;
  state.project = firstProject(answer);
  fillChoice();
  return answer;
}

function firstProject(answer) {
  if (answer.project) return answer.project;
  const earlier = sessionStorage.getItem(STORED_PROJECT);
  const known = answer.projects.map((row) => row.project);
  if (earlier !== null && (earlier === "" || known.includes(earlier))) return earlier;
  return known[0] || "";
}

function fillChoice() {
  const choice = byId("project");
  const options = state.projects.map((row) => option(row.project, row.name));
  if (!state.onlyProject) options.push(option("", "All projects"));
  choice.replaceChildren(...options);
  choice.value = state.project;
}

const option = (value, text) => make("option", { value }, text);

export function choose(project) {
  state.project = project;
  sessionStorage.setItem(STORED_PROJECT, project);
  byId("project").value = project;
}

export async function showProjects(body, opened) {
  const answer = await loadProjects();
  const items = answer.projects.map((row) => projectItem(row, opened));
  body.replaceChildren(
    make("p", {}, `A project is a git repository or a folder; each has a memory of its own. This home is ${state.home}.`),
    items.length ? make("ul", { class: "entries" }, ...items) : make("p", {}, "No project is known yet."),
    ...hints(answer.hints));
  say(counted(items.length, "project") + ".");
}

function projectItem(row, opened) {
  const last = row.last_at ? `last on ${dayOf(row.last_at)}` : "nothing recorded";
  const folders = row.folders.length ? row.folders.join(", ") : "no folder belongs to it";
  const merged = row.merged.length ? ` · with ${row.merged.join(", ")}` : "";
  const isChosen = row.project === state.project;
  return make("li", {},
    stored(row.name, "h3", "entry-text"),
    stored(`${row.project} · ${counted(row.events, "event")} · ${last}${merged}`, "p", "meta"),
    stored(folders, "p", "meta"),
    make("div", { class: "actions" }, button(isChosen ? `${row.name} is shown` : `Show ${row.name}`, () => opened(row.project), { disabled: isChosen })));
}

function hints(rows) {
  if (!rows.length) return [];
  const items = rows.map((hint) => make("li", {}, make("p", {}, `${hint.old} and ${hint.new} begin with the same commit, as copies and forks do. If they are one, this command joins them for good:`), make("code", {}, hint.do)));
  return [make("h3", {}, "Projects that may be one"), make("ul", { class: "entries" }, ...items)];
}
