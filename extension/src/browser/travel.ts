/* Loading a page and waiting for it. Decides when a page counts as there: its document was committed and can be read, and a
   moment passed for what it builds itself; never longer than asked. Says plainly when no page came. It does not judge where
   the journey ended: whoever started it does, before anything is returned. */
import { approves, type Entry } from '../gate/allowlist';
import type { Tab } from '../gate/dispatch';
import { Refused } from '../gate/refused';
import { documents, ErrorPage, Gone } from './documents';
import { look } from './tabs';
import { pause, within } from './time';

export type Landing = {
  tab: Tab;
  /** `stayed`: no page came (a download, an empty answer, a page that was not left). `late`: none came in time. `failed`:
      the browser shows its own error page. */
  arrival: 'loaded' | 'loading' | 'stayed' | 'late' | 'failed';
};

type Read = 'loaded' | 'loading' | 'failed';

/** Milliseconds between two looks at a tab that announces nothing. */
const LOOK_MS = 40;
/** Milliseconds a tab must be idle before it counts as going nowhere. */
const IDLE_MS = 240;
/** Milliseconds granted to a page that can be read but still loads. */
const SETTLE_MS = 250;

/** Starts a journey and follows it. `start` gives the tab that travels. */
export async function travel(
  start: () => Promise<number>,
  entries: readonly Entry[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Landing> {
  const commits = new Commits();
  try {
    return await follow(await start(), commits, entries, timeoutMs, signal);
  } finally {
    commits.stop();
  }
}

/** Follows a journey that `commits` saw begin. */
export async function follow(
  id: number,
  commits: Commits,
  entries: readonly Entry[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Landing> {
  const until = performance.now() + timeoutMs;
  const arrival = await departure(id, commits, until, signal);
  if (arrival !== 'committed') return { tab: await look(id), arrival };
  const read = await readable(id, entries, until, signal);
  if (read !== 'loaded') return { tab: await look(id), arrival: read };
  const whole = await complete(id, Math.min(until, performance.now() + SETTLE_MS), signal);
  return { tab: await look(id), arrival: whole ? 'loaded' : 'loading' };
}

/** Chromium reports `loading` for a tab exactly when a document is committed in it. */
export class Commits {
  readonly #seen = new Set<number>();
  #wake = Promise.withResolvers<void>();
  readonly #take = (id: number, change: { status?: string }) => {
    if (change.status !== 'loading') return;
    this.#seen.add(id);
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  };

  constructor() {
    chrome.tabs.onUpdated.addListener(this.#take);
  }

  has(id: number): boolean {
    return this.#seen.has(id);
  }

  next(): Promise<void> {
    return this.#wake.promise;
  }

  stop(): void {
    chrome.tabs.onUpdated.removeListener(this.#take);
  }
}

async function departure(
  id: number,
  commits: Commits,
  until: number,
  signal: AbortSignal,
): Promise<'committed' | 'stayed' | 'late'> {
  let idleSince: number | undefined;
  while (performance.now() < until) {
    if (commits.has(id)) return 'committed';
    const { status, pendingUrl } = await chrome.tabs.get(id).catch(() => Promise.reject(new Refused('TAB_NOT_FOUND')));
    const now = performance.now();
    idleSince = status === 'complete' && !pendingUrl ? (idleSince ?? now) : undefined;
    if (idleSince !== undefined && now - idleSince >= IDLE_MS) return 'stayed';
    await Promise.race([commits.next(), pause(LOOK_MS, signal)]);
  }
  return 'late';
}

/** Only an approved page is looked into; another one is for the caller to refuse, and needs no wait. */
async function readable(id: number, entries: readonly Entry[], until: number, signal: AbortSignal): Promise<Read> {
  while (performance.now() < until) {
    if (!approves(entries, (await look(id)).url)) return 'loaded';
    const found = await within(until - performance.now(), documents(id, 'top', entries)).catch(unreadable);
    if (found === 'unpermitted') return (await complete(id, until, signal)) ? 'loaded' : 'loading';
    if (found === 'failed') return found;
    if (found !== 'gone') return found === undefined ? 'loading' : 'loaded';
    await pause(LOOK_MS, signal);
  }
  return 'loading';
}

function unreadable(error: unknown): 'failed' | 'unpermitted' | 'gone' {
  if (error instanceof ErrorPage) return 'failed';
  if (error instanceof Refused && error.code === 'HOST_PERMISSION_MISSING') return 'unpermitted';
  if (error instanceof Gone) return 'gone';
  throw error;
}

async function complete(id: number, until: number, signal: AbortSignal): Promise<boolean> {
  while (performance.now() < until) {
    if ((await chrome.tabs.get(id)).status === 'complete') return true;
    await pause(LOOK_MS, signal);
  }
  return false;
}
