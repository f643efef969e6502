/* What each client holds in this browser: its current tab, the tabs it opened, its tab group. Decides which tab a call
   without `tabId` means, and which tabs a client may close unasked: those it opened and the person never brought to the
   front. Kept for the browser session, so that a restarted worker knows it too. Knows nothing about sites. */
import { z } from 'zod';
import type { Caller } from '../contract/frames';
import { Stored, shaped } from './storage';

const Holding = z.strictObject({
  name: z.string(),
  current: z.int().nullable(),
  opened: z.array(z.int()),
  group: z.int().nullable(),
});
const Holdings = z.record(z.string(), Holding);
/** Tabs that were in front at least once since a client opened them. */
const Touched = z.array(z.int());

export type Holding = z.infer<typeof Holding>;

const holdings = new Stored(shaped('session', 'clients', Holdings, {}));
const touched = new Stored(shaped('session', 'touched', Touched, []));

const HELD = { text: '●', color: '#f6c560' };
const STOPPED = { text: '■', color: '#a3262a' };
/** Whether everything is stopped: then every badge says so. */
let stopped = false;

let grouping: Promise<void> = Promise.resolve();

const NOTHING: Holding = { name: '', current: null, opened: [], group: null };

export async function holding(caller: Caller): Promise<Holding> {
  return (await holdings.read())[caller.key] ?? NOTHING;
}

/** Everything that clients hold, for the popup. */
export async function allHoldings(): Promise<ReadonlyMap<string, Holding>> {
  return new Map(Object.entries(await holdings.read()));
}

export async function makeCurrent(caller: Caller, tabId: number): Promise<void> {
  const { current: before } = await holding(caller);
  if (before === tabId) return;
  await amend(caller, (now) => ({ ...now, current: tabId }));
  await mark(tabId);
  if (before !== null && !(await isHeld(before))) await unmark(before);
}

export async function noteOpened(caller: Caller, tabId: number): Promise<void> {
  await amend(caller, (now) => ({ ...now, current: tabId, opened: [...now.opened, tabId] }));
  // A tab that opens in front is activated before it is noted here as opened.
  const tab = await chrome.tabs.get(tabId).catch(() => undefined);
  if (tab?.active === true) await touch(tabId);
  await mark(tabId);
}

export async function opened(caller: Caller, tabId: number): Promise<boolean> {
  return (await holding(caller)).opened.includes(tabId);
}

/** Whether the client opened the tab and it never was in front of the person. */
export async function untouched(caller: Caller, tabId: number): Promise<boolean> {
  return (await opened(caller, tabId)) && !(await touched.read()).includes(tabId);
}

/** Puts a tab the client opened into the client's group, made anew where the person dissolved it. One after another, so
    that two tabs opened at once do not make two groups. A tab that cannot be grouped stays where it is. */
export function group(caller: Caller, tabId: number): Promise<void> {
  grouping = grouping.then(() => join(caller, tabId)).catch(() => undefined);
  return grouping;
}

async function join(caller: Caller, tabId: number): Promise<void> {
  const known = await groupOf(caller);
  const groupId = await chrome.tabs.group({ tabIds: tabId, ...(known === undefined ? {} : { groupId: known.id }) });
  if (known !== undefined) return;
  await chrome.tabGroups.update(groupId, { title: groupTitle(caller), color: 'orange' });
  await amend(caller, (now) => ({ ...now, group: groupId }));
}

export async function groupOf(caller: Caller): Promise<chrome.tabGroups.TabGroup | undefined> {
  const { group: known } = await holding(caller);
  return known === null ? undefined : await chrome.tabGroups.get(known).catch(() => undefined);
}

/** The client names itself; a group title is short and has no line breaks or marks that reorder text. */
export function groupTitle(caller: Caller): string {
  const plain = caller.name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim();
  return [...(plain === '' ? 'genkan' : plain)].slice(0, 24).join('');
}

export function watchTabs(): void {
  chrome.tabs.onActivated.addListener(({ tabId }) => void touch(tabId));
  // The browser takes a tab's badge away with the page it was set for.
  chrome.tabs.onUpdated.addListener((tabId, { status }) => {
    if (status === 'loading') void isHeld(tabId).then((held) => (held ? mark(tabId) : undefined));
  });
  chrome.tabs.onRemoved.addListener((tabId) => void forget(tabId));
  chrome.tabs.onReplaced.addListener((_, removed) => void forget(removed));
}

async function touch(tabId: number): Promise<void> {
  const ours = [...(await allHoldings()).values()].some(({ opened }) => opened.includes(tabId));
  if (ours) await touched.change((now) => (now.includes(tabId) ? now : [...now, tabId]));
}

async function forget(tabId: number): Promise<void> {
  await touched.change((now) => (now.includes(tabId) ? now.filter((id) => id !== tabId) : now));
  await holdings.change((now) =>
    Object.fromEntries(Object.entries(now).flatMap(([key, held]) => without(key, held, tabId))),
  );
}

/** A client that holds no tab any more is forgotten, so that the record cannot grow. */
function without(key: string, held: Holding, tabId: number): [string, Holding][] {
  const openedNow = held.opened.filter((id) => id !== tabId);
  const current = held.current === tabId ? null : held.current;
  return openedNow.length === 0 && current === null ? [] : [[key, { ...held, opened: openedNow, current }]];
}

async function amend(caller: Caller, edit: (now: Holding) => Holding): Promise<void> {
  await holdings.change((now) => ({
    ...now,
    [caller.key]: edit({ ...(now[caller.key] ?? NOTHING), name: caller.name }),
  }));
}

/** Whether any client opened the tab or has it as its current one. */
async function isHeld(tabId: number): Promise<boolean> {
  const all = Object.values(await holdings.read());
  return all.some(({ current, opened }) => current === tabId || opened.includes(tabId));
}

/** Shows on the toolbar whether everything is stopped; a tab's own badge would hide the one for all tabs. */
export async function showStopped(now: boolean): Promise<void> {
  if (stopped === now) return;
  stopped = now;
  await chrome.action.setBadgeBackgroundColor({ color: STOPPED.color }).catch(() => undefined);
  await chrome.action.setBadgeText({ text: now ? STOPPED.text : '' }).catch(() => undefined);
  const held = Object.values(await holdings.read()).flatMap(({ current, opened }) => [current, ...opened]);
  await Promise.all(held.map((tabId) => (tabId === null ? undefined : mark(tabId))));
}

async function mark(tabId: number): Promise<void> {
  const { text, color } = stopped ? STOPPED : HELD;
  await chrome.action.setBadgeBackgroundColor({ tabId, color }).catch(() => undefined);
  await chrome.action.setBadgeText({ tabId, text }).catch(() => undefined);
}

async function unmark(tabId: number): Promise<void> {
  await chrome.action.setBadgeText({ tabId, text: '' }).catch(() => undefined);
}
