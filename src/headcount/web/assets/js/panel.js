// What every page has: a status line with a stop button, and a place for one line of error.

import { asker } from "./api.js";
import { h, replace } from "./dom.js";

export function panel() {
  const status = h("p", { class: "busy", role: "status" });
  const error = h("div", { "aria-live": "assertive" });
  const say = (text, stop) => {
    status.classList.toggle("computing", Boolean(stop)); // what stands below it is of an earlier question
    replace(status, text, stop ? h("button", { type: "button", class: "quiet", onclick: stop }, "Stop") : null);
  };
  const complain = (line) => replace(error, line ? h("p", { class: "message", role: "alert" }, plainly(line)) : null);
  return { status, error, say, complain, run: asker(say, complain) };
}

/** A refusal without what concerns who writes JSON by hand. */
function plainly(line) {
  const told = line.replace(/^Ask\w+: /, "").replace(/; expected keys [^;]*(; correct these and run again)?$/, "");
  return told[0].toUpperCase() + told.slice(1) + (/[.!?)]$/.test(told) ? "" : ".");
}

/** Calls `work` when nothing has changed for a moment. */
export function soon(work, wait = 160) {
  let timer = null;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), wait); };
}
