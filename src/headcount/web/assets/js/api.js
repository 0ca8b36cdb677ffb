// Questions to the server, or to the files of a static copy.

import { duration } from "./dom.js";

let index = null; // of a static copy; null on a server

const stable = (value) => Array.isArray(value) ? `[${value.map(stable).join(",")}]`
  : value && typeof value === "object"
    ? `{${Object.keys(value).sort().filter((k) => value[k] !== undefined)
      .map((k) => `${JSON.stringify(k)}:${stable(value[k])}`).join(",")}}`
    : JSON.stringify(value);

// What a question has where nothing is said: the answer of a static copy is found by all values.
const DEFAULTS = {
  fit: { kernel: "lag:2", bias: "lin", heads: 3, budget: null, norm: "l1", window: null, dtype: null, certify: true },
  memory: { memory: "fixed:lags=1+3", length: 48, seed: 0 },
  plan: { memory: "fixed:lags=1", tol: 0.1, dtype: "float32", length: 64 },
  build: { memory: "fixed:lags=1", tol: 0.1, bias: "lin", normaliser: null, theorem: null, precision: "float32", length: 64 },
  model: { folder: null, build: null, sequence: null, length: 24, seed: 0 },
};

export class Refused extends Error {
  constructor(status, line) { super(line); this.status = status; }
}

/** An answer of a static copy: a script, since a page from the disk may not fetch. */
function fromScript(name) {
  const answers = globalThis.headcountAnswers ??= {};
  if (Object.hasOwn(answers, name)) return Promise.resolve(answers[name]);
  return new Promise((found, failed) => {
    const script = document.createElement("script");
    script.onload = () => found(answers[name]);
    script.onerror = () => failed(new Refused(404, `This static copy lacks data/${name}.`));
    script.src = `data/${name}`;
    document.head.append(script);
  });
}

/** True where this page is a static copy. */
export async function start() {
  const wanted = document.querySelector("meta[name=headcount-static]");
  if (!wanted) return false;
  index = new Map((await fromScript("index.js"))
    .map((entry) => [`${entry.question} ${stable(entry.values)}`, entry.file]));
  return true;
}

export const isStatic = () => index !== null;

/** The questions of one kind that a static copy can answer. */
export const stored = (question) => index === null ? [] : [...index.keys()]
  .filter((key) => key.startsWith(`${question} `)).map((key) => JSON.parse(key.slice(question.length + 1)));

async function fromFiles(question, values) {
  const full = { ...DEFAULTS[question], ...values };
  if (full.build) full.build = { ...DEFAULTS.build, ...full.build };
  const file = index.get(`${question} ${stable(full)}`);
  if (!file) throw new Refused(404, "This static copy holds a few examples only, and this is none of them. Run headcount serve to ask anything.");
  return fromScript(file);
}

async function said(response) {
  if (response.ok) return response;
  let line = `the server answered ${response.status}`;
  try { line = (await response.json()).error ?? line; } catch { /* no JSON: the status must do */ }
  throw new Refused(response.status, line);
}

export async function ask(question, values, signal) {
  if (index) return fromFiles(question, values);
  const response = await fetch(`api/${question}`, {
    method: "POST", signal, headers: { "content-type": "application/json" },
    body: JSON.stringify(values),
  });
  return (await said(response)).json();
}

export async function look(name) {
  if (index) return name === "catalogue" ? fromFiles(name, {}) : { root: "", models: [], stores: [], studies: [] };
  return (await said(await fetch(`api/${name}`))).json();
}

export async function download(question, values) {
  if (index) throw new Refused(404, "This static copy cannot build models. Run headcount serve.");
  const response = await said(await fetch(`api/${question}`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(values),
  }));
  return response.blob();
}

export async function upload(file, column, signal) {
  if (index) throw new Refused(404, "This static copy cannot read files. Run headcount serve.");
  const response = await fetch(`api/diagnose?${new URLSearchParams({ name: file.name, column })}`, {
    method: "POST", signal, headers: { "content-type": "application/octet-stream" }, body: file,
  });
  return (await said(response)).json();
}

/** A worker for one panel: the last question wins, an earlier one is cancelled. */
export function asker(status, onerror) {
  let current = null;
  return async function run(work, failed = () => {}) { // `failed` where no answer comes
    current?.abort();
    const control = new AbortController();
    current = control;
    const started = performance.now();
    const show = () => {
      if (current !== control) return;
      const seconds = (performance.now() - started) / 1000;
      if (seconds > 0.3) status(`computing … ${seconds.toFixed(0)} s`, () => control.abort());
    };
    const timer = setInterval(show, 500);
    try {
      const found = await work(control.signal);
      if (current !== control) return null;
      status(`answered in ${duration(performance.now() - started)}`);
      onerror(null);
      return found;
    } catch (error) {
      if (current !== control) return null;
      failed();
      if (error.name === "AbortError") { status("stopped"); return null; }
      status("");
      onerror(error.message);
      return null;
    } finally { clearInterval(timer); }
  };
}
