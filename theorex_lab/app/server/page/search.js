// Search while one types.

import { get } from "./client.js";
import { button, byId, make, say } from "./dom.js";
import { entryItem, focusEntry } from "./entry.js";
import { attempt, inProject } from "./state.js";

const PAUSE_MS = 200;
const PAGE = 10;
const WORDS = { sentence: "sentence", asked: "prompt" };
let timer = 0;
let asked = 0; // the number of the last request; answers to earlier ones are let go

export function listenToSearch() {
  byId("query").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => attempt(() => search(PAGE)), PAUSE_MS);
  });
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    attempt(() => search(PAGE));
  });
}

export const searchAgain = () => attempt(() => search(PAGE));

async function search(limit) {
  const query = byId("query").value.trim();
  const number = ++asked;
  byId("results").hidden = !query;
  if (!query) {
    byId("results-body").replaceChildren();
    say("");
    return;
  }
  const hits = [];
  let answer = { more: true, notes: [] };
  while (answer.more && hits.length < limit) {
    answer = await get("/memory/search", inProject({ query, offset: hits.length, limit: PAGE }));
    if (number !== asked) return;
    hits.push(...answer.hits);
  }
  show(hits, answer, query, limit);
}

function show(hits, answer, query, limit) {
  const body = byId("results-body");
  const changed = async (id, name) => {
    await search(limit);
    focusEntry(body, id, name, byId("results-title"));
  };
  const list = make("ul", { class: "entries" }, ...hits.map((hit) => entryItem(withKind(hit), changed)));
  const more = answer.more ? button("More results", () => attempt(() => showMore(limit, hits.length)), {}) : null;
  const notes = answer.notes.map((note) => make("p", { class: "meta" }, note));
  body.replaceChildren(...[hits.length ? list : make("p", {}, "Nothing found."), more, ...notes].filter(Boolean));
  const count = `${answer.more ? "More than " : ""}${hits.length}`;
  say(hits.length ? `${count} results for “${query}”.` : `Nothing found for “${query}”.`);
}

async function showMore(limit, before) {
  await search(limit + PAGE);
  const first = byId("results-body").querySelectorAll("[data-item]")[before];
  (first ? first.querySelector("button") : byId("results-title")).focus();
}

function withKind(hit) {
  const kind = WORDS[hit.section] || hit.section;
  return { ...hit, why: `${kind} of ${hit.agent}, ${hit.why}` };
}
