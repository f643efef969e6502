/* Results in the two kinds of text that leave: our own words, and what a page or its address says. Decides what may be said
   of a tab; masking and size are egress's. It keeps the two kinds apart, so that no page text ever stands among our words. */
import { approves, type Entry } from '../gate/allowlist';
import type { Tab } from '../gate/dispatch';
import type { Block } from '../gate/egress';
import { originShown } from '../gate/origin';
import type { Landing } from './travel';

type Line = string | false | undefined;

const joined = (lines: readonly Line[]): string =>
  lines.filter((line) => line !== false && line !== undefined).join('\n');

export const own = (...lines: Line[]): Block => ({ kind: 'own', text: joined(lines) });

export const fromPage = (origin: string, ...lines: Line[]): Block => ({ kind: 'page', origin, text: joined(lines) });

/** What a tab shows: of an approved site its title and address, of any other the bare origin. */
export function shows(tab: Tab, entries: readonly Entry[]): Block[] {
  const origin = originShown(tab.url);
  if (approves(entries, tab.url)) {
    return [own(`Tab ${tab.id} shows ${origin}.`), fromPage(origin, `title: ${tab.title}`, `url: ${tab.url}`)];
  }
  return [own(`Tab ${tab.id} shows ${origin}, which is not approved: nothing of it can be read.`)];
}

/** Where an act led. */
export function landed({ tab, arrival }: Landing, entries: readonly Entry[]): Block[] {
  switch (arrival) {
    case 'loaded':
      return [own('The tab navigated.'), ...shows(tab, entries)];
    case 'loading':
      return [own('The tab navigated; the page is still loading.'), ...shows(tab, entries)];
    case 'failed':
      return [own('The tab navigated, but the browser could not load the page and shows its own error page.')];
    case 'stayed':
      return [
        own('The tab set out to navigate, but no page came: a download, an empty answer, or a page that was not left.'),
      ];
    case 'late':
      return [own('The tab is navigating, but no page came yet. Wait with page_wait_for.')];
  }
}
