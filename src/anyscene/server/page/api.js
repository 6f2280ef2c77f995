// The server's interface, as the page uses it.

import { readNpz } from "./npz.js";

let token = readToken();

/** The token comes behind a # in the address, which browsers never send to anybody. */
function readToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem("token");
}

export function setToken(given) {
  token = given;
  sessionStorage.setItem("token", given);
}

/** What the server said instead of an answer. retry: seconds after which to try again, if that may help. */
export class Refused extends Error {
  constructor(status, message, retry) {
    super(message);
    this.status = status;
    this.retry = retry;
  }
}

async function ask(path, options = {}) {
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch {
    throw new Refused(0, "The server cannot be reached. Is it still running?", 3);
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  const retry = Number(answer.headers.get("Retry-After")) || null;
  throw new Refused(answer.status, told.error || `The server answered ${answer.status}.`, retry);
}

export async function models() {
  return (await (await ask("/v1/models")).json()).models;
}

function labelPath(model, budget, format) {
  return `/v1/label?${new URLSearchParams({ model, budget: `${budget}ms`, clock: "labeling", format })}`;
}

/** Labels of a picture: {width, height, labels, confidence, summary, stages, budget}. */
export async function label(picture, model, budget) {
  const answer = await ask(labelPath(model, budget, "npz"), { method: "POST", body: picture });
  const timing = answer.headers.get("Server-Timing") || "";
  const stages = Object.fromEntries([...timing.matchAll(/(\w+);dur=([\d.]+)/g)].map(([, name, ms]) => [name, Number(ms)]));
  const given = Number(answer.headers.get("Anyscene-Label-Budget-Ms")) || budget;
  return understood(await answer.arrayBuffer(), stages, given);
}

export async function understood(buffer, stages, budget) {
  const found = await readNpz(buffer);
  const [height, width] = found.labels.shape;
  return {
    width, height, budget, stages,
    labels: found.labels.data,
    confidence: found.confidence.data,
    summary: JSON.parse(found["summary.json"]),
  };
}

/** The answer as a file. */
export async function download(picture, model, budget, format) {
  return (await ask(labelPath(model, budget, format), { method: "POST", body: picture })).blob();
}

/** A live stream: frames in, labels out. */
export function live(model, budget) {
  const query = new URLSearchParams({ model, budget: `${budget}ms`, clock: "labeling", format: "npz" });
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}/v1/live?${query}`, token ? [`anyscene.token.${token}`] : []);
  socket.binaryType = "arraybuffer";
  return socket;
}
