/*
 * Decides which host patterns a person may approve (`https://*.example.com`) and which origins one covers.
 * It refuses what would reach beyond one registrable domain: IP addresses, localhost, bare top-level domains and the
 * public suffixes under which strangers register names (`*.co.uk`, `*.github.io`), after the Public Suffix List.
 */
import { parse } from 'tldts';
import type { WebSite } from './origin';

export type PatternFault = 'shape' | 'address' | 'local' | 'suffix';
/** `scheme` and `base` are canonical; `text` is the pattern made of them. */
export type PatternRead =
  | { ok: true; scheme: 'http' | 'https'; base: string; text: string }
  | { ok: false; fault: PatternFault };

const SHAPE = /^(https?):\/\/\*\.([^\s/\\?#@:%*[\]]+)$/i;

/** Reads a pattern, or says why nobody may approve it. */
export function patternOf(text: string): PatternRead {
  const [, scheme, base] = SHAPE.exec(text) ?? [];
  const url = scheme === undefined ? null : URL.parse(`${scheme}://${base}/`);
  if (url === null) return { ok: false, fault: 'shape' };
  const host = url.hostname;
  if (host.endsWith('.') || host.startsWith('.')) return { ok: false, fault: 'shape' };
  if (host === 'localhost' || host.endsWith('.localhost')) return { ok: false, fault: 'local' };
  const name = parse(host, { allowPrivateDomains: true, extractHostname: false });
  if (name.isIp === true || host.startsWith('[')) return { ok: false, fault: 'address' };
  if (name.domain === null) return { ok: false, fault: 'suffix' };
  const secure = url.protocol === 'https:';
  return { ok: true, scheme: secure ? 'https' : 'http', base: host, text: `${url.protocol}//*.${host}` };
}

/** The widest pattern that a person on this site may approve: its registrable domain; null where there is none. */
export function patternFor(site: WebSite): string | null {
  if (site.port !== '') return null;
  const domain = parse(site.host, { allowPrivateDomains: true, extractHostname: false }).domain;
  if (domain === null) return null;
  const read = patternOf(`${site.scheme}://*.${domain}`);
  return read.ok ? read.text : null;
}

/**
 * Whether a pattern covers a site: same scheme, default port, the base itself or a name below it.
 * The stored text is read again each time: what the present suffix list refuses covers nothing, however it got there.
 */
export function covers(text: string, site: WebSite): boolean {
  const read = patternOf(text);
  if (!read.ok || read.scheme !== site.scheme || site.port !== '') return false;
  return site.host === read.base || site.host.endsWith(`.${read.base}`);
}
