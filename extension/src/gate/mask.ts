/*
 * Decides what of a text or value leaves the extension in the clear, and puts a fixed word in place of the rest.
 * The word names the kind and nothing else: not the length, not a first or last character, not how often.
 * What it covers and what it cannot is measured by its tests and written down in docs/masking.md.
 */
import { isSecretName } from './names';
import { type Finding, type MaskKind, RULES } from './shapes';
import { matchesOf, type Range, viewsOf } from './view';

export type { MaskKind } from './shapes';
export type MaskCounts = Partial<Record<MaskKind, number>>;

/** One bare word or number that is shorter than every shape: most names and ids of a list, which are not worth a search. */
export const TOO_SHORT = /^\w{0,11}$/;

/** Counts of what was masked, so that a result can say so. */
export class Masks {
  readonly counts: MaskCounts = {};

  /** The text with every stretch that has the shape of a secret replaced. */
  text(text: string): string {
    if (TOO_SHORT.test(text)) return text;
    if (clean.has(text)) return text;
    const secrets = findings(text);
    if (secrets.length === 0) {
      remember(text);
      return text;
    }
    const parts: string[] = [];
    let done = 0;
    for (const found of merged(secrets)) {
      parts.push(text.slice(done, found.start), this.token(found.kind));
      done = found.end;
    }
    parts.push(text.slice(done));
    return parts.join('');
  }

  /** The same for a value at any depth: by what it looks like, and by the name it stands under. */
  value(value: unknown, name = ''): unknown {
    if (value === null || typeof value === 'boolean' || value === undefined) return value;
    if (isSecretName(name)) return this.token('secret');
    if (typeof value === 'string') return this.text(value);
    if (typeof value === 'number') return this.number(value);
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (typeof value !== 'object') return null;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [this.text(k), this.value(v, k)]));
  }

  private number(value: number): number | string {
    const text = String(value);
    const masked = this.text(text);
    return masked === text ? value : masked;
  }

  private token(kind: MaskKind): string {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    return `[masked:${kind}]`;
  }
}

// The same titles, addresses and sentences leave again and again. Only texts without a finding are kept here, so that
// nothing that was masked stays in memory; whether a text has one never changes.
const CLEAN_MAX = 128;
const CLEAN_CHARS_MAX = 512;
const clean = new Set<string>();

function remember(text: string): void {
  if (text.length > CLEAN_CHARS_MAX) return;
  if (clean.size >= CLEAN_MAX) clean.clear();
  clean.add(text);
}

/** Everything found in any reading of the text, in places of the text itself. */
function findings(text: string): Finding[] {
  return viewsOf(text).flatMap((view) => {
    const found = [...byShape(view.text), ...encoded(view.text)];
    return found.map(({ kind, start, end }) => ({ kind, ...view.source({ start, end }) }));
  });
}

function byShape(text: string): Finding[] {
  return RULES.flatMap(({ kind, find }) => find(text).map((range) => ({ kind, ...range })));
}

/**
 * Runs that hold a secret once they are decoded. Long ones are masked by their own shape already; this catches what
 * is too short for that, wherever the secret begins: each of the four alignments of base64 is tried.
 */
function encoded(text: string): Finding[] {
  const inRun = (shape: RegExp, decode: (run: string) => string[]) =>
    matchesOf(text, shape).flatMap((m) => {
      const kind = decode(m[0]).flatMap(readable).flatMap(byShape)[0]?.kind;
      return kind === undefined ? [] : [{ kind, start: m.index, end: m.index + m[0].length }];
    });
  if (!/[\w+/-]{15}/.test(text)) return [];
  return [
    ...inRun(/(?<![A-Za-z0-9+/_-])(?=[a-z+/_-]{0,64}[A-Z0-9])[A-Za-z0-9+/_-]{15,4096}={0,2}/g, alignments),
    ...inRun(/(?<![0-9a-f])(?:[2-7][0-9a-f]){11,15}(?![0-9a-f])/gi, (run) => [fromHex(run)]),
  ];
}

function alignments(run: string): string[] {
  const standard = run.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/');
  return [0, 1, 2, 3].map((skip) => {
    const part = standard.slice(skip);
    return atob(part.length % 4 === 1 ? part.slice(0, -1) : part);
  });
}

function fromHex(run: string): string {
  return (run.match(/../g) ?? []).map((pair) => String.fromCharCode(Number.parseInt(pair, 16))).join('');
}

/** Stretches of a decoded run that are text, UTF-16 included. */
function readable(decoded: string): string[] {
  return decoded.replaceAll('\0', '').match(/[ -~]{8,}/g) ?? [];
}

/** Overlapping findings as one, named after the rule that comes first. */
function merged(found: readonly Finding[]): Finding[] {
  const rank = (f: Finding) => RULES.findIndex((rule) => rule.kind === f.kind);
  const result: Finding[] = [];
  for (const next of found.filter(notEmpty).toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = result.at(-1);
    if (last === undefined || next.start >= last.end) {
      result.push({ ...next });
      continue;
    }
    last.end = Math.max(last.end, next.end);
    if (rank(next) < rank(last)) last.kind = next.kind;
  }
  return result;
}

function notEmpty(range: Range): boolean {
  return range.end > range.start;
}
