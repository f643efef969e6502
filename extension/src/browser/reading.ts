/* page_snapshot and page_text: what the documents of a tab say. Decides which documents are asked and how the room is
   shared among them; names those left out, and why. The reading itself happens in the page. */
import type { Entry } from '../gate/allowlist';
import type { Call, Tab } from '../gate/dispatch';
import { type Block, type PageResult, roomFor } from '../gate/egress';
import { Refused } from '../gate/refused';
import type { Reading } from '../page/protocol';
import { ask, type Barred, type Doc, type Documents, steady } from './documents';
import { prefixOf, splitRef } from './targets';
import { fromPage, own } from './words';

/** Room below which a further document is left for the next call. */
const ROOM_MIN = 200;

const IFRAME_LINE = /^\s*iframe\b.* from (https?:\/\/[^\s"]+)/;

type Cut = { maxChars: number; cursor?: string; within?: string };
type Ask = (doc: Doc, cut: Cut) => Promise<Reading>;
type Range = { maxChars?: number; cursor?: string; within?: string };

export function snapshot(call: Call<'page_snapshot'>, tab: Tab, entries: readonly Entry[]): Promise<PageResult> {
  const { tabId: _, frames = 'all', maxChars, cursor, within, ...shape } = call.args;
  return steady(tab.id, frames, entries, call.signal, (documents, turn) =>
    gather(tab, documents, call.args, (doc, cut) =>
      ask(doc, 'snapshot', { ...shape, ...cut, prefix: prefixOf(doc.frame) }, `${call.key}.${turn}`, call.signal),
    ),
  );
}

export function text(call: Call<'page_text'>, tab: Tab, entries: readonly Entry[]): Promise<PageResult> {
  const { tabId: _, maxChars, cursor, within, ...shape } = call.args;
  return steady(tab.id, 'all', entries, call.signal, (documents, turn) =>
    gather(tab, documents, call.args, (doc, cut) =>
      ask(doc, 'text', { ...shape, ...cut }, `${call.key}.${turn}`, call.signal),
    ),
  );
}

async function gather(tab: Tab, documents: Documents, range: Range, one: Ask): Promise<PageResult> {
  const from = startOf(range.cursor);
  const blocks: Block[] = [];
  let room = roomFor(range.maxChars);
  let next: string | undefined;
  for (const doc of chosen(documents, range.within, from.frame)) {
    if (blocks.length > 0 && room < ROOM_MIN) {
      next = `${doc.frame}~`;
      break;
    }
    const reading = await one(doc, cutFor(doc, range, from, Math.max(room, ROOM_MIN)));
    blocks.push(...blocksOf(doc, tab, reading, documents));
    room -= reading.lines.reduce((sum, line) => sum + line.length + 1, 0);
    if (reading.cursor !== undefined) {
      next = `${doc.frame}~${reading.cursor}`;
      break;
    }
  }
  const left = range.within === undefined ? documents.barred.map(leftOut) : [];
  const more = next !== undefined && `There is more: call again with cursor ${JSON.stringify(next)}.`;
  const blocksInAll = [...blocks, own(...left, more)];
  return range.maxChars === undefined ? { blocks: blocksInAll } : { blocks: blocksInAll, maxChars: range.maxChars };
}

/** The documents to read, from the one at which the last result ended. */
function chosen({ open }: Documents, within: string | undefined, from: number): Doc[] {
  const { frame } = within === undefined ? { frame: undefined } : splitRef(within);
  const wanted = open.filter((doc) => (frame === undefined ? doc.frame >= from : doc.frame === frame));
  if (wanted.length > 0) return wanted;
  throw new Refused(
    'EXECUTION_FAILED',
    'That frame is gone or not approved. Take a new snapshot and use a ref from there.',
  );
}

function cutFor(doc: Doc, range: Range, from: { frame: number; rest: string }, maxChars: number): Cut {
  const cut: Cut = { maxChars };
  if (doc.frame === from.frame && from.rest !== '') cut.cursor = from.rest;
  if (range.within !== undefined) cut.within = splitRef(range.within).ref;
  return cut;
}

function startOf(cursor: string | undefined): { frame: number; rest: string } {
  if (cursor === undefined) return { frame: 0, rest: '' };
  const [, frame, rest] = /^(\d{1,9})~(.*)$/s.exec(cursor) ?? [];
  if (frame === undefined || rest === undefined) {
    throw new Refused('INVALID_ARGUMENT', '`cursor` must be the one that the last result ended with.');
  }
  return { frame: Number(frame), rest };
}

function blocksOf(doc: Doc, tab: Tab, reading: Reading, documents: Documents): Block[] {
  const head = doc.frame === 0 ? [`title: ${tab.title}`, `url: ${tab.url}`, ''] : [];
  const name = doc.frame === 0 ? `Tab ${tab.id}.` : `Frame f${doc.frame} of tab ${tab.id}.`;
  // Notes are the script's own words, but a renderer that was taken over could put any there: they stay with the page.
  const notes = [...reading.notes, ...unseen(reading, documents)].map((note) => `note: ${note}`);
  return [own(name), fromPage(doc.origin, ...head, ...reading.lines, ...notes)];
}

/** Frames that the page shows and the browser let nobody look into; only the page itself tells of them. */
function unseen({ lines }: Reading, { open, barred }: Documents): string[] {
  const seen = new Set([...open, ...barred].map(({ origin }) => origin));
  const shown = lines.flatMap((line) => IFRAME_LINE.exec(line)?.[1] ?? []);
  return [...new Set(shown)]
    .filter((origin) => !seen.has(origin))
    .map((origin) => `iframe from ${origin} left out: not approved`);
}

function leftOut({ frame, origin, reason }: Barred): string {
  return `Frame f${frame} (${origin}) is left out: ${reason}.`;
}
