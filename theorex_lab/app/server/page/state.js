// What the page is about now, and how an action is run and told.

import { Closed } from "./client.js";
import { say } from "./dom.js";

export const state = { project: "", projects: [], home: "", onlyProject: "", closed: () => {} };

export const inProject = (parameters = {}) => ({ project: state.project, ...parameters });

export function nameOf(project) {
  const row = state.projects.find((each) => each.project === project);
  return row ? row.name : project;
}

// Run something that asks the server; tell what was wrong in a sentence.
export async function attempt(run) {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Closed) state.closed(error.message);
    else say(error.message, { problem: true });
    return undefined;
  }
}
