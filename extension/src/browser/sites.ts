/* The sites the person approved, and how an approval comes and goes. Decides when an intent of the popup becomes an entry
   (the browser holds the permission and the tab still shows the site) and that an entry goes with its permission. Approvals
   for one browser session are withdrawn from the browser when the next one starts. The rules themselves are the allowlist's. */
import { z } from 'zod';
import {
  Entry,
  Intent,
  permissionFor,
  propose,
  type Scope,
  settle,
  stillHeld,
  surplus,
  withEntry,
  withoutSite,
} from '../gate/allowlist';
import { originShown } from '../gate/origin';
import { Stored, shaped } from './storage';
import { find } from './tabs';

const ALL_SITES = '<all_urls>';
const ENTRIES_MAX = 4_096;
const INTENTS_MAX = 16;

const lasting = new Stored(shaped('local', 'sites', z.array(Entry).max(ENTRIES_MAX), []));
const passing = new Stored(shaped('session', 'sites', z.array(Entry).max(ENTRIES_MAX), []));
const intents = new Stored(shaped('session', 'intents', z.array(Intent).max(INTENTS_MAX), []));
/** Permissions the browser holds for passing entries, kept beyond the session so that they can be given back. */
const lent = new Stored(shaped('local', 'lent', z.array(z.string()).max(ENTRIES_MAX), []));
/** Set once in each browser session. */
const begun = new Stored(shaped('session', 'begun', z.boolean(), false));

export async function entries(): Promise<readonly Entry[]> {
  const kept = await lasting.read();
  const session = await passing.read();
  return session.length === 0 ? kept : [...kept, ...session];
}

export async function holds(permission: string): Promise<boolean> {
  return permission !== '' && (await chrome.permissions.contains({ origins: [permission] }));
}

/** Must be called while the worker starts. */
export function watchPermissions(changed: () => void): void {
  chrome.permissions.onAdded.addListener(() => void settleIntents().then(changed));
  chrome.permissions.onRemoved.addListener(() => void dropUnheld().then(changed));
}

/** Gives back what the last browser session lent, and drops entries whose permission went while the worker slept. */
export async function beginSession(): Promise<void> {
  if (!(await begun.read())) {
    await begun.change(() => true);
    await giveBack(await lent.read());
    await lent.change(() => []);
  }
  await dropUnheld();
}

export type Asked =
  | { ok: true; permission: string; settled: boolean }
  | { ok: false; reason: 'moved' | Extract<ReturnType<typeof propose>, { ok: false }>['reason'] };

/** Notes what the person wants for the site they were shown, before the browser's prompt can destroy the popup. */
export async function intend(tab: number, shown: string, scope: Scope, now: number): Promise<Asked> {
  const url = (await find(tab))?.url ?? '';
  if (originShown(url) !== shown) return { ok: false, reason: 'moved' };
  const proposal = propose(tab, url, scope, now);
  if (!proposal.ok) return proposal;
  const { intent } = proposal;
  const permission = permissionFor(intent.site);
  // Who asks again has left the browser's last prompt behind: a no to that one is told to nobody, so its wish ends here.
  await intents.change(() => [intent]);
  const settled = await settleIntents(now);
  return { ok: true, permission, settled: settled.some(({ site }) => site === intent.site) };
}

/** Ends every wish: what the browser is asked for next is asked for another reason. */
export async function forgetWishes(): Promise<void> {
  await intents.change(() => []);
}

/** Turns intents into entries where everything they wait for has come. */
export async function settleIntents(now = Date.now()): Promise<Entry[]> {
  const waiting = await intents.read();
  const held = await heldOf(waiting.map(({ site }) => permissionFor(site)));
  const urls = new Map<number, string | undefined>();
  for (const { tab } of waiting) urls.set(tab, (await find(tab))?.url);
  const { entries: added, waiting: left } = settle(waiting, held, (tab) => urls.get(tab), now);
  await intents.change((current) => current.filter((each) => left.some((other) => same(each, other))));
  for (const entry of added) await add(entry);
  return added;
}

/** The person does not want this site: nothing that waits or was approved for it stays. */
export async function deny(shown: string): Promise<void> {
  await intents.change((waiting) => waiting.filter((each) => each.shown !== shown));
  await remove(shown);
}

export async function remove(site: string): Promise<void> {
  await lasting.change((now) => withoutSite(now, site));
  await passing.change((now) => withoutSite(now, site));
  await giveBack([permissionFor(site)]);
}

/** Gives the all-sites permission back; approved sites keep theirs. */
export async function giveBackAllSites(): Promise<void> {
  await chrome.permissions.remove({ origins: [ALL_SITES] }).catch(() => false);
}

async function add(entry: Entry): Promise<void> {
  const [into, outOf] = entry.scope === 'session' ? [passing, lasting] : [lasting, passing];
  await into.change((now) => withEntry(now, entry).slice(-ENTRIES_MAX));
  await outOf.change((now) => withoutSite(now, entry.site));
  if (entry.scope === 'session') await lent.change((now) => [...new Set([...now, permissionFor(entry.site)])]);
}

async function dropUnheld(): Promise<void> {
  const held = await heldOf((await entries()).map(({ site }) => permissionFor(site)));
  const keep = (now: Entry[]) => {
    const left = stillHeld(now, held);
    return left.length === now.length ? now : left;
  };
  await lasting.change(keep);
  await passing.change(keep);
}

async function giveBack(permissions: readonly string[]): Promise<void> {
  const origins = surplus(permissions, await entries()).filter((each) => each !== '');
  if (origins.length > 0) await chrome.permissions.remove({ origins }).catch(() => false);
}

async function heldOf(permissions: readonly string[]): Promise<(permission: string) => boolean> {
  const held = new Set<string>();
  for (const permission of new Set(permissions)) if (await holds(permission)) held.add(permission);
  return (permission) => held.has(permission);
}

function same(one: Intent, other: Intent): boolean {
  return one.tab === other.tab && one.site === other.site && one.scope === other.scope && one.until === other.until;
}
