// What every page has: a status line with a stop button, and a place for one line of error.

import { asker } from "./api.js";
import { h, replace } from "./dom.js";

export function panel() {
  const status = h("p", { class: "busy", role: "status" });
  const error = h("div", { "aria-live": "assertive" });
  const say = (text, stop) => replace(status, text, stop
    ? h("button", { type: "button", class: "quiet", onclick: stop }, "Stop") : null);
  const complain = (line) => replace(error, line ? h("p", { class: "message", role: "alert" }, line) : null);
  return { status, error, say, complain, run: asker(say, complain) };
}

/** Calls `work` when nothing has changed for a moment. */
export function soon(work, wait = 160) {
  let timer = null;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), wait); };
}
