// The page: how it is opened, and its views.

import { showBriefing } from "./briefing.js";
import { showChanges } from "./changes.js";
import { Closed, hasKey, post, useKey } from "./client.js";
import { byId, make, say } from "./dom.js";
import { showFailures } from "./failures.js";
import { showDecay, showMatrix } from "./pictures.js";
import { choose, loadProjects, showProjects } from "./projects.js";
import { listenToSearch, searchAgain } from "./search.js";
import { showSessions } from "./sessions.js";
import { attempt, state } from "./state.js";

const VIEWS = {
  briefing: ["Briefing", showBriefing],
  sessions: ["Sessions", showSessions],
  failures: ["Failures", showFailures],
  fading: ["What fades", showDecay],
  models: ["Models", showMatrix],
  changes: ["Your changes", showChanges],
  projects: ["Projects", (body) => showProjects(body, openProject)],
};
const FIRST_VIEW = "briefing";
let shown = 0; // the number of the view that was asked for last

const viewInAddress = () => VIEWS[location.hash.slice(1)] ? location.hash.slice(1) : FIRST_VIEW;

// The code of a link stands behind #, which no server and no log gets to see.
async function openByLink() {
  const code = location.hash.slice(1);
  if (!code || VIEWS[code] || code === "content") return;
  history.replaceState(null, "", location.pathname);
  useKey("");
  try {
    useKey((await post("/memory/open", { code })).key);
  } catch (error) {
    say(error.message, { problem: true });
  }
}

async function open() {
  await loadProjects();
  for (const id of ["search-form", "scope", "views", "view"]) byId(id).hidden = false;
  byId("entrance").hidden = true;
  await showView({ movesFocus: false });
}

function close(message) {
  useKey("");
  for (const id of ["search-form", "scope", "views", "view", "results"]) byId(id).hidden = true;
  byId("entrance").hidden = false;
  byId("token").focus();
  say(message.charAt(0).toUpperCase() + message.slice(1) + ".", { problem: true });
}

async function showView({ movesFocus }) {
  const name = viewInAddress();
  const [title, show] = VIEWS[name];
  const number = ++shown;
  markCurrent(name);
  byId("view-title").textContent = title;
  const body = make("div", { id: "view-body" });
  body.append(make("p", { class: "meta" }, "Reading the memory …"));
  byId("view-body").replaceWith(body);
  if (movesFocus) byId("view-title").focus();
  await attempt(() => show(body));
  if (number === shown) document.title = `${title} – theorex`;
}

function markCurrent(name) {
  for (const link of byId("views").querySelectorAll("a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function openProject(project) {
  choose(project);
  location.hash = `#${FIRST_VIEW}`;
}

async function reload() {
  await attempt(loadProjects);
  if (byId("query").value.trim()) await searchAgain();
  await showView({ movesFocus: false });
}

function listen() {
  byId("views").append(...Object.entries(VIEWS).map(([name, [title]]) => make("a", { href: `#${name}` }, title)));
  addEventListener("hashchange", () => hasKey() && location.hash !== "#content" && showView({ movesFocus: true }));
  byId("project").addEventListener("change", (event) => {
    choose(event.target.value);
    reload();
  });
  byId("reload").addEventListener("click", reload);
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    useKey(byId("token").value.trim());
    byId("token").value = "";
    attempt(open);
  });
  listenToSearch();
}

async function start() {
  state.closed = close;
  listen();
  await openByLink();
  if (hasKey()) await attempt(open);
  else if (byId("status").textContent) close(byId("status").textContent.replace(/\.$/, ""));
  else byId("entrance").hidden = false;
}

start().catch((error) => error instanceof Closed ? close(error.message) : say(error.message, { problem: true }));
