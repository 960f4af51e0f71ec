// What fades, and which model did what: a table for everybody, a picture beside it.

import { get } from "./client.js";
import { counted, make, say, table } from "./dom.js";
import { attempt } from "./state.js";

const percent = (share) => share === null ? "–" : `${Math.round(100 * share)} %`;

export async function showDecay(body) {
  const decay = await get("/memory/decay");
  const intro = `A concept fades when it is not mentioned again. The law in force is ${decay.law}, with a half-life of ${decay.half_life_days} days. It holds for all projects together.`;
  const columns = [["Concept"], ["Tier"], ["Importance", "number"], ["Mentions", "number"], ["Last mention"], ["Agent"]];
  const rows = decay.concepts.map((row) => [row.concept, row.tier, row.importance.toFixed(2), row.mentions.toLocaleString(), row.last_seen.slice(0, 10), row.agent]);
  const shown = decay.total > rows.length ? `The ${rows.length} most important of ${counted(decay.total, "concept")}` : counted(rows.length, "concept");
  const none = make("p", {}, "No concept is known yet. This command finds them in what was recorded: theorex maintain --design theorex");
  show(body, intro, rows.length ? table(shown, columns, rows) : none, { pictured: true });
  say(`${shown}.`);
  await addPicture(body, "/memory/decay/picture", "How present each concept is now, by the days since its last mention. The table says the same.");
}

export async function showMatrix(body) {
  const matrix = await get("/memory/matrix");
  const intro = "How often each model succeeded on each type of query, with a 95 % interval. Routing uses the cells with enough runs.";
  const columns = [["Type of query"], ["Model"], ["Runs", "number"], ["Success", "number"], ["95 % interval", "number"], ["Enough runs"]];
  const rows = matrix.cells.map((row) => [row.query_type, row.model, String(row.n), percent(row.success_rate), `${percent(row.ci_low)} to ${percent(row.ci_high)}`, row.usable ? "yes" : "no"]);
  const none = make("p", {}, "No model was called yet. Runs come from: theorex dispatch.");
  show(body, intro, rows.length ? table(counted(matrix.total, "cell"), columns, rows) : none, { pictured: rows.length > 0 });
  say(`${counted(matrix.total, "cell")}.`);
  if (rows.length) await addPicture(body, "/memory/matrix/picture", "Success by type of query and model, as a heat map. The table says the same.");
}

function show(body, intro, content, { pictured }) {
  const waiting = make("figure", {}, make("figcaption", { class: "meta" }, "The picture is being drawn …"));
  body.replaceChildren(make("p", {}, intro), ...(pictured ? [waiting] : []), content);
}

async function addPicture(body, path, alt) {
  const figure = body.querySelector("figure");
  const picture = await attempt(() => get(path));
  if (!picture) {
    figure.remove();
    return;
  }
  figure.replaceChildren(make("img", { src: `data:image/png;base64,${picture.png}`, alt, width: "880", height: "528" }));
}
