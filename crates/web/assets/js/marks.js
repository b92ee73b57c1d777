// Read and starred: shown at once, told to the server after, and taken back with a message if it refuses.
import { counted } from "./dom.js";
import { ask, words } from "./api.js";
import { say } from "./status.js";
import { adjustCounts, refreshCounts } from "./sidebar.js";
import { listQuery, listShows, listTime, loadedRows, rowOf, showRow } from "./list.js";

/** @typedef {{ isRead?: boolean, isStarred?: boolean }} Patch */

const IDS_MAX = 1_000;
/** Entries that undoing brings back, at most. */
const UNDO_MAX = 10_000;
const SCROLL_MS = 600;

/** Others who show marks: the article. @type {((id: number, patch: Patch) => void)[]} */
const shown = [];

/** @param {(id: number, patch: Patch) => void} show */
export function onMark(show) {
  shown.push(show);
}

/** Shows marks, wherever they come from. @param {number} id @param {Patch} patch @param {boolean} isCounted */
export function showMark(id, patch, isCounted) {
  const row = rowOf(id);
  if (row) {
    const unread = patch.isRead === undefined || patch.isRead === row.isRead ? 0 : patch.isRead ? -1 : 1;
    const starred = patch.isStarred === undefined || patch.isStarred === row.isStarred ? 0 : patch.isStarred ? 1 : -1;
    Object.assign(row, patch);
    showRow(row);
    if (isCounted && (unread || starred)) adjustCounts(row.feedId, unread, starred);
  }
  for (const show of shown) show(id, patch);
}

/** Marks entries. @param {number[]} ids @param {Patch} patch */
export async function mark(ids, patch) {
  const before = ids.map((id) => ({ id, isRead: rowOf(id)?.isRead, isStarred: rowOf(id)?.isStarred }));
  for (const id of ids) showMark(id, patch, true);
  try {
    for (let at = 0; at < ids.length; at += IDS_MAX) {
      await ask("PATCH", "/api/entries", { ids: ids.slice(at, at + IDS_MAX), ...patch });
    }
  } catch (error) {
    for (const { id, isRead, isStarred } of before) {
      const back = patch.isRead === undefined ? { isStarred: isStarred ?? !patch.isStarred } : { isRead: isRead ?? !patch.isRead };
      showMark(id, back, true);
    }
    say(`Not marked. ${words(error)}`);
  }
}

/** @type {Set<number>} */
const passed = new Set();
let passedTimer = 0;

/** Marks what was scrolled past, some together. @param {{ id: number }} row */
export function markPassed(row) {
  passed.add(row.id);
  clearTimeout(passedTimer);
  passedTimer = setTimeout(() => {
    mark([...passed], { isRead: true });
    passed.clear();
  }, SCROLL_MS);
}

/** The unread entries of the list, by id. */
async function unreadIds() {
  const query = new URLSearchParams(listQuery());
  query.set("unread", "true");
  query.set("content", "false");
  query.set("limit", "500");
  /** @type {number[]} */
  const ids = [];
  for (;;) {
    const page = await ask("GET", `/api/entries?${query}`);
    ids.push(...page.entries.map((/** @type {{ id: number }} */ entry) => entry.id));
    if (!page.nextCursor || ids.length >= UNDO_MAX) return ids;
    query.set("cursor", page.nextCursor);
  }
}

/** Marks all of the list as read, with a way back. */
export async function markAllRead() {
  const query = new URLSearchParams(listQuery());
  const isWhole = !query.has("q") && listShows() !== "starred";
  try {
    const ids = await unreadIds();
    if (ids.length === 0) return say("Nothing is unread here.");
    if (isWhole) {
      const numbers = ["feedId", "folderId"].filter((name) => query.has(name)).map((name) => [name, Number(query.get(name))]);
      await ask("POST", "/api/entries/mark-read", { ...Object.fromEntries(numbers), before: listTime() });
    } else {
      await patchAll(ids, { isRead: true });
    }
    const isMarked = new Set(ids);
    for (const row of loadedRows()) if (isMarked.has(row.id)) showMark(row.id, { isRead: true }, false);
    await refreshCounts();
    say(`Marked ${counted(ids.length, "entry", "entries")} as read.`, { label: "Undo", run: () => undo(ids) });
  } catch (error) {
    say(`Not marked. ${words(error)}`);
    refreshCounts().catch(() => {});
  }
}

/** @param {number[]} ids @param {Patch} patch */
async function patchAll(ids, patch) {
  for (let at = 0; at < ids.length; at += IDS_MAX) await ask("PATCH", "/api/entries", { ids: ids.slice(at, at + IDS_MAX), ...patch });
}

/** @param {number[]} ids */
async function undo(ids) {
  try {
    await patchAll(ids, { isRead: false });
    for (const id of ids) showMark(id, { isRead: false }, false);
    await refreshCounts();
    say(`${counted(ids.length, "entry is", "entries are")} unread again.`);
  } catch (error) {
    say(`Not undone. ${words(error)}`);
  }
}

/** Looks at rows anew that somebody else has marked. @param {number[]} ids */
export async function refreshMarks(ids) {
  const here = ids.filter((id) => rowOf(id)).slice(0, IDS_MAX);
  if (here.length === 0) return;
  const page = await ask("GET", `/api/entries?ids=${here.join(",")}&content=false`);
  for (const { id, isRead, isStarred } of page.entries) showMark(id, { isRead, isStarred }, false);
}

/** Looks at all rows anew that are on the page. */
export async function refreshAllMarks() {
  const ids = loadedRows().map((row) => row.id);
  for (let at = 0; at < ids.length; at += IDS_MAX) await refreshMarks(ids.slice(at, at + IDS_MAX));
}

