// Dashboards: what changes elsewhere shows here by itself. The page is asked for again, and its parts take the place of the
// old ones; a part that somebody is busy with is left alone.
import { find, findAll } from "./dom.js";

/** Time goes on, and nobody tells of an attempt that failed and is made again: so often it is looked in any case. */
const BOARD_QUIET_MS = 5_000;
/** Looks are this far apart. */
const BOARD_MS = 2_000;

let boardTimer = 0;
let isBoardChanged = false;

function lookAtBoard() {
  isBoardChanged = false;
  boardTimer = setTimeout(() => ((boardTimer = 0), isBoardChanged && lookAtBoard()), BOARD_MS);
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  request.responseType = "document";
  request.addEventListener("load", () => request.status === 200 && request.responseXML && showParts(request.responseXML));
  request.send();
}

/** @param {Document} fresh */
function showParts(fresh) {
  // Nobody looks.
  if (document.hidden) return;
  for (const part of findAll("[data-part]")) {
    const now = fresh.getElementById(part.id);
    const isBusy = part.contains(document.activeElement) || find("details[open]", part) !== null;
    if (now && !isBusy) part.replaceWith(document.adoptNode(now));
  }
}

function lookSoon() {
  if (document.hidden) return;
  if (boardTimer) isBoardChanged = true;
  else lookAtBoard();
}

export function startBoards() {
  const kinds = find("#main")?.dataset.live?.split(" ").filter(Boolean) ?? [];
  if (kinds.length === 0) return;
  document.addEventListener("pirssonite-change", (event) => {
    const { kind } = /** @type {CustomEvent} */ (event).detail;
    if (kind !== "reset" && !kinds.includes(kind)) return;
    lookSoon();
  });
  setInterval(lookSoon, BOARD_QUIET_MS);
}
