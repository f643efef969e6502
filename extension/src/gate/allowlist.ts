/*
 * Decides which sites the person has approved, and when a click in the popup becomes an approval.
 * The browser's own permission prompt destroys the popup, so the popup leaves an intent first; an entry is written only
 * for a live intent whose tab still shows the origin that the person saw, once the browser holds the permission.
 * A permission without an intent approves nothing. It refuses by default: what no entry covers is not approved.
 * It knows no browser: what is held, shown and granted is passed in.
 */
import { INTENT_MS } from '../contract/limits';
import type { Entry, Intent, Scope } from './entry';
import { classify, type UnsupportedReason, type WebSite } from './origin';
import { covers, patternFor, patternOf } from './pattern';

export { Entry, Intent, Scope } from './entry';

export type Proposal = { ok: true; intent: Intent } | { ok: false; reason: UnsupportedReason | 'no_pattern' };

/** Whether any entry covers this URL. */
export function approves(entries: readonly Entry[], url: string): boolean {
  const site = classify(url);
  return site.kind === 'web' && approvesSite(entries, site);
}

/** Whether any entry covers this site. */
export function approvesSite(entries: readonly Entry[], site: WebSite): boolean {
  return entries.some((e) => (e.scope === 'pattern' ? covers(e.site, site) : e.site === site.origin));
}

/** The intent for approving what a tab shows, or why there is nothing to approve. */
export function propose(tab: number, url: string, scope: Scope, now: number): Proposal {
  const shown = classify(url);
  if (shown.kind !== 'web') return { ok: false, reason: shown.reason };
  const site = scope === 'pattern' ? patternFor(shown) : shown.origin;
  if (site === null) return { ok: false, reason: 'no_pattern' };
  return { ok: true, intent: { scope, site, tab, shown: shown.origin, until: now + INTENT_MS } };
}

/**
 * Turns intents into entries where the browser holds the permission and the tab still shows the origin the person saw.
 * An intent whose tab moved on, or whose time is over, is dropped; one that still waits for the browser is kept.
 */
export function settle(
  intents: readonly Intent[],
  held: (permission: string) => boolean,
  urlOf: (tab: number) => string | undefined,
  now: number,
): { entries: Entry[]; waiting: Intent[] } {
  const live = intents.filter((i) => now < i.until && i.until <= now + INTENT_MS && stillShows(i, urlOf(i.tab)));
  const isHeld = (i: Intent) => held(permissionFor(i.site));
  return {
    entries: live.filter(isHeld).map(({ scope, site }) => ({ scope, site, since: now })),
    waiting: live.filter((i) => !isHeld(i)),
  };
}

/** Adds an entry in place of one for the same site and kind of site. */
export function withEntry(entries: readonly Entry[], added: Entry): Entry[] {
  return [...withoutSite(entries, added.site), added];
}

export function withoutSite(entries: readonly Entry[], site: string): Entry[] {
  return entries.filter((e) => e.site !== site);
}

/** What remains approved after the browser took permissions back. */
export function stillHeld(entries: readonly Entry[], held: (permission: string) => boolean): Entry[] {
  return entries.filter((e) => held(permissionFor(e.site)));
}

/** The browser permission that an entry stands on. Ports are the allowlist's business: browsers grant whole hosts. */
export function permissionFor(site: string): string {
  const pattern = patternOf(site);
  if (pattern.ok) return `${pattern.text}/*`;
  const url = classify(site);
  return url.kind === 'web' ? `${url.scheme}://${url.host}/*` : '';
}

/** Permissions of removed or ended approvals that no remaining entry needs, to be given back to the browser. */
export function surplus(permissions: readonly string[], entries: readonly Entry[]): string[] {
  const needed = new Set(entries.map((e) => permissionFor(e.site)));
  return [...new Set(permissions)].filter((p) => !needed.has(p));
}

function stillShows(intent: Intent, url: string | undefined): boolean {
  if (url === undefined) return false;
  const now = classify(url);
  if (now.kind !== 'web' || now.origin !== intent.shown) return false;
  return intent.scope === 'pattern' ? covers(intent.site, now) : intent.site === now.origin;
}
