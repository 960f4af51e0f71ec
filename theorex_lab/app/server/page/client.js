// Requests to the server. The key goes into a header, so no other page can send it.

const STORED_KEY = "theorex-page-key"; // of this tab, until it is closed
let key = sessionStorage.getItem(STORED_KEY) || "";

export class Closed extends Error {}

export const hasKey = () => key !== "";

export function useKey(newKey) {
  key = newKey;
  if (newKey) sessionStorage.setItem(STORED_KEY, newKey);
  else sessionStorage.removeItem(STORED_KEY);
}

export function get(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined);
  const query = new URLSearchParams(given).toString();
  return request(query ? `${path}?${query}` : path, { method: "GET" });
}

export function post(path, content) {
  return request(path, { method: "POST", body: JSON.stringify(content) });
}

async function request(path, options) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const answer = await reached(path, { ...options, headers, cache: "no-store", credentials: "omit" });
  const content = await answer.json();
  if (answer.ok) return content;
  if (answer.status === 401) throw new Closed(content.detail);
  throw new Error(sentence(content.detail));
}

async function reached(path, options) {
  try {
    return await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Start it again with: theorex serve");
  }
}

function sentence(detail) {
  const text = String(detail);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
