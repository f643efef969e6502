/*
 * Decides how a text is read before secrets are looked for in it: without invisible characters and with wide letters
 * narrowed, and once more with escapes resolved. What is found in such a reading is named in places of the given text,
 * so that everything else of it stays as it was.
 */

/** A half-open range of places. */
export interface Range {
  start: number;
  end: number;
}

/** A reading of a text, and where each part of it came from. */
export interface View {
  text: string;
  source(range: Range): Range;
}

/** One replacement in the source. */
interface Edit extends Range {
  by: string;
}

interface Segment {
  /** Place in the reading. */
  at: number;
  /** Place and length in the source. */
  from: number;
  length: number;
  /** Copied character by character; otherwise all of it stands for one replacement. */
  copied: boolean;
}

// Terminal escape sequences, then controls other than tab and line ends, then everything that a renderer leaves out
// (joiners, soft hyphens, bidi marks, tags, variation selectors), then spaces, dashes and letters with an ASCII twin.
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what a page hides secrets with
  /\u001b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~])?|[\0-\b\v\f\u000e-\u001f\u007f-\u009f]|\p{Default_Ignorable_Code_Point}|[\u00a0\u2000-\u200a\u202f\u205f\u3000\u2010-\u2015\u2212]|[\uff01-\uff5e]|[\u{1d400}-\u{1d7ff}]/gu;
/** Of ASCII, what is seen as it is. All that `UNSEEN` names is beyond. */
const BEYOND_PLAIN = /[^\t\n\r -~]/;
const ESCAPES =
  /%[0-9a-f]{2}|\\u[0-9a-f]{4}|\\u\{[0-9a-f]{1,6}\}|\\x[0-9a-f]{2}|\\["'/\\bfnrt]|&#(?:x[0-9a-f]{1,6}|\d{1,7});?/gi;

/** Characters around an escape in which a secret that holds it is looked for. */
const AROUND = 512;

/** What a shape finds. Most texts hold nothing of most shapes, and a search says so for much less than a walk costs. */
export function matchesOf(text: string, shape: RegExp): RegExpExecArray[] {
  return text.search(shape) === -1 ? [] : Array.from(text.matchAll(shape));
}

/** The readings of a text in which secrets are looked for: the whole as seen, and what is near an escape resolved. */
export function viewsOf(text: string): View[] {
  const plain = viewOf(text, BEYOND_PLAIN.test(text) ? editsOf(text, UNSEEN, visible) : []);
  const resolved = near(editsOf(plain.text, ESCAPES, meant)).map(({ start, end }) => {
    const part = plain.text.slice(Math.max(0, start - AROUND), end + AROUND);
    const inner = viewOf(part, editsOf(part, ESCAPES, meant));
    const deep = viewOf(inner.text, editsOf(inner.text, UNSEEN, visible));
    const offset = Math.max(0, start - AROUND);
    return {
      text: deep.text,
      source: (range: Range) => plain.source(shifted(inner.source(deep.source(range)), offset)),
    };
  });
  return [plain, ...resolved];
}

/** Edits joined into stretches, so that no part of the text is read more than twice. */
function near(edits: readonly Range[]): Range[] {
  const joined: Range[] = [];
  for (const edit of edits) {
    const last = joined.at(-1);
    if (last !== undefined && edit.start - last.end <= 2 * AROUND) last.end = edit.end;
    else joined.push({ start: edit.start, end: edit.end });
  }
  return joined;
}

function shifted(range: Range, by: number): Range {
  return { start: range.start + by, end: range.end + by };
}

function editsOf(text: string, shape: RegExp, by: (found: string) => string): Edit[] {
  return matchesOf(text, shape).map((m) => ({ start: m.index, end: m.index + m[0].length, by: by(m[0]) }));
}

function visible(found: string): string {
  if (/^[\u00a0\u2000-\u200a\u202f\u205f\u3000]$/.test(found)) return ' ';
  if (/^[\u2010-\u2015\u2212]$/.test(found)) return '-';
  const twin = found.normalize('NFKC');
  return /^[!-~]$/.test(twin) ? twin : '';
}

function meant(found: string): string {
  if (/^\\[^ux]$/.test(found)) return /[bfnrt]/.test(found) ? ' ' : found.slice(1);
  const decimal = /^&#(\d+)/.exec(found)?.[1];
  const code = decimal === undefined ? Number.parseInt(found.replace(/[^0-9a-f]/gi, ''), 16) : Number(decimal);
  return code <= 0x10ffff ? String.fromCodePoint(code) : '';
}

function viewOf(source: string, edits: readonly Edit[]): View {
  if (edits.length === 0) return { text: source, source: (range) => range };
  const parts: string[] = [];
  const segments: Segment[] = [];
  let at = 0;
  const add = (text: string, from: number, length: number, copied: boolean) => {
    if (text === '') return;
    parts.push(text);
    segments.push({ at, from, length, copied });
    at += text.length;
  };
  let done = 0;
  for (const edit of edits) {
    add(source.slice(done, edit.start), done, edit.start - done, true);
    add(edit.by, edit.start, edit.end - edit.start, false);
    done = edit.end;
  }
  add(source.slice(done), done, source.length - done, true);
  return { text: parts.join(''), source: (range) => sourceOf(segments, range) };
}

function sourceOf(segments: readonly Segment[], range: Range): Range {
  const first = segmentAt(segments, range.start);
  const last = segmentAt(segments, range.end - 1);
  if (first === undefined || last === undefined) return { start: 0, end: 0 };
  return {
    start: first.copied ? first.from + range.start - first.at : first.from,
    end: last.copied ? last.from + range.end - last.at : last.from + last.length,
  };
}

/** The segment that holds a place of the reading, by halving. */
function segmentAt(segments: readonly Segment[], place: number): Segment | undefined {
  let low = 0;
  let high = segments.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((segments[middle]?.at ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return segments[low];
}
