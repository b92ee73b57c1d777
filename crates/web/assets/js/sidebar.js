// The feeds beside the page: their counts, their names, and moving one by dragging it.
import { find, findAll, shorten } from "./dom.js";
import { ask, words } from "./api.js";
import { say } from "./status.js";

const CLOSED = "pirssonite-closed-folders";
const SCROLLED = "pirssonite-side-scroll";
const COUNT_LOOKS_MAX = 3;
const NAME_CHARS = 120;

/** The link of a feed or a folder. @param {"feed" | "folder"} kind @param {number | string} id */
function linkOf(kind, id) {
  return kind === "feed" ? find(`.tree [data-feed="${id}"] > a`) : find(`.folder[data-folder="${id}"] > a`);
}

/** @param {number | string} id */
export function feedName(id) {
  return linkOf("feed", id)?.textContent?.trim() ?? "";
}

/** Shows another name; one without letters is none. @param {"feed" | "folder"} kind @param {number} id @param {string} name */
export function showName(kind, id, name) {
  const link = linkOf(kind, id);
  const text = shorten(name, NAME_CHARS);
  if (link && text.trim() && link.textContent !== text) link.textContent = text;
}

/** @returns {{ id: number, name: string }[]} */
export function folders() {
  return findAll(".folder[data-folder]")
    .filter((folder) => folder.dataset.folder)
    .map((folder) => ({ id: Number(folder.dataset.folder), name: find("a.name", folder)?.textContent ?? "" }));
}

/** @param {HTMLElement | null} link */
function shownCount(link) {
  return Number(link?.dataset.n || 0);
}

/** @param {HTMLElement | null} link @param {number} count */
function showCount(link, count) {
  if (link) link.dataset.n = count > 0 ? String(count) : "";
}

/** Shows counts as the server has them. @param {import("./api.js").Counts} counts */
export function showCounts(counts) {
  showCount(find('[data-count="unread"]'), counts.total);
  showCount(find('[data-count="starred"]'), counts.starred);
  for (const item of findAll(".tree [data-feed]")) showCount(find("a", item), counts.byFeed[item.dataset.feed ?? ""] ?? 0);
  for (const { id } of folders()) showCount(linkOf("folder", id), counts.byFolder[id] ?? 0);
  showTitle();
}

/** How often counts came as an event. */
let countsHeard = 0;

/** Shows what has changed of them. @param {import("./api.js").Counts} counts */
export function mergeCounts({ total, starred, byFeed, byFolder }) {
  countsHeard += 1;
  showCount(find('[data-count="unread"]'), total);
  showCount(find('[data-count="starred"]'), starred);
  for (const [id, count] of Object.entries(byFeed ?? {})) showCount(linkOf("feed", id), count);
  for (const [id, count] of Object.entries(byFolder ?? {})) showCount(linkOf("folder", id), count);
  showTitle();
}

/** Counts some more or fewer, until the server tells. @param {number} feedId @param {number} unread @param {number} starred */
export function adjustCounts(feedId, unread, starred) {
  const feed = linkOf("feed", feedId);
  const folder = feed?.closest(".folder")?.querySelector(":scope > a");
  const links = [feed, /** @type {HTMLElement | null} */ (folder ?? null), find('[data-count="unread"]')];
  for (const link of links) showCount(link, shownCount(link) + unread);
  const stars = find('[data-count="starred"]');
  showCount(stars, shownCount(stars) + starred);
  showTitle();
}

export async function refreshCounts() {
  for (let look = 1; ; look += 1) {
    const before = countsHeard;
    const counts = await ask("GET", "/api/counts");
    // Counts that came as an event meanwhile may be newer.
    if (before === countsHeard || look === COUNT_LOOKS_MAX) return showCounts(counts);
  }
}

/** The title of the page says how much is unread, where that is what it lists. */
export function showTitle() {
  if (location.pathname !== "/unread") return;
  const count = shownCount(find('[data-count="unread"]'));
  document.title = `${count > 0 ? `(${count}) ` : ""}Unread · piRSSonite`;
}

/** @param {number} feedId @param {number | null} folderId */
export async function moveFeed(feedId, folderId) {
  await ask("PATCH", `/api/feeds/${feedId}`, { folderId });
  const item = find(`.tree [data-feed="${feedId}"]`);
  const list = find(`.folder[data-folder="${folderId ?? ""}"] ul`);
  if (item && list) {
    const name = item.textContent ?? "";
    const after = [...list.children].find((other) => (other.textContent ?? "").localeCompare(name) > 0);
    list.insertBefore(item, after ?? null);
  }
  await refreshCounts();
}

export function startSidebar() {
  const side = find("#side");
  const tree = find(".tree");
  if (!side || !tree) return;
  keepFolders(tree);
  keepScroll(tree);
  /** @type {number | null} */
  let dragged = null;
  side.addEventListener("dragstart", (event) => {
    const item = event.target instanceof Element ? event.target.closest("[data-feed]") : null;
    dragged = item instanceof HTMLElement ? Number(item.dataset.feed) : null;
    if (dragged !== null) event.dataTransfer?.setData("text/plain", String(dragged));
  });
  /** @param {DragEvent} event */
  const folderUnder = (event) => {
    const folder = event.target instanceof Element ? event.target.closest(".folder") : null;
    return dragged !== null && folder instanceof HTMLElement ? folder : null;
  };
  side.addEventListener("dragover", (event) => {
    const folder = folderUnder(event);
    if (folder) event.preventDefault();
    for (const other of findAll(".folder.over")) other.classList.toggle("over", other === folder);
    folder?.classList.add("over");
  });
  side.addEventListener("dragend", () => {
    dragged = null;
    for (const folder of findAll(".folder.over")) folder.classList.remove("over");
  });
  side.addEventListener("drop", (event) => {
    const folder = folderUnder(event);
    if (!folder || dragged === null) return;
    event.preventDefault();
    const to = folder.dataset.folder ? Number(folder.dataset.folder) : null;
    moveFeed(dragged, to).then(
      () => say(to === null ? "Moved out of its folder." : `Moved to ${find("a.name", folder)?.textContent}.`),
      (error) => say(words(error)),
    );
  });
}

/** Folders that were closed stay closed. @param {HTMLElement} tree */
function keepFolders(tree) {
  /** @type {string[]} */
  const closed = (localStorage.getItem(CLOSED) ?? "").split(",").filter(Boolean);
  for (const folder of findAll(".folder[data-folder]", tree)) {
    const details = /** @type {HTMLDetailsElement | null} */ (find("details", folder));
    if (details && closed.includes(folder.dataset.folder ?? "")) details.open = false;
  }
  tree.addEventListener("toggle", () => {
    const all = findAll(".folder details:not([open])", tree).map((details) => details.closest("[data-folder]"));
    localStorage.setItem(CLOSED, all.map((folder) => folder?.getAttribute("data-folder")).join(","));
  }, true);
}

/** @param {HTMLElement} tree */
function keepScroll(tree) {
  tree.scrollTop = Number(sessionStorage.getItem(SCROLLED) ?? 0);
  find("[aria-current]", tree)?.scrollIntoView({ block: "nearest" });
  addEventListener("pagehide", () => sessionStorage.setItem(SCROLLED, String(tree.scrollTop)));
}
