/*
 * Decides what a URL is to genkan: a web origin that a person may approve, or a page that is out of reach by design.
 * The browser's own URL parser decides, never a pattern over the text: userinfo, backslashes, tabs, encoded or wide
 * dots and odd IPv4 spellings all end in the host that the browser would really contact.
 * It does not know what is approved (allowlist.ts) or which hosts a wildcard may cover (pattern.ts).
 */

/** A page that may be approved. `origin` is canonical ASCII: A-labels, canonical addresses, no default port. */
export interface WebSite {
  kind: 'web';
  origin: string;
  scheme: 'http' | 'https';
  /** Canonical host without port; IPv6 in brackets. */
  host: string;
  /** Empty for the scheme's default port. */
  port: string;
}

export interface Unsupported {
  kind: 'unsupported';
  reason: UnsupportedReason;
}

/** Why a page is out of reach. Locale keys `unsupported.<reason>` follow these words. */
export type UnsupportedReason = 'malformed' | 'browser_page' | 'extension_page' | 'store' | 'own_page' | 'no_origin';

const BROWSER_PAGES = new Set(['chrome:', 'edge:', 'brave:', 'opera:', 'vivaldi:', 'devtools:', 'chrome-untrusted:']);
const EXTENSION_PAGES = new Set(['chrome-extension:', 'moz-extension:', 'extension:']);

// Whole hosts, not their store paths: a path can be spelled in many ways, and an agent that can install extensions
// or rate them needs no page of these hosts.
const STORES = new Set([
  'chromewebstore.google.com',
  'chrome.google.com',
  'microsoftedge.microsoft.com',
  'addons.opera.com',
]);

// genkan's own loopback pages ask the person for consent; whoever acts for a client must never reach them.
const OWN_PAGE = /(?:^|\.)(?:genkan|[0-9a-f]{16})\.localhost$/;

// Parsers differ on the few other characters they let through (`*` among them); no site needs one.
const HOST = /^(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])$/;

/** URLs that were asked about last: one call asks about the same few again and again. What a URL is never changes. */
const RECENT_MAX = 64;
const RECENT_CHARS_MAX = 2_048;
const recent = new Map<string, Readonly<WebSite | Unsupported>>();

/** What a URL is. Total: text that is no URL is unsupported too. */
export function classify(text: string): Readonly<WebSite | Unsupported> {
  const known = recent.get(text);
  if (known !== undefined) return known;
  const judged = judge(text);
  if (recent.size >= RECENT_MAX) recent.clear();
  if (text.length <= RECENT_CHARS_MAX) recent.set(text, judged);
  return judged;
}

function judge(text: string): WebSite | Unsupported {
  const url = URL.parse(text);
  if (url === null) return unsupported('malformed');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return unsupported(reasonOf(url.protocol));
  // `host.` names the same machine as `host`, but is another origin: it must not slip past these lists.
  const name = url.hostname.replace(/\.+$/, '');
  if (name === '' || !HOST.test(url.hostname)) return unsupported('malformed');
  if (OWN_PAGE.test(name)) return unsupported('own_page');
  if (STORES.has(name)) return unsupported('store');
  return {
    kind: 'web',
    origin: url.origin,
    scheme: url.protocol === 'https:' ? 'https' : 'http',
    host: url.hostname,
    port: url.port,
  };
}

/** The bare origin that a tab of an unapproved site may show; the scheme alone where there is none. */
export function originShown(text: string): string {
  const site = classify(text);
  if (site.kind === 'web') return site.origin;
  return URL.parse(text)?.protocol ?? '';
}

function unsupported(reason: UnsupportedReason): Unsupported {
  return { kind: 'unsupported', reason };
}

function reasonOf(protocol: string): UnsupportedReason {
  if (BROWSER_PAGES.has(protocol)) return 'browser_page';
  if (EXTENSION_PAGES.has(protocol)) return 'extension_page';
  // data, blob, javascript, file, filesystem, view-source, about and everything not named: a blob or srcdoc may carry
  // an approved origin inside, and it still belongs to no site that a person saw and approved.
  return 'no_origin';
}
