// Dialogs: the platform's own, which hold the focus and close with Escape.
import { find, findAll, make } from "./dom.js";
import { words } from "./api.js";

/** Keys and what they do, as the help shows them. */
export const KEYS = [
  [["j"], "next entry"],
  [["k"], "previous entry"],
  [["o", "Enter"], "open"],
  [["Esc"], "back to the list"],
  [["v"], "open the original"],
  [["m"], "read or unread"],
  [["s"], "star"],
  [["Shift+A"], "mark all as read"],
  [["."], "show what is new"],
  [["r"], "refresh"],
  [["a"], "add a feed"],
  [["e"], "settings of this feed or folder"],
  [["/"], "search"],
  [["g u"], "go to unread"],
  [["g a"], "go to all"],
  [["g s"], "go to starred"],
  [["?"], "this list"],
];

/**
 * Shows a dialog until it is closed.
 * @param {string} title
 * @param {...(Node | string)} content
 */
export function showDialog(title, ...content) {
  // One may lie over another.
  const id = `dialog-title-${findAll("dialog").length}`;
  const closer = make("button", { class: "icon", type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "✕");
  const heading = make("header", {}, make("h2", { id, dir: "auto" }, title), closer);
  const dialog = make("dialog", { "aria-labelledby": id, onclose: () => dialog.remove() }, heading, make("div", { class: "inside" }, ...content));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  // On a narrow screen the feeds lie over everything.
  find("#side:popover-open")?.hidePopover();
  dialog.showModal();
  find(".inside input, .inside select, .inside button", dialog)?.focus();
  return dialog;
}

/** A place in a dialog for what went wrong: a message of the page would lie behind it. */
export function makeProblem() {
  const element = make("p", { class: "problem-text", role: "alert", hidden: true });
  const show = (/** @type {unknown} */ error) => {
    element.textContent = words(error);
    element.hidden = false;
  };
  return { element, show };
}

/**
 * A form that says what went wrong, and is busy while it works.
 * @param {(form: FormData) => Promise<void>} submit
 * @param {...(Node | string)} content
 */
export function makeForm(submit, ...content) {
  const problem = makeProblem();
  const form = make("form", {}, ...content, problem.element);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const buttons = [...form.querySelectorAll("button")];
    problem.element.hidden = true;
    for (const button of buttons) button.disabled = true;
    try {
      await submit(new FormData(form));
    } catch (error) {
      problem.show(error);
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  });
  return form;
}

/** @param {string} label @param {string} name @param {Record<string, any>} [properties] */
export function makeField(label, name, properties = {}) {
  return make("label", {}, label, make("input", { name, ...properties }));
}

/** @param {string} label @param {string} name @param {[string, string][]} values @param {string} chosen */
export function makeChoice(label, name, values, chosen) {
  const options = values.map(([value, text]) => make("option", { value, selected: value === chosen }, text));
  return make("label", {}, label, make("select", { name }, ...options));
}

export function showHelp() {
  const rows = KEYS.flatMap(([keys, what]) => [
    make("dt", {}, ...[keys].flat().flatMap((key, at) => [at > 0 ? " or " : "", ...String(key).split(" ").map((one) => make("kbd", {}, one))])),
    make("dd", {}, String(what)),
  ]);
  const isOff = !document.documentElement.hasAttribute("data-keys");
  showDialog("Keyboard", isOff ? make("p", { class: "note" }, "Single keys are off. They can be turned on under “How this looks”.") : "", make("dl", {}, ...rows));
}
