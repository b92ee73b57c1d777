// The list: endless by cursor, with a bounded page. Entries are kept in chunks; a chunk far from what is seen keeps its
// height and loses its rows, so ten thousand entries deep there are no more elements than at the top.
import { clone, find, findAll, shorten, whenShort } from "./dom.js";
import { ask, words } from "./api.js";
import { say } from "./status.js";
import { feedName } from "./sidebar.js";

/**
 * @typedef {{ id: number, feedId: number, title: string, at: string, excerpt: string, isRead: boolean, isStarred: boolean,
 *   url?: string | null }} Row
 * @typedef {{ element: HTMLElement, rows: Row[], isFilled: boolean }} Chunk
 */

const CHUNK_ROWS = 50;
/** Rows of a chunk into which what has come was put, before it is two. */
const CHUNK_ROWS_MAX = 100;
/** Entries may be committed so long after the time that they were received at, or be stamped by another clock. */
const COMMIT_MS = 60_000;
/** Rows that are looked at anew, at most: no more are near what is seen, where so much changed that no entry is named. */
const RENEWED_MAX = 500;
/** How far from what is seen rows are kept. */
const KEPT_MARGIN = "3000px 0px";
/** How far before the end the next rows are asked for. */
const LOAD_MARGIN = "2000px 0px";
/** A page that could not be loaded is asked for again after this. */
const RETRY_MS = 5_000;
const TIMES_MS = 60_000;
const TITLE_CHARS = 300;
const FEED_CHARS = 80;

const section = find(".list");
const scroller = find(".list .scroll");
/** @type {Chunk[]} */
const chunks = [];
/** @type {Map<number, Row>} */
const known = new Map();
/** The entry that keys are about. @type {number | null} */
let currentId = null;
/** The page that is being loaded: whoever wants more meanwhile waits for the same. @type {Promise<boolean> | null} */
let loading = null;
let retryTimer = 0;
/** @type {IntersectionObserver | null} */
let keeping = null;
/** @type {IntersectionObserver | null} */
let ending = null;
/** @type {((row: Row) => void) | null} */
let onPassed = null;

/** @param {string} name */
function given(name) {
  return section?.dataset[name] ?? "";
}

export const listAddress = () => given("list");
export const listQuery = () => given("query");
export const listTime = () => given("now");
export const listShows = () => given("show");
/** Whether there are entries that are not loaded yet. */
export const hasMore = () => given("next") !== "";
export const hasList = () => section !== null;
export const currentRow = () => (currentId === null ? null : (known.get(currentId) ?? null));
export const rowOf = (/** @type {number} */ id) => known.get(id) ?? null;
export const loadedRows = () => [...known.values()];
export const listScroller = () => scroller;

/** @param {number} id */
export function entryAddress(id) {
  return `/entry/${id}?in=${encodeURIComponent(listAddress()).replaceAll("%2F", "/")}`;
}

/** @param {import("./api.js").Entry} entry @returns {Row} */
export function toRow(entry) {
  const { id, feedId, isRead, isStarred, url } = entry;
  const own = entry.title?.trim();
  const text = entry.excerpt ?? "";
  // What has no title begins with its text.
  const title = shorten(own || text || "Untitled", TITLE_CHARS);
  return { id, feedId, title, at: entry.sortAt, excerpt: own ? text : "", isRead, isStarred, url };
}

/** @param {Row} row */
function makeRow(row) {
  const element = clone("#row");
  element.id = `e${row.id}`;
  element.dataset.feed = String(row.feedId);
  find("a", element)?.setAttribute("href", entryAddress(row.id));
  find("small", element)?.append(shorten(feedName(row.feedId), FEED_CHARS));
  if (!section?.hasAttribute("data-excerpts")) find("p", element)?.remove();
  showTexts(row, element);
  showRow(row, element);
  return element;
}

/** @param {Row} row @param {HTMLElement | null} element */
function showTexts(row, element) {
  const [title, text] = element ? [find("a", element), find("p", element)] : [];
  if (title) title.textContent = row.title;
  if (text) text.textContent = row.excerpt;
}

/** @param {Row} row @param {HTMLElement | null} [element] */
export function showRow(row, element = find(`#e${row.id}`)) {
  if (!element) return;
  element.classList.toggle("unread", !row.isRead);
  element.classList.toggle("starred", row.isStarred);
  element.classList.toggle("current", row.id === currentId);
  find("small", element)?.setAttribute("data-when", whenShort(row.at));
}

/** How long ago it was goes on. */
function showTimes() {
  if (document.hidden) return;
  for (const { rows, isFilled } of chunks) if (isFilled) for (const row of rows) showRow(row);
}

/** @param {HTMLElement} element @returns {Row} */
function readRow(element) {
  return {
    id: Number(element.id.slice(1)),
    feedId: Number(element.dataset.feed),
    title: find("a", element)?.textContent ?? "",
    at: element.dataset.at ?? "",
    excerpt: find("p", element)?.textContent ?? "",
    isRead: !element.classList.contains("unread"),
    isStarred: element.classList.contains("starred"),
  };
}

/** @param {Row[]} rows @param {HTMLElement} element @param {number} [place] */
function addChunk(rows, element, place = chunks.length) {
  chunks.splice(place, 0, { element, rows, isFilled: true });
  for (const row of rows) known.set(row.id, row);
  keeping?.observe(element);
  if (onPassed) for (const row of element.children) passing?.observe(row);
}

/** @param {Chunk} chunk */
function fill(chunk) {
  if (chunk.isFilled) return;
  chunk.isFilled = true;
  chunk.element.replaceChildren(...chunk.rows.map(makeRow));
  chunk.element.style.height = "";
  if (onPassed) for (const row of chunk.element.children) passing?.observe(row);
}

/** @param {Chunk} chunk */
function empty(chunk) {
  if (!chunk.isFilled || chunk.element.contains(document.activeElement)) return;
  const height = chunk.element.offsetHeight;
  if (height === 0) return;
  chunk.isFilled = false;
  chunk.element.style.height = `${height}px`;
  chunk.element.replaceChildren();
}

/** @param {Element[]} rows */
function makeChunk(rows) {
  const element = document.createElement("div");
  element.className = "chunk";
  element.setAttribute("role", "none");
  element.append(...rows);
  return element;
}

/** @param {Row[]} rows */
function appendChunk(rows) {
  const element = makeChunk(rows.map(makeRow));
  const box = find(".rows");
  box?.setAttribute("role", "list");
  box?.append(element);
  addChunk(rows, element);
}

/** Whether one row stands before another. @param {Row} row @param {Row} other */
function isBefore(row, other) {
  const later = Date.parse(row.at) - Date.parse(other.at) || row.id - other.id;
  return listQuery().includes("order=oldest") ? later < 0 : later > 0;
}

/** Whether a row stands among those that are loaded, or after the last of all. @param {Row} row */
export function isWithin(row) {
  const last = chunks[chunks.length - 1]?.rows.at(-1);
  return !hasMore() || (last !== undefined && isBefore(row, last));
}

/** Puts a row where it belongs. @param {Row} row */
function putRow(row) {
  const isInFront = (/** @type {Row | undefined} */ last) => last !== undefined && isBefore(row, last);
  const chunk = chunks.find(({ rows }) => isInFront(rows.at(-1))) ?? chunks[chunks.length - 1];
  const at = chunk.rows.findIndex((other) => isBefore(row, other));
  const next = at < 0 ? null : chunk.rows[at];
  chunk.rows.splice(at < 0 ? chunk.rows.length : at, 0, row);
  known.set(row.id, row);
  if (chunk.isFilled) {
    const element = makeRow(row);
    chunk.element.insertBefore(element, next && find(`#e${next.id}`));
    if (onPassed) passing?.observe(element);
  } else {
    chunk.element.style.height = `${(parseFloat(chunk.element.style.height) * chunk.rows.length) / (chunk.rows.length - 1)}px`;
  }
  if (chunk.rows.length > CHUNK_ROWS_MAX) split(chunk);
}

/** Makes two of a chunk, so that none grows for as long as the page is open. @param {Chunk} chunk */
function split(chunk) {
  fill(chunk);
  const element = makeChunk([...chunk.element.children].slice(CHUNK_ROWS));
  chunk.element.after(element);
  addChunk(chunk.rows.splice(CHUNK_ROWS), element, chunks.indexOf(chunk) + 1);
}

/** A page of the list. @param {string} cursor */
async function fetchPage(cursor) {
  return ask("GET", `/api/entries?${listQuery()}&excerpt=true&limit=${CHUNK_ROWS}&cursor=${cursor}`);
}

/**
 * What has come since the list was made and is not on the page: whatever it is dated, so it is asked for by its receipt.
 * @param {boolean} isBrief without texts
 * @returns {Promise<{ rows: Row[], isMore: boolean }>} the latest, and whether there are others
 */
export async function fetchArrived(isBrief) {
  const query = new URLSearchParams(listQuery());
  query.set("order", "newest");
  // A search is by the date alone.
  if (!query.has("q")) query.set("receivedSince", new Date(Date.parse(listTime()) - COMMIT_MS).toISOString());
  const page = await ask("GET", `/api/entries?${query}&${isBrief ? "content=false" : "excerpt=true"}&limit=${CHUNK_ROWS}`);
  const rows = page.entries.map(toRow).filter((/** @type {Row} */ row) => !known.has(row.id));
  return { rows, isMore: rows.length === page.entries.length && page.nextCursor !== null && rows.some(isWithin) };
}

/** The next entries of the list. @returns {Promise<boolean>} whether there were any */
export function loadMore() {
  const cursor = given("next");
  if (!section || !cursor) return Promise.resolve(false);
  clearTimeout(retryTimer);
  loading ??= loadFrom(section, cursor).finally(() => (loading = null));
  return loading;
}

/** @param {HTMLElement} section @param {string} cursor */
async function loadFrom(section, cursor) {
  let wait = 0;
  try {
    const page = await fetchPage(cursor);
    const rows = page.entries.map(toRow).filter((/** @type {Row} */ row) => !known.has(row.id));
    if (page.nextCursor) section.dataset.next = page.nextCursor;
    else delete section.dataset.next;
    if (rows.length > 0) appendChunk(rows);
    showEnd();
    return rows.length > 0;
  } catch (error) {
    wait = RETRY_MS;
    say(words(error));
    return false;
  } finally {
    retryTimer = setTimeout(watchEnd, wait);
  }
}

/** Has the end looked at anew: where it is near again before the observer saw it go, it would never be told. */
function watchEnd() {
  const end = find(".list .more");
  if (!end || !hasMore()) return;
  ending?.unobserve(end);
  ending?.observe(end);
}

function showEnd() {
  const end = find(".list .more");
  if (end) end.textContent = given("next") ? "Loading…" : "That is all.";
}

/** Brings in what has come since, each entry where it belongs. @returns {Promise<Row[]>} what stands further down than is loaded */
export async function bringIn() {
  if (!section) return [];
  const { rows, isMore } = await fetchArrived(false);
  // More than a page: what is between would be missing.
  if (isMore || known.size === 0) {
    location.reload();
    return [];
  }
  const [within, further] = [rows.filter(isWithin), rows.filter((row) => !isWithin(row))];
  within.sort((one, other) => (isBefore(one, other) ? -1 : 1));
  for (const row of within) putRow(row);
  if (within[0]) reveal(within[0]);
  return further;
}

/** Shows where a row stands. @param {Row} row */
function reveal(row) {
  const chunk = chunks.find((chunk) => chunk.rows.includes(row));
  if (chunk) fill(chunk);
  find(`#e${row.id}`)?.scrollIntoView({ block: "nearest" });
}

/**
 * Looks at rows anew whose entries have changed.
 * @param {number[]} ids if there are none: of all that may be seen
 */
export async function renewRows(ids) {
  const near = () => chunks.filter(({ isFilled }) => isFilled).flatMap(({ rows }) => rows.map(({ id }) => id));
  const wanted = (ids.length > 0 ? ids.filter((id) => known.has(id)) : near()).slice(0, RENEWED_MAX);
  // Where their texts are long, one answer does not hold them all.
  for (let more = ""; wanted.length > 0; ) {
    const page = await ask("GET", `/api/entries?ids=${wanted.join(",")}&excerpt=true${more}`);
    for (const { title, excerpt, url, id } of page.entries.map(toRow)) {
      const row = known.get(id);
      if (row) showTexts(Object.assign(row, { title, excerpt, url }), find(`#e${id}`));
    }
    if (!page.nextCursor) return;
    more = `&cursor=${page.nextCursor}`;
  }
}

/** Makes an entry the current one, and shows where it is. @param {number | null} id @param {boolean} [isFocused] */
export function setCurrent(id, isFocused = false) {
  const before = currentRow();
  currentId = id;
  if (before) showRow(before);
  const row = currentRow();
  if (!row) return;
  reveal(row);
  showRow(row);
  if (isFocused) find(`#e${row.id} a`)?.focus({ preventScroll: true });
}

/** The entry before or after the current one, loading more if need be. @param {1 | -1} step @returns {Promise<Row | null>} */
export async function neighbour(step) {
  const rows = chunks.flatMap((chunk) => chunk.rows);
  const at = rows.findIndex((row) => row.id === currentId);
  if (at < 0) return rows[0] ?? null;
  const found = rows[at + step];
  if (found || step < 0) return found ?? null;
  return (await loadMore()) ? neighbour(step) : null;
}

/** @type {IntersectionObserver | null} */
let passing = null;

/** Tells of unread rows that were scrolled past. @param {(row: Row) => void} passed */
function watchPassing(passed) {
  onPassed = passed;
  passing = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting, boundingClientRect, rootBounds } of entries) {
      const row = known.get(Number(target.id.slice(1)));
      // A list that is not shown has no height, and nothing was scrolled past in it.
      const isAbove = rootBounds !== null && rootBounds.height > 0 && boundingClientRect.bottom <= rootBounds.top;
      if (!isIntersecting && isAbove && row && !row.isRead) passed(row);
    }
  }, { root: scroller });
}

/** @param {((row: Row) => void) | null} passed what to do with unread rows that were scrolled past */
export function startList(passed) {
  if (!section || !scroller) return;
  if (passed) watchPassing(passed);
  keeping = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const chunk = chunks.find((chunk) => chunk.element === target);
      if (chunk) (isIntersecting ? fill : empty)(chunk);
    }
  }, { root: scroller, rootMargin: KEPT_MARGIN });
  const first = find(".chunk");
  if (first) addChunk(findAll(".row", first).map(readRow), first);
  for (const row of known.values()) showRow(row);
  setInterval(showTimes, TIMES_MS);
  if (!hasMore()) return;
  showEnd();
  ending = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) loadMore();
  }, { root: scroller, rootMargin: LOAD_MARGIN });
  watchEnd();
}
