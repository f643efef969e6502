// Turns page text into one-line words of bounded size. A cut never falls inside a word, nor between digits: what masking
// looks for later must be whole or absent. Text is never made safe here; masking and boundaries follow in the worker.

import { WORD_CHARS_MAX } from './bounds';

/** One line, single spaces, none at the ends. */
export function oneLine(raw: string): string {
  return raw.replace(/\s+/gu, ' ').trim();
}

/**
 * The length of the longest head of `text` of about `max` characters that ends between two plain words.
 * A longer unbroken word is kept whole, up to a bound that no shape of secret reaches.
 */
export function headLength(text: string, max: number): number {
  if (text.length <= max) return text.length;
  const head = text.slice(0, max + 1);
  const between = /^[\s\S]*[\p{L}.,;:!?)]\s+(?=\p{L})/u.exec(`${head}`)?.[0].length ?? 0;
  if (between >= max / 2) return between;
  const end = text.slice(max, max + WORD_CHARS_MAX).search(/\s\p{L}|\n/u);
  return end < 0 ? Math.min(text.length, max + WORD_CHARS_MAX) : max + end + 1;
}

/** `text` on one line, cut to about `max` characters. */
export function short(raw: string, max: number): string {
  const line = oneLine(raw);
  const end = headLength(line, max);
  return end >= line.length ? line : `${line.slice(0, end).trimEnd()}…`;
}

/** A 53-bit digest of text: detects change, protects nothing. */
export function digest(text: string, seed = 0): number {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    high = Math.imul(high ^ unit, 2_654_435_761);
    low = Math.imul(low ^ unit, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0);
}

/** Several things as a person lists them. */
export function listed(items: readonly string[], max: number): string {
  const more = items.length - max;
  return more > 0 ? `${items.slice(0, max).join(', ')} and ${more} more` : items.join(', ');
}
