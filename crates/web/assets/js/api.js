// Questions to the API of this server. Whatever goes wrong is an error with a sentence for people.
import { goAndSay } from "./status.js";

/**
 * @typedef {{ id: number, feedId: number, url: string | null, title: string | null, author: string | null,
 *   summary: string | null, content: string | null, excerpt?: string, publishedAt: string | null, sortAt: string,
 *   isRead: boolean, isStarred: boolean, categories: string[],
 *   enclosures: { url: string, type: string | null, length: number | null, durationSecs: number | null }[] }} Entry
 * @typedef {{ id: number, url: string, siteUrl: string | null, title: string | null, customTitle: string | null,
 *   folderId: number | null, lastFetchedAt: string | null, nextCheckAt: string, failureCount: number,
 *   lastError: string | null, isGone: boolean, unreadCount: number, pollInterval: number | null, pushEnabled: boolean,
 *   subscription: { state: string, hubUrl: string, expiresAt: string | null, lastPushAt: string | null,
 *   lastError: string | null } | null, iconId: number | null, offered?: { url: string, title: string | null }[] }} Feed
 * @typedef {{ id: number, name: string }} Folder
 * @typedef {{ total: number, starred: number, byFolder: Record<string, number>, byFeed: Record<string, number> }} Counts
 */

export class ApiProblem extends Error {
  /** @param {string} sentence @param {number} status @param {any} body */
  constructor(sentence, status, body) {
    super(sentence);
    this.status = status;
    this.body = body;
  }
}

/** The login, which says that it has ended, and back here from there. */
export function toLogin() {
  location.assign(`/login?ended=yes&next=${encodeURIComponent(location.pathname + location.search)}`);
}

/**
 * @param {string} method
 * @param {string} path
 * @param {any} [body] sent as JSON, unless it is a file
 * @returns {Promise<any>}
 */
export async function ask(method, path, body) {
  /** @type {RequestInit} */
  const options = { method, headers: { accept: "application/json" } };
  if (body instanceof Blob) {
    options.body = body;
    options.headers = { accept: "application/json", "content-type": "text/x-opml" };
  } else if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { accept: "application/json", "content-type": "application/json" };
    options.keepalive = options.body.length < 60_000;
  }
  const response = await fetch(path, options).catch(() => {
    throw new ApiProblem("The server cannot be reached.", 0, null);
  });
  if (response.status === 401) {
    toLogin();
    throw new ApiProblem("The login has ended.", 401, null);
  }
  const answer = response.status === 204 ? null : await response.json().catch(() => null);
  if (response.ok) return answer;
  throw new ApiProblem(sentence(answer?.error ?? `The server answered ${response.status}.`), response.status, answer);
}

/** @param {string} text */
function sentence(text) {
  // Programs are told which field is wrong; people see it.
  const rest = text.replace(/^`\w+`: /, "");
  const begun = rest.charAt(0).toUpperCase() + rest.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** Shows an error where the page is gone that it is about. @param {unknown} error */
export function words(error) {
  return error instanceof Error ? error.message : String(error);
}

/** The same page again, as the server has it now. @param {string} text */
export function again(text) {
  goAndSay(location.pathname + location.search, text);
}
