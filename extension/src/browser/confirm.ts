/*
 * Asks the person in a window of the extension's own, one window at a time, and takes only that window's answer.
 * Every other end of the question is a no: closed, timed out, cancelled, the tab gone or on another site, too many
 * questions at once, a window that the browser would not open. Whether to ask, and what an answer means, is decided in
 * gate/confirm.ts; when a press counts, in the window itself.
 */
import type { Caller } from '../contract/frames';
import { CONFIRM_CLICK_MS } from '../contract/limits';
import { type Answer, mayQueue } from '../gate/confirm';
import type { Intended } from '../gate/dispatch';
import { originShown } from '../gate/origin';
import { CONFIRM_PORT, type ConfirmHears, ConfirmSays, type Language, type Question, type Theme } from '../ui/messages';
import { uncover } from './uncover';

/** What the person is asked about. */
export interface Asking {
  op: string;
  caller: Caller;
  tab: { id: number; windowId: number };
  intended: Intended;
}

interface Open {
  id: string;
  asking: Asking;
  /** The origin of the acting tab; a frame's own may differ from it. */
  shows: string;
  until: number;
  /** The window and its tab, once the browser has made them. */
  made: Promise<{ window: number; tab: number } | null>;
  end(answer: Answer): void;
}

export interface Look {
  language: Language;
  theme: Theme;
}

let open: Open | null = null;
let waiting = 0;
let turn: Promise<unknown> = Promise.resolve();
let changed = () => {};

/** Questions that wait for the person, the open one included. */
export function confirming(): number {
  return waiting;
}

/** Must be called while the worker starts, so that no answer of a window is missed. */
export function watchConfirmations(look: () => Promise<Look>, onChange: () => void): void {
  changed = onChange;
  chrome.runtime.onConnect.addListener((port) => {
    if (port.name === CONFIRM_PORT) void converse(port, look);
  });
  chrome.windows.onRemoved.addListener((id) => void whenMade((made) => made.window === id, 'closed'));
  chrome.tabs.onRemoved.addListener((id) => {
    if (open?.asking.tab.id === id) open.end('void');
    void whenMade((made) => made.tab === id, 'closed');
  });
  chrome.tabs.onUpdated.addListener((id, { url }) => {
    if (open?.asking.tab.id === id && url !== undefined && originShown(url) !== open.shows) open.end('void');
  });
}

/** Brings the open question to the front. */
export async function showConfirmation(): Promise<void> {
  const made = await open?.made;
  if (made) await chrome.windows.update(made.window, { focused: true });
}

/** The person's answer. An aborted call ends its question; whoever aborted it no longer reads the answer. */
export async function askPerson(asking: Asking, signal: AbortSignal): Promise<Answer> {
  if (!mayQueue(waiting)) return 'denied';
  waiting += 1;
  changed();
  const mine = turn.then(() => (signal.aborted ? 'closed' : ask(asking, signal)));
  turn = mine.catch(() => undefined);
  try {
    return await mine;
  } finally {
    waiting -= 1;
    changed();
  }
}

async function ask(asking: Asking, signal: AbortSignal): Promise<Answer> {
  const tab = await chrome.tabs.get(asking.tab.id).catch(() => null);
  if (tab === null) return 'void';
  await uncover(tab);
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const id = crypto.randomUUID();
  const made = makeWindow(id);
  const shows = originShown(tab.url ?? '');
  open = { id, asking, shows, until: Date.now() + CONFIRM_CLICK_MS, made, end: resolve };
  const timer = setTimeout(() => resolve('timeout'), CONFIRM_CLICK_MS);
  const stop = () => resolve('closed');
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  void made.then((window) => window ?? resolve('closed'));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    open = null;
    const window = await made;
    if (window) await chrome.windows.remove(window.window).catch(() => undefined);
  }
}

async function makeWindow(id: string): Promise<{ window: number; tab: number } | null> {
  const url = chrome.runtime.getURL(`/confirm.html?id=${id}`);
  // Maximised, so that it covers the whole work area and no page window peeks out beside it.
  const window = await chrome.windows
    .create({ url, type: 'popup', focused: true, state: 'maximized' })
    .catch(() => null);
  const tab = window?.tabs?.[0]?.id;
  // Some window managers ignore the state of a new window and honour it for one that stands.
  if (window?.id !== undefined) await chrome.windows.update(window.id, { state: 'maximized' }).catch(() => undefined);
  return window?.id === undefined || tab === undefined ? null : { window: window.id, tab };
}

async function whenMade(is: (made: { window: number; tab: number }) => boolean, answer: Answer): Promise<void> {
  const asked = open;
  const made = await asked?.made;
  if (made && is(made)) asked?.end(answer);
}

/** Speaks with the one page that belongs to the open question; every other port is closed unheard. */
async function converse(port: chrome.runtime.Port, look: () => Promise<Look>): Promise<void> {
  const asked = open;
  const heard: unknown[] = [];
  let hear = (message: unknown): void => {
    heard.push(message);
  };
  port.onMessage.addListener((message: unknown) => hear(message));
  const made = await asked?.made;
  if (!asked || !made || !isOurs(port.sender, made.tab)) {
    tell(port, { hear: 'over' });
    port.disconnect();
    return;
  }
  port.onDisconnect.addListener(() => asked.end('closed'));
  hear = (message) => {
    const says = ConfirmSays.safeParse(message);
    if (!says.success || says.data.id !== asked.id || open !== asked) return tell(port, { hear: 'over' });
    if (says.data.say === 'ready') void present(port, asked, look);
    else asked.end(says.data.say);
  };
  for (const message of heard.splice(0)) hear(message);
}

function isOurs(sender: chrome.runtime.MessageSender | undefined, tab: number): boolean {
  const page = chrome.runtime.getURL('/confirm.html');
  const [address] = (sender?.url ?? '').split('?');
  return sender?.id === chrome.runtime.id && address === page && sender.tab?.id === tab && sender.frameId === 0;
}

async function present(port: chrome.runtime.Port, asked: Open, look: () => Promise<Look>): Promise<void> {
  const { language, theme } = await look();
  const leftMs = asked.until - Date.now();
  if (leftMs > 0) tell(port, { hear: 'question', question: questionOf(asked.asking, leftMs), language, theme });
}

function questionOf({ op, caller, intended }: Asking, leftMs: number): Question {
  const { kind, origin, role, name, destination, twofold } = intended;
  return {
    op,
    kind,
    sends: twofold === true,
    origin,
    client: { name: caller.name.slice(0, 2_048), image: caller.image.slice(0, 2_048), verified: caller.verified },
    element: role === undefined ? null : { role: role.slice(0, 128), name: (name ?? '').slice(0, 10_000) },
    destination: destination?.slice(0, 8_192) ?? null,
    leftMs,
  };
}

function tell(port: chrome.runtime.Port, message: ConfirmHears): void {
  try {
    port.postMessage(message);
  } catch {
    // The window went away in the meantime; its disconnect is the answer.
  }
}
