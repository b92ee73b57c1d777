// The keyboard. Single keys do nothing while somebody types, in dialogs, or if they are turned off.
import { find } from "./dom.js";
import { subject, leave, open, openId, openOriginal, step } from "./article.js";
import { mark, markAllRead } from "./marks.js";
import { showHelp } from "./dialogs.js";
import { currentRow, loadedRows, setCurrent } from "./list.js";
import { refresh, showAdd, showFeed, showFolder } from "./manage.js";
import { showArrived } from "./live.js";
import { say } from "./status.js";
import { words } from "./api.js";

/** How long `g` waits for its second key. */
const SEQUENCE_MS = 1_500;

/** @type {Record<string, string>} */
const PLACES = { u: "/unread", a: "/all", s: "/starred" };

let isGoing = false;
let goingTimer = 0;

export function toggleRead() {
  const row = subject();
  if (row) mark([row.id], { isRead: !row.isRead });
}

export function toggleStar() {
  const row = subject();
  if (row) mark([row.id], { isStarred: !row.isStarred });
}

export function showSearch() {
  const here = /** @type {HTMLInputElement | null} */ (find(".top input[type=search]"));
  const field = here?.offsetParent ? here : /** @type {HTMLInputElement | null} */ (find("#q"));
  const side = find("#side");
  if (field && side && field.offsetParent === null && getComputedStyle(side).display === "none") side.showPopover();
  field?.focus();
  field?.select();
}

/** Back from the search to what is listed. */
function leaveSearch() {
  const row = openId() === null ? currentRow() : null;
  if (row) setCurrent(row.id, true);
  else find("#main")?.focus({ preventScroll: true });
}

export function editSubject() {
  const button = find('.list [data-do="feed"], .list [data-do="folder"]');
  const id = Number(button?.dataset.id);
  if (button?.dataset.do === "feed") showFeed(id).catch((error) => say(words(error)));
  else if (button) showFolder(id);
  else say("Go to a feed or a folder first.");
}

/** @type {Record<string, () => any>} */
const KEY_ACTIONS = {
  j: () => step(1),
  k: () => step(-1),
  o: openCurrent,
  Enter: openCurrent,
  v: openOriginal,
  m: toggleRead,
  s: toggleStar,
  r: async () => ((await refresh(find('[data-do="refresh"]'))) > 0 ? showArrived() : undefined),
  a: () => showAdd(),
  e: editSubject,
  A: markAllRead,
  "/": showSearch,
  ".": showArrived,
  "?": showHelp,
  Escape: leave,
};

function openCurrent() {
  const row = subject();
  if (row && openId() === null) open(row.id);
  // Nothing is chosen yet: the first is.
  else if (!row && loadedRows().length > 0) step(1);
}

/** @param {KeyboardEvent} event */
function isTyping(event) {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(input|select|textarea|audio|video)$/i.test(target.tagName);
}

/** @param {KeyboardEvent} event */
function isSearching(event) {
  return event.target instanceof HTMLInputElement && event.target.type === "search";
}

/** Whether Enter has something to do where the focus is. @param {KeyboardEvent} event */
function isOnControl(event) {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && target.closest("a, button, summary") !== null;
}

export function startKeys() {
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isSearching(event) && !find("[popover]:popover-open")) return leaveSearch();
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    if (find("dialog[open]") || find("[popover]:popover-open")) return;
    if (event.key !== "Escape" && event.key !== "Enter" && !document.documentElement.hasAttribute("data-keys")) return;
    if (event.key === "Enter" && isOnControl(event)) return;
    if (isGoing) {
      isGoing = false;
      const place = PLACES[event.key];
      if (place) {
        event.preventDefault();
        return location.assign(place);
      }
    }
    if (event.key === "g") {
      isGoing = true;
      clearTimeout(goingTimer);
      goingTimer = setTimeout(() => (isGoing = false), SEQUENCE_MS);
      return;
    }
    const action = KEY_ACTIONS[event.key];
    if (!action) return;
    event.preventDefault();
    Promise.resolve(action()).catch((error) => say(words(error)));
  });
}
