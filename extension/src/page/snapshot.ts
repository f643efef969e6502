// The structure of a page as lines: headings and landmarks as context, controls with state, value and ref. Reading stops
// once the asked size is reached; what follows is named by an outline and continued by cursor. Text that nobody sees is
// left out and counted. It does not mask: the worker does that for every line, before the final cut.

import { OUTLINE_SHARE } from './bounds';
import { follows, inside, queryAll } from './dom';
import { HiddenCount } from './hidden';
import { Lines } from './lines';
import { phrase, withoutSecrets } from './phrase';
import type { ArgsOf, Reading } from './protocol';
import { refFor, stampNew } from './refs';
import { ACTABLE, roleOf } from './roles';
import { type Scope, scopeOf } from './scope';
import { View, type Wish } from './view';
import { seen } from './visibility';
import { type Ended, walk } from './walk';

const CHARS_DEFAULT = 24_000;
const DEPTH_DEFAULT = 64;

export function snapshot(args: ArgsOf<'snapshot'>): Reading {
  const scope = scopeOf(args.within);
  const max = args.maxChars ?? CHARS_DEFAULT;
  const wish: Wish = {
    filter: args.filter ?? 'interactive',
    query: args.query?.toLowerCase(),
    depth: args.depth ?? DEPTH_DEFAULT,
    prefix: args.prefix ?? '',
  };
  const lines = new Lines('s', max, args.cursor, true);
  const hidden = new HiddenCount();
  const read = readRoots(wish, scope, lines, hidden);
  const room = Math.floor(max * OUTLINE_SHARE);
  const off = lines.end(read.cutAt !== undefined, room);
  const reading = result(scope, wish, lines, off ?? read.cutAt, room);
  reading.notes.push(...hidden.notes(), ...read.notes);
  if (read.inside) reading.lines.unshift(`(continued inside ${read.inside})`);
  stampNew();
  return reading;
}

interface Read {
  cutAt?: Element | undefined;
  inside?: string | undefined;
  notes: string[];
}

function readRoots(wish: Wish, scope: Scope, lines: Lines, hidden: HiddenCount): Read {
  const earlier = new Set<Element>();
  let within: string | undefined;
  for (const root of scope.roots) {
    const view = new View(wish, scope, lines, hidden, earlier);
    const ended: Ended = walk(root, view);
    view.endRun();
    within ||= view.inside;
    if (view.cutAt !== undefined) return { cutAt: view.cutAt, inside: within, notes: [] };
    if (ended === 'too large') return { inside: within, notes: [TOO_LARGE] };
    earlier.add(root);
  }
  return { inside: within, notes: [] };
}

const TOO_LARGE = 'The page is too large to read to its end in one go. Narrow with `within`.';
const MODAL = 'A dialog is open and comes first; the rest of the page may not react until it is closed.';
const CANVAS = 'The page draws on a canvas, which cannot be read as text; use page_screenshot.';

function result(scope: Scope, wish: Wish, lines: Lines, cutAt: Element | undefined, room: number): Reading {
  const shown = lines.render();
  const notes = scope.modal ? [MODAL] : [];
  if (shown.length === 0) notes.push(empty(wish));
  if (shown.length < 3 && queryAll(document, 'canvas').length > 0) notes.push(CANVAS);
  if (cutAt === undefined) return { lines: withoutSecrets(shown), notes };
  const rest = wish.query === undefined ? outline(scope, cutAt, room, wish.prefix) : [];
  const controls = scope.roots.reduce((sum, root) => sum + after(queryAll(root, ACTABLE), cutAt).length, 0);
  notes.push(
    `Cut here: about ${controls} more controls follow. Continue with the cursor, or narrow with \`within\` or \`query\`.`,
  );
  const all = rest.length === 0 ? shown : [...shown, 'Further down:', ...rest];
  return { lines: withoutSecrets(all), notes, cursor: lines.cursor() };
}

function empty(wish: Wish): string {
  if (wish.query !== undefined) return 'Nothing visible contains this text.';
  return wish.filter === 'all'
    ? 'Nothing is visible here.'
    : 'Nothing to act on is visible here; page_text reads the text.';
}

const SIGNPOSTS =
  'h1,h2,h3,h4,h5,h6,[role=heading],main,nav,aside,[role=main],[role=navigation],[role=search],[role=contentinfo]';

/** Headings and landmarks after the cut, as many as fit. */
function outline(scope: Scope, cutAt: Element, room: number, prefix: string): string[] {
  const found: string[] = [];
  let left = room;
  for (const root of scope.roots) {
    for (const el of after(queryAll(root, SIGNPOSTS), cutAt)) {
      if (inside(cutAt, el) || !seen(el)) continue;
      const line = `  ${phrase(el, roleOf(el))} [${prefix}${refFor(el)}]`;
      left -= line.length + 1;
      if (left < 0) return found;
      found.push(line);
    }
  }
  return found;
}

/** The elements, in document order, from the first that does not come before `at`. */
function after(elements: Element[], at: Element): Element[] {
  let low = 0;
  let high = elements.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const el = elements[middle];
    if (el !== undefined && el !== at && follows(el, at)) low = middle + 1;
    else high = middle;
  }
  return elements.slice(low);
}
