// Elements, and the words for times. No text ever becomes HTML here.

/**
 * @template {Element} [T=HTMLElement]
 * @param {string} selector
 * @param {ParentNode} [root]
 * @returns {T | null}
 */
export function find(selector, root = document) {
  return root.querySelector(selector);
}

/**
 * @param {string} selector
 * @param {ParentNode} [root]
 * @returns {HTMLElement[]}
 */
export function findAll(selector, root = document) {
  return [...root.querySelectorAll(selector)].map((element) => /** @type {HTMLElement} */ (element));
}

/**
 * An element. Properties that begin with `on` are listeners, `true` is an attribute without a value, and `null`,
 * `undefined` and `false` are none.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child || child === "").map((child) => /** @type {Node | string} */ (child)));
  return element;
}

/**
 * What a template holds, once more.
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function clone(selector) {
  const template = /** @type {HTMLTemplateElement} */ (find(selector));
  return /** @type {HTMLElement} */ (/** @type {Element} */ (template.content.firstElementChild).cloneNode(true));
}

/** @param {string} text @param {number} max */
export function shorten(text, max) {
  const short = text.slice(0, max * 2);
  const letters = [...short];
  return letters.length > max ? `${letters.slice(0, max).join("").trimEnd()}…` : text;
}

/** `1 entry`, `3 entries`. @param {number} count @param {string} one @param {string} many */
export function counted(count, one, many) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/** How long ago, or the day; as the server writes it. @param {string} at */
export function whenShort(at) {
  const then = new Date(at);
  const minutes = Math.floor((Date.now() - then.getTime()) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h`;
  if (minutes < 7 * 24 * 60) return `${Math.floor(minutes / (24 * 60))} d`;
  const day = `${then.getDate()} ${then.toLocaleString("en", { month: "short" })}`;
  return then.getFullYear() === new Date().getFullYear() ? day : `${day} ${then.getFullYear()}`;
}

/** @param {string} at */
export function whenLong(at) {
  return new Date(at).toLocaleString(undefined, { dateStyle: "long", timeStyle: "short" });
}

/** @param {number} secs */
export function playingTime(secs) {
  const parts = [Math.floor(secs / 3600), Math.floor(secs / 60) % 60, secs % 60].map((part) => String(part).padStart(2, "0"));
  return secs < 3600 ? `${Math.floor(secs / 60)}:${parts[2]}` : `${Math.floor(secs / 3600)}:${parts[1]}:${parts[2]}`;
}

/** A part of an address as people read it; one that is quoted wrongly stays. @param {string} text */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} url */
export function isWeb(url) {
  return /^https?:\/\//i.test(url);
}
