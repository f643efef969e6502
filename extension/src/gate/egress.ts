/*
 * Decides what leaves the extension: the one way out for every result, title, address and error.
 * Everything is masked first, then what a page said is wrapped in a boundary that the page cannot know, then the whole
 * is cut to size, so that no cut uncovers half a secret and no page text passes for ours. What was left out is said.
 * It does not know what may be read at all, nor which parts of an address an unapproved site may show.
 */
import type { Outcome, Refusal } from '../contract/frames';
import { RESULT_CHARS_DEFAULT, RESULT_CHARS_MAX } from '../contract/limits';
import { type MaskCounts, Masks } from './mask';
import { classify } from './origin';

/** Our own words, or text that a page or its address decides. */
export type Block = { kind: 'own'; text: string } | { kind: 'page'; origin: string; text: string };

export interface PageResult {
  blocks: Block[];
  /** The same as data, for list-type tools; dropped beside an image, which some clients would then not show. */
  structured?: Record<string, unknown>;
  image?: { mime: string; data: string };
  /** Characters of the whole text; never above the ceiling. */
  maxChars?: number;
}

/** Below this the notes and boundaries around a page's text would leave no room for the text. */
const CHARS_MIN = 1_200;
const REFUSAL_CHARS_MAX = 2_000;

export function egress(result: PageResult, boundary: () => string = randomBoundary): Outcome {
  const masks = new Masks();
  const blocks = result.blocks.filter((b) => b.text !== '').map((b) => ({ ...b, text: masks.text(plain(b.text)) }));
  const text = fitted(wrapped(blocks, unusedBoundary(blocks, boundary)), charsFor(result.maxChars), masks.counts);
  if (result.image !== undefined) return { text, image: result.image };
  const structured = structuredOf(result.structured);
  return structured === undefined ? { text } : { text, structured };
}

/** A refusal, and what a page gave as its reason. */
export type Refusing = Refusal & { page?: Omit<Extract<Block, { kind: 'page' }>, 'kind'> };

export function egressRefusal({ code, message, page }: Refusing, boundary: () => string = randomBoundary): Refusal {
  const said: Block[] = [{ kind: 'own', text: message }];
  if (page !== undefined) said.push({ kind: 'page', ...page });
  const blocks = said.map((b) => ({ ...b, text: new Masks().text(plain(b.text)) }));
  return { code, message: fitted(wrapped(blocks, unusedBoundary(blocks, boundary)), REFUSAL_CHARS_MAX, {}) };
}

/** How much page text fits into a result of this size, with notes and boundaries around it and masks in it. */
export function roomFor(maxChars: number = RESULT_CHARS_DEFAULT): number {
  return Math.max(200, Math.floor(charsFor(maxChars) * 0.94) - 900);
}

function charsFor(maxChars: number = RESULT_CHARS_DEFAULT): number {
  return Math.min(RESULT_CHARS_MAX, Math.max(CHARS_MIN, maxChars));
}

// Escape sequences would act on a client's terminal, overrides would turn our boundary around on the screen, tags carry
// text that no person sees, and the host refuses half a surrogate pair.
// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what is removed
const NEVER_SHOWN = /[\0-\b\v\f\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]/gu;

function plain(text: string): string {
  return text.replace(/\r\n?/g, '\n').toWellFormed();
}

interface Piece {
  text: string;
  /** Page text may be cut; our words and the boundary may not. */
  page: boolean;
}

function wrapped(blocks: readonly Block[], boundary: string): Piece[] {
  return blocks.flatMap((block) => {
    const text = block.text.replace(NEVER_SHOWN, '');
    if (block.kind === 'own') return [{ text: `${text}\n`, page: false }];
    return [
      { text: `<<page ${boundary} ${originName(block.origin)}>>\n`, page: false },
      // A line of the page that looks like a boundary keeps its words and loses its looks.
      { text: text.replace(/<<(?=\s*(?:page|end)\b)/gi, '< <'), page: true },
      { text: `\n<<end ${boundary}>>\n`, page: false },
    ];
  });
}

function originName(origin: string): string {
  const site = classify(origin);
  return site.kind === 'web' ? site.origin : 'no site';
}

function unusedBoundary(blocks: readonly Block[], boundary: () => string): string {
  for (;;) {
    const name = boundary();
    if (!blocks.some((b) => b.text.includes(name))) return name;
  }
}

function randomBoundary(): string {
  return Array.from(crypto.getRandomValues(new BigUint64Array(1)), (n) => n.toString(16).padStart(16, '0')).join('');
}

/** Joins the pieces to a text of at most so many characters, and says what was masked and left out. */
function fitted(pieces: readonly Piece[], max: number, counts: MaskCounts): string {
  const masked = maskNote(counts);
  const fixed = pieces.reduce((sum, p) => sum + (p.page ? 0 : p.text.length), masked.length);
  const notes = 120 * pieces.filter((p) => p.page).length;
  const length = pieces.reduce((sum, p) => sum + p.text.length, masked.length);
  let room = length <= max ? length : Math.max(0, max - fixed - notes);
  const parts = pieces.map((piece) => {
    if (!piece.page) return piece.text;
    const kept = cutTo(piece.text, room);
    room -= kept.length;
    const omitted = piece.text.length - kept.length;
    return omitted === 0 ? kept : `${kept}\n[${omitted} characters left out: ask for less at once, or for a part]`;
  });
  return cutTo([...parts, masked].join('').trimEnd(), max);
}

function maskNote(counts: MaskCounts): string {
  const kinds = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  return kinds.length === 0 ? '' : `Masked: ${kinds.join(', ')}.`;
}

/** The beginning of a text: whole lines if one ends in the last fifth, and never half a character. */
function cutTo(text: string, max: number): string {
  if (text.length <= max) return text;
  const line = text.lastIndexOf('\n', max);
  const end = line > max * 0.8 ? line : max;
  const halved = /[\ud800-\udbff]/.test(text.charAt(end - 1));
  return text.slice(0, halved ? end - 1 : end);
}

function structuredOf(value: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  if (value === undefined) return undefined;
  const masked = new Masks().value(wellFormed(value));
  const fits = JSON.stringify(masked).length <= RESULT_CHARS_MAX;
  return fits && isRecord(masked) ? masked : undefined;
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return plain(value).replace(NEVER_SHOWN, '');
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k.toWellFormed(), wellFormed(v)]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
