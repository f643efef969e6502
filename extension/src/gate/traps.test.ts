import { expect, test } from 'vitest';
import { oneLine } from '../ui/shown';
import { approves } from './allowlist';
import { Masks } from './mask';
import { classify } from './origin';
import { patternFor } from './pattern';

/* Texts that make a careless pattern or parser slow. What is bounded is the time in proportion to a plain pass over the
   same number of characters in the same run, and how it grows with length; no clock is asserted. */
const LENGTH = 30_000;
const GROWTH = 8;
/** Passes over the text, at most; measured: 190. A backtracking pattern needs thousands. */
const PASSES_MAX = 1_500;
/** A linear cost grows by GROWTH, a quadratic one by its square. */
const GROWTH_MAX = GROWTH * GROWTH * 0.75;

const times = (text: string, length: number) => text.repeat(Math.ceil(length / text.length)).slice(0, length);

const TEXTS: Record<string, (length: number) => string> = {
  'letters that never end': (n) => 'a'.repeat(n),
  'hex that never ends': (n) => times('0123456789abcdef', n),
  'digits and separators': (n) => times('4111-', n),
  'base64 that never ends': (n) => times('QWxhZGRpbjpvcGVuIHNlc2FtZQ', n),
  'dots of a token': (n) => times('eyJ.', n),
  'beginnings of a token': (n) => times('eyJhbGciOi', n),
  'names of secrets without values': (n) => times('password=', n),
  'bearers in a row': (n) => times('Bearer ', n),
  'quotes and colons': (n) => times('"key": "', n),
  'white space': (n) => ' '.repeat(n),
  'line breaks': (n) => times('\r\n', n),
  'combining marks': (n) => `a${'\u0301'.repeat(n - 1)}`,
  'letters that grow when normalised': (n) => '\ufdfa'.repeat(n),
  'letters that change length in lower case': (n) => 'İ'.repeat(n),
  'joiners between letters': (n) => times('s\u200d', n),
  'half characters': (n) => '\ud83d'.repeat(n),
  'per cent signs': (n) => times('%25', n),
  escapes: (n) => times('\\u00', n),
  'begin lines of keys': (n) => times('-----BEGIN ', n),
};

const URLS: Record<string, (length: number) => string> = {
  'endless names': (n) => `https://${times('a.', n)}example`,
  'endless dashes': (n) => `https://${'-'.repeat(n)}.example`,
  'endless slashes': (n) => `https:${'/'.repeat(n)}a.example`,
  'endless at signs': (n) => `https://${'@'.repeat(n)}a.example`,
  'endless dots in a path': (n) => `https://a.example/${times('../', n)}`,
  'endless per cent signs': (n) => `https://a.example/${times('%2e', n)}`,
  'a name of full-width letters': (n) => `https://${'ａ'.repeat(n)}.example`,
  'a name that grows when normalised': (n) => `https://${'\ufdfa'.repeat(n)}.example`,
  'a name in another alphabet': (n) => `https://${'ü'.repeat(n)}.example`,
  'an endless port': (n) => `https://a.example:${'1'.repeat(n)}`,
  'an endless number for an address': (n) => `https://0x${'f'.repeat(n)}/`,
  brackets: (n) => `https://${'['.repeat(n)}::1]/`,
  'a scheme that never ends': (n) => `${'a'.repeat(n)}:`,
  'views of views': (n) => `${times('view-source:', n)}https://a.example`,
  'tabs and line breaks': (n) => `https://a.${times('\t\n', n)}example`,
};

/** Milliseconds of the fastest of a few runs. */
function cost(run: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 3; turn += 1) {
    const begun = performance.now();
    run();
    best = Math.min(best, performance.now() - begun);
  }
  return best;
}

/** One plain pass over that many characters, measured over many. */
function pass(length: number): number {
  const text = times('plain words ', length);
  const many = 20;
  let seen = 0;
  const once = () => {
    for (let turn = 0; turn < many; turn += 1) {
      for (let at = 0; at < text.length; at += 1) seen += text.charCodeAt(at);
    }
  };
  once();
  return cost(once) / many + (seen < 0 ? 1 : 0);
}

const JUDGES: Record<string, { inputs: typeof TEXTS; length: number; judge(input: string): unknown }> = {
  masking: { inputs: TEXTS, length: LENGTH, judge: (text) => new Masks().text(text) },
  'one line for people': { inputs: TEXTS, length: LENGTH, judge: (text) => oneLine(text, 300) },
  'judging an address': { inputs: URLS, length: LENGTH, judge: (url) => classify(url) },
  'finding its pattern': { inputs: URLS, length: LENGTH, judge: (url) => patternOf(url) },
  'comparing it with what is approved': {
    inputs: URLS,
    length: LENGTH,
    judge: (url) => approves([{ scope: 'pattern', site: 'https://*.a.example', since: 1 }], url),
  },
};

function patternOf(url: string): string | null {
  const site = classify(url);
  return site.kind === 'web' ? patternFor(site) : null;
}

for (const [what, { inputs, length, judge }] of Object.entries(JUDGES)) {
  test(`T222 no input makes ${what} slow`, () => {
    const floor = pass(length);
    for (const [name, made] of Object.entries(inputs)) {
      const [small, large] = [made(length), made(length * GROWTH)];
      judge(small);
      const [short, long] = [cost(() => judge(small)), cost(() => judge(large))];
      expect(short / floor, `${name}: passes over the text`).toBeLessThan(PASSES_MAX);
      // Below a few passes it is the floor's noise that grows.
      expect(long / Math.max(short, floor * 20), `${name}: growth`).toBeLessThan(GROWTH_MAX);
    }
  }, 120_000);
}

test('T222 a pattern that backtracks would be noticed', () => {
  const floor = pass(LENGTH);
  const slow = (text: string) => /(?:a+)b/.test(text);
  const [short, long] = [
    cost(() => slow('a'.repeat(LENGTH / 16))),
    cost(() => slow('a'.repeat((LENGTH / 16) * GROWTH))),
  ];
  expect(long / floor > PASSES_MAX || long / short >= GROWTH_MAX).toBe(true);
}, 120_000);
