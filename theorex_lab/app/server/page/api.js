"use strict";
// Whatever comes from the memory is put in as text, never as markup.
const at = (id) => document.getElementById(id);
let token = "", timer = 0;

function make(tag, text = "", ...inner) {
  const made = document.createElement(tag);
  made.textContent = text;
  made.append(...inner);
  return made;
}

const json = (value) => make("pre", JSON.stringify(value, null, 2));

async function ask(path) {
  const answer = await fetch(path, { headers: { Authorization: "Bearer " + token }, cache: "no-store" });
  const told = await answer.json();
  if (!answer.ok) throw new Error(answer.status + ": " + told.detail);
  return told;
}

async function look() {
  try {
    const told = await ask("/stats");
    at("stats").replaceChildren(...Object.entries(told).map(([name, value]) => make("tr", "", make("th", name), make("td", String(value)))));
    at("state").textContent = "Open; looked at " + new Date().toLocaleTimeString() + ".";
    timer = setTimeout(look, 3000);
  } catch (error) {
    at("state").textContent = error.message;
  }
}

function tell(list, event) {
  const { event: name, ...rest } = event;
  const line = make("li", "", make("strong", name || "progress"), " " + JSON.stringify(rest));
  list.append(line);
  line.scrollIntoView({ block: "nearest" });
}

function run(path, text, list, button) {
  button.disabled = true;
  list.replaceChildren();
  const socket = new WebSocket(location.origin.replace(/^http/, "ws") + path, ["bearer", token]);
  socket.onopen = () => socket.send(text);
  socket.onmessage = (message) => tell(list, JSON.parse(message.data));
  socket.onclose = (end) => {
    button.disabled = false;
    if (end.code !== 1000) tell(list, { event: "closed", code: end.code, reason: "is the token right?" });
    if (token) { clearTimeout(timer); look(); }
  };
}

function panel(path, told) {
  const domain = make("input"), button = make("button", "Start"), list = make("ol"), form = make("form", "", make("label", "Message "), button);
  form.className = "row";
  form.firstChild.append(domain);
  domain.value = "{}";
  list.className = "events";
  list.setAttribute("aria-live", "polite");
  form.onsubmit = (event) => { event.preventDefault(); run(path, domain.value, list, button); };
  return make("section", "", make("h2", told.summary), make("p", "Over the web socket " + path + ", as it goes on:"), form, list);
}

function endpoint(method, path, told) {
  const body = make("details", "", make("summary", "", make("code", method.toUpperCase() + " " + path), " " + told.summary));
  const strings = (told.parameters || []).map((each) => `${each.name} (${each.in}${each.required ? ", required" : ""}): ${JSON.stringify(each.schema)}`);
  if (strings.length) body.append(make("p", "Parameters"), make("pre", strings.join("\n")));
  const given = told.message || (told.requestBody && told.requestBody.content["application/json"].schema);
  if (given) body.append(make("p", "Body"), json(given));
  const answer = told.completed || Object.values(told.responses["200"].content)[0].schema;
  body.append(make("p", "Answer"), json(answer));
  if (told.responses) body.append(make("p", "Refusals: " + Object.keys(told.responses).filter((code) => code !== "200").join(", ")));
  return body;
}

async function start() {
  const told = await (await fetch("/openapi.json")).json();
  const rows = Object.entries(told.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, each]) => endpoint(method, path, each)));
  const sockets = Object.entries(told["x-websockets"]);
  rows.push(...sockets.map(([path, each]) => endpoint("ws", path, each)));
  const shared = make("details", "", make("summary", "Schemas that several share"), json(told.components.schemas));
  at("endpoints").replaceChildren(...rows, shared);
  at("sockets").replaceChildren(...sockets.map(([path, each]) => panel(path, each)));
}

at("open").onsubmit = (event) => {
  event.preventDefault();
  token = at("token").value.trim();
  clearTimeout(timer);
  look();
};
start();
