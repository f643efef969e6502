/* The browser's tabs. Decides which tab a call means, and what a list may say: an approved tab shows title and address, any
   other its bare origin. Refuses ids the browser does not know. Knows nothing about what a page holds. */
import type { Caller } from '../contract/frames';
import { approvesSite, type Entry } from '../gate/allowlist';
import type { Tab } from '../gate/dispatch';
import { Masks } from '../gate/mask';
import { classify, originShown } from '../gate/origin';
import { Refused } from '../gate/refused';
import { holding } from './clients';
import { pause } from './time';

/** Milliseconds granted to a tab's first page, and between two looks at it. */
const FIRST_PAGE_MS = 10_000;
const LOOK_MS = 25;

type Asking = { caller: Caller; signal: AbortSignal };

/** The named tab; else the client's current one; else the one in front of the person. A tab still without a page gets one. */
export async function resolve({ caller, signal }: Asking, id: number | undefined): Promise<Tab> {
  return await withPage(await pick(caller, id), signal);
}

async function pick(caller: Caller, id: number | undefined): Promise<Tab> {
  if (id !== undefined) return await look(id);
  const { current } = await holding(caller);
  const kept = current === null ? undefined : await find(current);
  const tab = kept ?? (await inFront());
  if (tab === undefined) throw new Refused('TAB_NOT_FOUND', 'No tab is open. Open one with tab_open.');
  return tab;
}

/** A tab that was just made has no address until its first page is committed. */
async function withPage(tab: Tab, signal: AbortSignal): Promise<Tab> {
  let now = tab;
  for (let waited = 0; now.url === '' && waited < FIRST_PAGE_MS; waited += LOOK_MS) {
    await pause(LOOK_MS, signal);
    now = { ...now, ...(await look(tab.id)) };
  }
  return now;
}

export async function look(id: number): Promise<Tab> {
  const tab = await find(id);
  if (tab === undefined) {
    throw new Refused('TAB_NOT_FOUND', `There is no tab ${id}. List the tabs again and use an id from there.`);
  }
  return tab;
}

export async function find(id: number): Promise<Tab | undefined> {
  const tab = await chrome.tabs.get(id).catch(() => undefined);
  return tab === undefined ? undefined : seen(tab);
}

/** All tabs but our own pages: a client has no business with those, not even to know that they are open. */
export async function all(): Promise<Tab[]> {
  const own = `chrome-extension://${chrome.runtime.id}/`;
  return (await chrome.tabs.query({})).flatMap((tab) => seen(tab) ?? []).filter((tab) => !tab.url.startsWith(own));
}

async function inFront(): Promise<Tab | undefined> {
  const [tab] = await chrome.tabs.query({ active: true, lastFocusedWindow: true, windowType: 'normal' });
  const any = tab ?? (await chrome.tabs.query({ active: true, windowType: 'normal' }))[0];
  const front = any === undefined ? undefined : seen(any);
  return front === undefined ? undefined : { ...front, assumed: true };
}

function seen(tab: chrome.tabs.Tab): Tab | undefined {
  if (tab.id === undefined) return undefined;
  return { id: tab.id, windowId: tab.windowId, url: tab.url ?? '', title: tab.title ?? '', active: tab.active };
}

/** Characters of one tab's address and title in a list: a page must not crowd out the others. */
const URL_CHARS = 2_000;
const TITLE_CHARS = 300;

/** Masked before it is cut, so that no cut leaves half a secret. */
function short(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${new Masks().text(text).slice(0, max).toWellFormed()}…`;
}

/** What a client may know of a tab. */
export type TabShown =
  | { id: number; origin: string; active: boolean }
  | { id: number; origin: string; active: boolean; url: string; title: string; current: boolean };

export function shown(tab: Tab, entries: readonly Entry[], current: number | null): TabShown {
  const site = classify(tab.url);
  const bare = { id: tab.id, origin: site.kind === 'web' ? site.origin : originShown(tab.url), active: tab.active };
  if (site.kind !== 'web' || !approvesSite(entries, site)) return bare;
  return { ...bare, url: short(tab.url, URL_CHARS), title: short(tab.title, TITLE_CHARS), current: tab.id === current };
}

/** Whether a client's search words are in what it may know: as it is told, or it could ask for what is masked bit by bit. */
export function matches(tab: TabShown, query: string | undefined): boolean {
  if (query === undefined) return true;
  const hay = 'url' in tab ? `${tab.title}\n${tab.url}` : tab.origin;
  return new Masks().text(hay).toLowerCase().includes(query.toLowerCase());
}
