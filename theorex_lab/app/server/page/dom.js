// Small helpers. Stored text becomes text nodes here and nowhere markup.

export const byId = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

function setAttribute(element, name, value) {
  if (value === null || value === false) return;
  if (name === "class") element.className = value;
  else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else element.setAttribute(name, value === true ? "" : value);
}

export const button = (text, onclick, attributes = {}) => make("button", { type: "button", onclick, ...attributes }, text);

// A text of the memory: its own direction, whatever stands around it.
export const stored = (text, tag = "p", className = "stored") => make(tag, { class: className, dir: "auto" }, text);

let numbers = 0;
export const newId = (name) => `${name}-${++numbers}`;

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const HOUR = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });

export const dayOf = (iso) => DAY.format(new Date(iso));
export const time = (iso, { hour = false } = {}) => make("time", { datetime: iso }, (hour ? HOUR : MOMENT).format(new Date(iso)));

export const counted = (number, one, many = one + "s") => `${number.toLocaleString()} ${number === 1 ? one : many}`;

export function table(caption, columns, rows) {
  const head = make("tr", {}, ...columns.map(([name, kind]) => make("th", { scope: "col", class: kind || null }, name)));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell, column) => tableCell(cell, column, columns[column][1]))));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    make("table", {}, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...body)));
}

function tableCell(cell, column, kind) {
  return column === 0 ? make("th", { scope: "row", dir: "auto" }, cell) : make("td", { class: kind || null, dir: "auto" }, cell);
}

export function say(message, { problem = false } = {}) {
  const status = byId("status");
  status.classList.toggle("problem", problem);
  status.textContent = message;
}
