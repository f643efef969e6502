/* What the popup and the options page show. Decides nothing; it gathers, and cuts what others named to what a page may get. */
import type { Caller } from '../contract/frames';
import { approves, type Entry } from '../gate/allowlist';
import { classify } from '../gate/origin';
import { patternFor } from '../gate/pattern';
import type { ClientView, State } from '../ui/messages';
import { allHoldings } from './clients';
import { confirming } from './confirm';
import { settings } from './settings';
import { entries, holds } from './sites';
import { find } from './tabs';
import { wantedBy } from './wanted';

/** Characters of a name that a page gets. */
const TEXT_MAX = 2_048;
const CLIENTS_MAX = 64;

type Link = Pick<State, 'link' | 'door' | 'label' | 'kill'>;

export async function stateFor(
  link: Link,
  running: ReadonlyMap<string, Running>,
  tab: number | undefined,
): Promise<State> {
  const approved = await entries();
  const { screenshots, language, theme } = await settings();
  return {
    ...link,
    clients: await clientViews(running),
    site: tab === undefined ? null : await siteOf(tab, approved),
    entries: [...approved],
    // The wish alone is no switch that is on: the browser may have refused, or taken its permission back.
    screenshots: screenshots && (await holds('<all_urls>')),
    confirming: confirming(),
    language,
    theme,
    version: chrome.runtime.getManifest().version,
  };
}

export type Running = { caller: Caller; calls: number };

async function clientViews(running: ReadonlyMap<string, Running>): Promise<ClientView[]> {
  const held = await allHoldings();
  return [...running.entries()].slice(-CLIENTS_MAX).map(([key, { caller, calls }]) => ({
    name: caller.name.slice(0, TEXT_MAX),
    image: caller.image.slice(0, TEXT_MAX),
    verified: caller.verified,
    calls,
    tabs: held.get(key)?.opened.length ?? 0,
  }));
}

async function siteOf(id: number, approved: readonly Entry[]): Promise<State['site']> {
  const url = (await find(id))?.url ?? '';
  const site = classify(url);
  if (site.kind !== 'web') return { kind: 'unsupported', reason: site.reason };
  return {
    kind: 'web',
    tab: id,
    origin: site.origin,
    pattern: patternFor(site),
    approved: approved.find((entry) => approves([entry], url)) ?? null,
    wantedBy: wantedBy(site.origin)?.slice(0, TEXT_MAX) ?? null,
  };
}
