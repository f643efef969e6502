/* What the popup and the options page may ask of the worker. Decides who is believed: a document of this extension's own, by
   the sender that the browser states, and for everything that changes something only popup and options. Whatever is in a
   message about its sender is ignored; a message of any other shape or sender gets no answer. */
import type { ZodType, z } from 'zod';
import type { Scope } from '../gate/allowlist';
import { Refused } from '../gate/refused';
import { Ask, type Done, type Events, type Paired, type Tell } from '../ui/messages';
import { showConfirmation } from './confirm';
import { setSettings } from './settings';
import { deny, forgetWishes, giveBackAllSites, intend, remove } from './sites';
import { unwant } from './wanted';

const ALL_SITES = '<all_urls>';
/** Milliseconds in which changes are gathered. */
const TELL_MS = 150;
let telling = false;
const DECIDING_PAGES = ['/popup.html', '/options.html'];

type Outside = {
  /** Everything there is to show, for a tab where one is named. */
  state(tab: number | undefined): Promise<object>;
  /** Engages the kill switch; fails with what could not be done, and holds in any case. */
  engage(): Promise<void>;
  paired(): Promise<Paired>;
  events(): Promise<Events>;
  changed(): void;
};

/** Must be called while the worker starts. */
export function answerPages(outside: Outside): void {
  chrome.runtime.onMessage.addListener((message: unknown, sender, reply: (answer: unknown) => void) => {
    const ask = isOwnPage(sender) ? parsed(Ask, message) : undefined;
    if (ask === undefined) return false;
    void answer(ask, outside).then(reply, () => reply({ ok: false, message: 'genkan failed inside.' } satisfies Done));
    return true;
  });
}

/** Whether the browser says that a whole page of ours, which the web cannot frame, sent it. */
export function isOwnPage(sender: chrome.runtime.MessageSender): boolean {
  const own = chrome.runtime.getURL('');
  const url = URL.parse(sender.url ?? '');
  if (url === null || sender.id !== chrome.runtime.id || `${sender.origin}/` !== own) return false;
  if (`${url.protocol}//${url.host}/` !== own) return false;
  return (sender.frameId ?? 0) === 0 && DECIDING_PAGES.includes(url.pathname);
}

/** Tells open pages that something changed, once for everything that changes within a moment. None may be open. */
export function tellPages(): void {
  if (telling) return;
  telling = true;
  setTimeout(() => {
    telling = false;
    const tell: z.input<typeof Tell> = { tell: 'changed' };
    void chrome.runtime.sendMessage(tell).catch(() => undefined);
  }, TELL_MS);
}

async function answer(ask: Ask, outside: Outside): Promise<object> {
  if (ask.ask === 'state') return await outside.state(ask.tab);
  if (ask.ask === 'paired') return await outside.paired();
  if (ask.ask === 'events') return await outside.events();
  const done = ask.ask === 'kill_engage' ? await engage(outside) : await act(ask);
  outside.changed();
  return done;
}

/** What the person is told when the host could not be: it holds here all the same. */
async function engage(outside: Outside): Promise<Done> {
  return await outside.engage().then(
    () => ({ ok: true }),
    (why: unknown) => ({ ok: false, message: why instanceof Refused ? why.message : '' }),
  );
}

type Acting = Exclude<Ask, { ask: 'state' | 'paired' | 'events' | 'kill_engage' }>;

async function act(ask: Acting): Promise<Done> {
  switch (ask.ask) {
    case 'site_intend':
      return await wish(ask.tab, ask.shown, ask.scope);
    case 'site_deny':
      unwant(ask.shown);
      await deny(ask.shown);
      return { ok: true };
    case 'site_remove':
      await remove(ask.site);
      return { ok: true };
    case 'screenshots':
      await forgetWishes();
      await setSettings({ screenshots: ask.on });
      if (!ask.on) await giveBackAllSites();
      return ask.on ? { ok: true, permission: ALL_SITES } : { ok: true };
    case 'settings':
      await setSettings({
        ...(ask.language === undefined ? {} : { language: ask.language }),
        ...(ask.theme === undefined ? {} : { theme: ask.theme }),
      });
      return { ok: true };
    case 'confirm_show':
      await showConfirmation();
      return { ok: true };
  }
}

async function wish(tab: number, shown: string, scope: Scope): Promise<Done> {
  const asked = await intend(tab, shown, scope, Date.now());
  if (!asked.ok) return { ok: false, message: asked.reason };
  return { ok: true, permission: asked.permission, settled: asked.settled };
}

function parsed<T>(shape: ZodType<T>, message: unknown): T | undefined {
  const read = shape.safeParse(message);
  return read.success ? read.data : undefined;
}
