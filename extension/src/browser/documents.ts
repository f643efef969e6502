/* The documents of a tab, and talking to the one script of ours in each. Decides which documents may be spoken to: those
   whose origin, as the browser itself reports it for the sender of a message, is approved and equals the origin of their
   address. Documents without an address of their own (about:, srcdoc, data:, sandboxed) never are. Whatever a document
   answers is checked against the page protocol. Knows nothing about what an operation means. */
import { approves, type Entry } from '../gate/allowlist';
import { type Call, notAllowed } from '../gate/dispatch';
import { classify } from '../gate/origin';
import { Refused } from '../gate/refused';
import { type ArgsOf, type Op, type ResultOf, readReply } from '../page/protocol';
import { pause, within } from './time';

export type Doc = { tab: number; frame: number; id: string; origin: string; url: string };

/** A frame that is left out, and why. Only the browser's view of its origin is given. */
export type Barred = { frame: number; origin: string; reason: 'not approved' | 'no address of its own' };

export type Documents = { open: Doc[]; barred: Barred[] };

/** A document went away, or never was there, before it could answer. `sent`: it may have acted already. */
export class Gone extends Error {
  constructor(readonly sent: boolean) {
    super('the document is gone');
  }
}

/** The browser shows its own error page in the tab. */
export class ErrorPage extends Refused {
  constructor() {
    super(
      'EXECUTION_FAILED',
      'The browser could not load this page and shows its own error page instead. Check the address, or try again later.',
    );
  }
}

const KNOCK = 'genkan-knock';
const NOT_HERE = 'It could not be done in the page, for this reason:';
/** Facts about senders, kept for the moment between a knock and its result. */
const senders = new Map<string, Doc>();
/** Documents whose script answered before, so that it need not be injected again. */
const injected = new Set<string>();
const INJECTED_MAX = 1_024;
/** Milliseconds granted to a document that still loads before it is looked at as it is. */
const IDLE_MS = 3_000;
/** Times a reading is begun anew, and milliseconds before the first of them; each waits twice as long. */
const TURNS_MAX = 5;
const TURN_MS = 25;
const UNSTEADY = 'The page keeps changing under genkan. Wait for it with page_wait_for, then try again.';

/** The document that a tab shows, while it shows it. */
const tops = new Map<number, Doc>();

/** Must be called while the worker starts. A knock carries nothing; only who sent it counts. */
export function hearKnocks(): void {
  chrome.runtime.onMessage.addListener((message: unknown, sender, answer) => {
    if (message !== KNOCK || sender.id !== chrome.runtime.id) return false;
    const { tab, frameId, documentId, origin, url } = sender;
    if (tab?.id === undefined || frameId === undefined || documentId === undefined) return false;
    const doc = { tab: tab.id, frame: frameId, id: documentId, origin: origin ?? '', url: url ?? '' };
    senders.set(documentId, doc);
    answer(true);
    return false;
  });
  chrome.tabs.onUpdated.addListener((id, { status }) => {
    if (status === 'loading') tops.delete(id);
  });
  chrome.tabs.onRemoved.addListener((id) => tops.delete(id));
}

/** Waits until the tab's document (and with `all`, those of its frames) can be read, and tells which may be. */
export async function documents(tab: number, which: 'top' | 'all', entries: readonly Entry[]): Promise<Documents> {
  const known = which === 'top' ? tops.get(tab) : undefined;
  const here = known === undefined ? await knockAt(tab, which) : [known];
  const [top] = here;
  if (top?.frame !== 0) throw new Gone(false);
  tops.set(tab, top);
  const barred = here.flatMap((doc) => {
    const reason = barredBecause(doc, entries);
    return reason === undefined ? [] : [{ frame: doc.frame, origin: shownOrigin(doc), reason }];
  });
  return { open: here.filter((doc) => barredBecause(doc, entries) === undefined), barred };
}

/** Works with a tab's documents, and once more where one went away before it could answer. Not for acts. */
export async function steady<T>(
  tab: number,
  which: 'top' | 'all',
  entries: readonly Entry[],
  signal: AbortSignal,
  use: (documents: Documents, turn: number) => Promise<T>,
): Promise<T> {
  for (let turn = 0; ; turn += 1) {
    try {
      const found = await documents(tab, which, entries);
      const shut = found.barred.find(({ frame }) => frame === 0);
      if (shut !== undefined) throw notAllowed(shut.origin);
      return await use(found, turn);
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      tops.delete(tab);
      if (turn === TURNS_MAX) throw new Refused('EXECUTION_FAILED', UNSTEADY);
      await pause(TURN_MS << turn, signal);
    }
  }
}

/** Waits for documents that still load, but not forever: some never end, and a slow frame must not hide the page. */
async function knockAt(tab: number, which: 'top' | 'all'): Promise<Doc[]> {
  const results = (await within(IDLE_MS, knockOnce(tab, which, false))) ?? (await knockOnce(tab, which, true));
  const here = results.flatMap(({ documentId }) => {
    const doc = senders.get(documentId);
    senders.delete(documentId);
    return doc ?? [];
  });
  return here.toSorted((a, b) => a.frame - b.frame);
}

/** Reaches the frames that the browser lets us into: those whose site the person granted, approved or not. It leaves
    nothing behind there; our script goes into approved documents only. */
async function knockOnce(tab: number, which: 'top' | 'all', injectImmediately: boolean) {
  const target = which === 'all' ? { tabId: tab, allFrames: true } : { tabId: tab, frameIds: [0] };
  return await chrome.scripting
    .executeScript({ target, func: knock, args: [KNOCK], injectImmediately })
    .catch((error: unknown) => Promise.reject(reasonOf(error)));
}

/** The document that holds a target. */
export function holder({ open, barred }: Documents, frame: number): Doc {
  const doc = open.find((each) => each.frame === frame);
  if (doc !== undefined) return doc;
  const shut = barred.find((each) => each.frame === frame);
  if (shut !== undefined) throw new Refused('SITE_NOT_ALLOWED', `This frame shows ${shut.origin}: ${shut.reason}.`);
  throw new Refused('EXECUTION_FAILED', 'The frame of this ref is gone. Take a new snapshot and use a ref from there.');
}

/** Has a document act, once, and only while the call and the host's word still stand when the document gets to it. A document
    that was busy meanwhile has not acted and says so; it is asked again, for as long as the call lasts. */
export async function have<O extends 'click' | 'fill' | 'scroll'>(
  doc: Doc,
  op: O,
  args: ArgsOf<O>,
  key: string,
  { signal, fresh }: Pick<Call<'page_click'>, 'signal' | 'fresh'>,
): Promise<ResultOf<O>> {
  for (;;) {
    try {
      return await ask(doc, op, args, key, signal, fresh);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Refused && error.code === 'CANCELLED')) throw error;
    }
  }
}

/** Asks a document's script for one operation. `key` names the call, so that no document acts on it twice. `fresh`: until when
    an act may begin. */
export async function ask<O extends Op>(
  doc: Doc,
  op: O,
  args: ArgsOf<O>,
  key: string,
  signal: AbortSignal,
  fresh?: Call<'page_click'>['fresh'],
): Promise<ResultOf<O>> {
  signal.throwIfAborted();
  if (!injected.has(doc.id)) await inject(doc);
  const begin = fresh === undefined ? {} : { until: await fresh() };
  signal.throwIfAborted();
  const call = `${key}.${op}`;
  const stop = () =>
    void send(doc, { genkan: 1, call: `${call}.abort`, op: 'abort', args: { of: call } }).catch(() => undefined);
  signal.addEventListener('abort', stop, { once: true });
  try {
    const reply = readReply(op, await send(doc, { genkan: 1, call, op, args, ...begin }));
    if (reply === undefined)
      throw new Refused('EXECUTION_FAILED', 'The page answered in a way genkan does not accept.');
    // Our script's own words, but with names from the page in them; and a renderer that was taken over could put any there.
    if (!reply.ok) throw new Refused(reply.error.code, NOT_HERE, { origin: doc.origin, text: reply.error.message });
    return reply.data;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function barredBecause(doc: Doc, entries: readonly Entry[]): Barred['reason'] | undefined {
  const site = classify(doc.url);
  if (site.kind !== 'web' || site.origin !== doc.origin) return 'no address of its own';
  return approves(entries, doc.origin) ? undefined : 'not approved';
}

function shownOrigin(doc: Doc): string {
  const site = classify(doc.url);
  return site.kind === 'web' ? site.origin : 'about:';
}

async function inject(doc: Doc): Promise<void> {
  const target = { tabId: doc.tab, documentIds: [doc.id] };
  await chrome.scripting
    .executeScript({ target, files: ['content.js'], injectImmediately: true })
    .catch((error: unknown) => Promise.reject(reasonOf(error)));
  if (injected.size >= INJECTED_MAX) injected.clear();
  injected.add(doc.id);
}

async function send(doc: Doc, message: object): Promise<unknown> {
  try {
    return await chrome.tabs.sendMessage<object, unknown>(doc.tab, message, { documentId: doc.id });
  } catch (error) {
    injected.delete(doc.id);
    // "Receiving end does not exist" comes before delivery; a closed channel comes after it.
    throw new Gone(!(error instanceof Error && error.message.includes('Receiving end')));
  }
}

/** Chromium's errors are sentences. What is not known here counts as a document that went away, and may be tried again. */
function reasonOf(error: unknown): Error {
  const sentence = error instanceof Error ? error.message : '';
  if (sentence.includes('error page')) return new ErrorPage();
  if (sentence.includes('Cannot access') || sentence.includes('must request permission')) {
    return new Refused('HOST_PERMISSION_MISSING');
  }
  if (sentence.startsWith('No tab with id')) return new Refused('TAB_NOT_FOUND');
  return new Gone(false);
}

/** Runs in the page's isolated world. Carries no fact: the browser states who the sender is. */
function knock(word: string): Promise<unknown> {
  return chrome.runtime.sendMessage(word);
}
