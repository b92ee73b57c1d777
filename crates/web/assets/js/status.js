// Messages: what happened, and at times a way to undo it. Screen readers hear them.
import { find, make } from "./dom.js";

const MESSAGE_MS = 6_000;
// Whoever goes there by keyboard, or hears of it late, needs time.
const UNDO_MS = 60_000;
const FLASH = "pirssonite-flash";

/** The message about the connection, while there is one. @type {HTMLElement | null} */
let lasting = null;

/**
 * Says something for a while.
 * @param {string} text
 * @param {{ label: string, run: () => void }} [action]
 */
export function say(text, action) {
  const box = find("#status");
  if (!box) return;
  const message = make("div", {}, text);
  if (action) {
    message.append(make("button", { type: "button", "data-do": "undo", onclick: () => (message.remove(), action.run()) }, action.label));
  }
  // One after the other would cover what is being read.
  for (const old of [...box.children]) if (old !== lasting) old.remove();
  box.append(message);
  setTimeout(() => message.remove(), action ? UNDO_MS : MESSAGE_MS);
}

/** Says something until it is taken back with `null`. @param {string | null} text */
export function sayWhile(text) {
  if (lasting?.textContent === text) return;
  lasting?.remove();
  lasting = text === null ? null : make("div", { class: "lasting" }, text);
  if (lasting) find("#status")?.append(lasting);
}

/** Goes to another page, and says something there. @param {string} path @param {string} text */
export function goAndSay(path, text) {
  sessionStorage.setItem(FLASH, text);
  if (path === location.pathname + location.search) location.reload();
  else location.assign(path);
}

export function sayFlash() {
  const text = sessionStorage.getItem(FLASH);
  sessionStorage.removeItem(FLASH);
  if (text) say(text);
}
