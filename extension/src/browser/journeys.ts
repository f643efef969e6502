/* tab_open, page_navigate, page_back, page_forward and page_reload. Decides how each sets out, and that where it ended is
   judged again before anything is told: a redirect or a step back to a site that is not approved is refused. */
import { ACT_MS } from '../contract/limits';
import type { Op } from '../contract/ops';
import { approves, type Entry } from '../gate/allowlist';
import type { Call, Tab } from '../gate/dispatch';
import { notAllowed, unsupported } from '../gate/dispatch';
import type { PageResult } from '../gate/egress';
import { classify } from '../gate/origin';
import { Refused } from '../gate/refused';
import { group, groupOf, noteOpened } from './clients';
import { cameByPost, notePost } from './posted';
import { type Landing, travel } from './travel';
import { own, shows } from './words';

export async function open(call: Call<'tab_open'>, entries: readonly Entry[]): Promise<PageResult> {
  const { url, background = true } = call.args;
  const landing = await travel(() => openTab(call, url, !background), entries, ACT_MS, call.signal);
  return told(landing, entries, ACT_MS);
}

export async function navigate(call: Call<'page_navigate'>, tab: Tab, entries: readonly Entry[]): Promise<PageResult> {
  const { url, timeoutMs = ACT_MS } = call.args;
  const start = async () => {
    await call.fresh();
    await chrome.tabs.update(tab.id, { url });
    return tab.id;
  };
  return told(await travel(start, entries, timeoutMs, call.signal), entries, timeoutMs);
}

export async function step(
  call: Call<'page_back' | 'page_forward'>,
  tab: Tab,
  entries: readonly Entry[],
): Promise<PageResult> {
  const by = call.op === 'page_back' ? -1 : 1;
  const landing = await travel(() => stepBy(call, tab, by, entries), entries, ACT_MS, call.signal);
  if (landing.arrival === 'stayed') throw noStep(by);
  return told(landing, entries, ACT_MS);
}

export async function reload(call: Call<'page_reload'>, tab: Tab, entries: readonly Entry[]): Promise<PageResult> {
  const { bypassCache = false } = call.args;
  const start = async () => {
    await call.fresh();
    await chrome.tabs.reload(tab.id, { bypassCache });
    return tab.id;
  };
  const again = cameByPost(tab.id);
  const landing = await travel(start, entries, ACT_MS, call.signal);
  if (landing.arrival === 'stayed') throw notReloaded();
  if (again) notePost(tab.id);
  return told(landing, entries, ACT_MS);
}

async function openTab(call: Call<'tab_open'>, url: string, active: boolean): Promise<number> {
  const window = await windowFor(call);
  await call.fresh();
  const made =
    window === undefined
      ? (await chrome.windows.create({ url, focused: active }))?.tabs?.[0]
      : await chrome.tabs.create({ url, active, windowId: window });
  if (made?.id === undefined) throw new Refused('EXECUTION_FAILED', 'The browser opened no tab.');
  await noteOpened(call.caller, made.id);
  await group(call.caller, made.id);
  return made.id;
}

/** The window of the client's group, else the one the person used last; a browser without windows gets one. */
async function windowFor({ caller }: Call<'tab_open'>): Promise<number | undefined> {
  const held = await groupOf(caller);
  if (held !== undefined) return held.windowId;
  const windows = await chrome.windows.getAll({ windowTypes: ['normal'] });
  return (windows.find(({ focused }) => focused) ?? windows[0])?.id;
}

/** By the page's own history where it may be touched: the browser's button skips pages that nobody clicked in. */
async function stepBy(call: Call<Op>, tab: Tab, by: -1 | 1, entries: readonly Entry[]): Promise<number> {
  if (approves(entries, tab.url)) {
    const [stepped] = await chrome.scripting
      .executeScript({ target: { tabId: tab.id }, func: stepInTime, args: [by, await call.fresh()] })
      .catch(() => []);
    if (stepped?.result === true) return tab.id;
    if (stepped?.result === false) throw tooBusy();
  }
  await call.fresh();
  const go = by === -1 ? chrome.tabs.goBack(tab.id) : chrome.tabs.goForward(tab.id);
  await go.catch(() => Promise.reject(approves(entries, tab.url) ? noStep(by) : notFromHere()));
  return tab.id;
}

/** Runs in the page, which may have been busy. */
function stepInTime(by: number, until: number): boolean {
  const inTime = Date.now() <= until;
  if (inTime) history.go(by);
  return inTime;
}

function told({ tab, arrival }: Landing, entries: readonly Entry[], timeoutMs: number): PageResult {
  if (arrival === 'failed') throw errorPage(tab);
  if (arrival === 'late') throw late(tab, timeoutMs);
  if (arrival === 'stayed') throw noPage(tab);
  const site = classify(tab.url);
  if (site.kind !== 'web') throw unsupported(site.reason);
  if (!approves(entries, tab.url)) throw notAllowed(site.origin);
  return { blocks: [...shows(tab, entries), own(arrival === 'loading' && 'The page is still loading.')] };
}

function errorPage(tab: Tab): Refused {
  return new Refused(
    'EXECUTION_FAILED',
    `The browser could not load the page and shows its own error page in tab ${tab.id}. Check the address, or try again later.`,
  );
}

function late(tab: Tab, timeoutMs: number): Refused {
  return new Refused(
    'EXECUTION_FAILED',
    `No page came within ${timeoutMs} ms in tab ${tab.id}. The site may be slow, or the page may be asking the person whether to leave it.`,
  );
}

function noPage(tab: Tab): Refused {
  return new Refused(
    'EXECUTION_FAILED',
    `The address gave no page, and tab ${tab.id} shows what it showed before: it was a download or an empty answer, or the person stayed on the page.`,
  );
}

function noStep(by: -1 | 1): Refused {
  return new Refused('EXECUTION_FAILED', `The tab has no page to go ${by === -1 ? 'back' : 'forward'} to.`);
}

function tooBusy(): Refused {
  return new Refused('EXECUTION_FAILED', 'The page was busy for too long, so nothing was done. Try again.');
}

function notFromHere(): Refused {
  return new Refused(
    'EXECUTION_FAILED',
    'The tab shows a site that is not approved, and the browser goes no step from there unless the person clicked in it. Use page_navigate or tab_open.',
  );
}

function notReloaded(): Refused {
  return new Refused(
    'EXECUTION_FAILED',
    'The page did not load again. It came from a submitted form, and the browser asks the person whether to send it once more.',
  );
}
