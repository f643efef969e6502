// The page as its reader reads it: visible text in order, lines as they are seen, words that are split over elements
// joined again (a secret in two halves must be whole when it is masked). As plain text, as Markdown, or as its links.
// Fields show what they show to a person; secret fields only whether they are filled. It does not mask and not search
// beyond one line.

import { LINE_CHARS_MAX, NODE_CHARS_MAX, SCAN_CHARS_MAX, WORD_CHARS_MAX } from './bounds';
import { around, attr, baseAddress, contains, queryAll, style, tag } from './dom';
import { filledOrEmpty, rawValue, secrecy, takesText } from './fields';
import { HiddenCount } from './hidden';
import { Lines } from './lines';
import { nameOf } from './names';
import { withoutSecrets } from './phrase';
import type { ArgsOf, Reading } from './protocol';
import { level, roleOf } from './roles';
import { type Scope, scopeOf } from './scope';
import { look, silent, textUnseen, type Unseen } from './visibility';
import { type Step, type Visitor, walk } from './walk';
import { headLength, oneLine, short } from './words';

const CHARS_DEFAULT = 24_000;

type Format = 'text' | 'markdown' | 'links';

export function pageText(args: ArgsOf<'text'>): Reading {
  const scope = scopeOf(args.within);
  const lines = new Lines('t', args.maxChars ?? CHARS_DEFAULT, args.cursor, false);
  const hidden = new HiddenCount();
  const earlier = new Set<Element>();
  let cut = false;
  const notes: string[] = [];
  for (const root of scope.roots) {
    const prose = new Prose(args.format ?? 'text', args.query?.toLowerCase(), scope, lines, hidden, earlier);
    const ended = walk(root, prose);
    prose.endLine();
    cut = prose.full;
    if (cut) break;
    if (ended === 'too large' || prose.scanned > SCAN_CHARS_MAX) notes.push(TOO_LARGE);
    earlier.add(root);
  }
  lines.end(cut, 0);
  const shown = withoutSecrets(lines.render());
  if (shown.length === 0) notes.push(args.query === undefined ? 'There is no visible text here.' : NOT_FOUND);
  if (shown.length < 3 && queryAll(document, 'canvas').length > 0) notes.push(CANVAS);
  if (cut) notes.push('Cut here: more text follows. Continue with the cursor, or narrow with `within` or `query`.');
  notes.push(...hidden.notes());
  return { lines: shown, notes, ...(cut && { cursor: lines.cursor() }) };
}

const TOO_LARGE = 'The page is too large to read to its end in one go. Narrow with `within`.';
const NOT_FOUND = 'No visible text contains this.';
const CANVAS = 'The page draws on a canvas, which cannot be read as text; use page_screenshot.';

/** Gathers visible text into lines. */
export class Prose implements Visitor {
  private line = '';
  private pre = 0;
  private ended = 0;
  private readonly links: { ended: number; at: number }[] = [];
  private active: boolean;
  private lastHost: Element | undefined;
  private lastWhy: Unseen | undefined;
  private readonly listed = new Set<string>();
  full = false;
  scanned = 0;

  constructor(
    private readonly format: Format,
    private readonly query: string | undefined,
    private readonly scope: Scope,
    private readonly lines: { add(line: { indent: number; text: string }): boolean },
    private readonly hidden: HiddenCount,
    private readonly earlier: ReadonlySet<Element>,
  ) {
    this.active = scope.section === undefined;
  }

  enter(el: Element): Step {
    if (this.earlier.has(el) || silent(el)) return 'over';
    const outside = this.outside(el);
    if (outside !== undefined) return outside;
    const sight = look(el);
    if (sight?.reach === 'over') {
      this.hidden.part(el, sight.unseen);
      return 'over';
    }
    if (sight === undefined && this.replaced(el)) return this.full ? 'end' : 'over';
    this.open(el);
    return this.full ? 'end' : 'into';
  }

  leave(el: Element): void {
    this.close(el);
  }

  text(node: Text): boolean {
    if (!this.active) return true;
    const host = around(node);
    if (host === null) return true;
    const why = this.unseen(host);
    if (why !== undefined) {
      this.hidden.text(node.substringData(0, LINE_CHARS_MAX).trim().length, why);
      return true;
    }
    for (let from = 0; from < node.length && !this.full && this.scanned <= SCAN_CHARS_MAX; from += NODE_CHARS_MAX) {
      const piece = node.substringData(from, NODE_CHARS_MAX);
      this.scanned += piece.length;
      this.append(piece);
    }
    return !this.full && this.scanned <= SCAN_CHARS_MAX;
  }

  /** Ends the line that is being gathered. */
  endLine(): void {
    this.line = this.pre > 0 ? this.line.trimEnd() : oneLine(this.line);
    while (this.line !== '' && !this.full) this.putHead();
    this.line = '';
    this.ended += 1;
  }

  /** Takes a line of bounded length off what was gathered; the rest stays. */
  private putHead(): void {
    const end = headLength(this.line, LINE_CHARS_MAX);
    this.put(this.line.slice(0, end).trimEnd());
    this.line = this.line.slice(end);
    this.ended += 1;
  }

  private put(text: string): void {
    if (this.format === 'links' || text.trim() === '') return;
    if (this.query !== undefined && !text.toLowerCase().includes(this.query)) return;
    if (!this.lines.add({ indent: 0, text })) this.full = true;
  }

  /** Where the walk stands outside of a heading's section. */
  private outside(el: Element): Step | undefined {
    const { section } = this.scope;
    if (section === undefined) return undefined;
    if (this.active)
      return el !== section.from && roleOf(el) === 'heading' && level(el) <= section.level ? 'end' : undefined;
    if (!contains(el, section.from)) return 'over';
    this.active = el === section.from;
    return this.active ? undefined : 'into';
  }

  private unseen(host: Element): Unseen | undefined {
    if (host !== this.lastHost) {
      this.lastHost = host;
      this.lastWhy = textUnseen(host) ?? (style(host).visibility === 'visible' ? undefined : 'not displayed');
    }
    return this.lastWhy;
  }

  private append(data: string): void {
    if (this.pre === 0) {
      this.line += data.replace(/\s+/gu, ' ');
      // What is kept back is longer than any word that must not be halved.
      while (this.line.length > LINE_CHARS_MAX + WORD_CHARS_MAX && !this.full) this.putHead();
      return;
    }
    const parts = data.split('\n');
    for (const [i, part] of parts.entries()) {
      if (i > 0) this.endLine();
      this.line += part;
      if (this.full) return;
    }
  }

  /** Elements that show something else than what they contain. */
  private replaced(el: Element): boolean {
    const name = tag(el);
    if (name === 'br') this.endLine();
    else if (name === 'hr') this.endLine();
    else if (name === 'img' && this.format === 'markdown') this.line += image(el);
    else if (name === 'select' || takesText(el)) this.line += ` ${fieldText(el)} `;
    else if (name === 'input') this.line += buttonText(el);
    else return false;
    return true;
  }

  private open(el: Element): void {
    const { display, whiteSpaceCollapse } = style(el);
    if (isCell(display)) this.line += this.line.trim() === '' ? '' : '\t';
    else if (isBlock(display)) this.endLine();
    if (whiteSpaceCollapse === 'preserve' && isBlock(display)) this.openPre();
    if (this.format === 'markdown') this.line += opening(el);
    if (isLink(el)) this.links.push({ ended: this.ended, at: this.line.length });
  }

  private close(el: Element): void {
    if (isLink(el)) this.closeLink(el, this.links.pop());
    const { display, whiteSpaceCollapse } = style(el);
    if (isBlock(display) && !isCell(display)) this.endLine();
    if (whiteSpaceCollapse === 'preserve' && isBlock(display)) this.closePre();
    else if (this.format === 'markdown' && tag(el) === 'code' && this.pre === 0) this.line += '`';
  }

  private openPre(): void {
    this.pre += 1;
    if (this.pre === 1 && this.format === 'markdown') this.put('```');
  }

  private closePre(): void {
    this.pre -= 1;
    if (this.pre === 0 && this.format === 'markdown') this.put('```');
  }

  private closeLink(el: Element, start: { ended: number; at: number } | undefined): void {
    const address = linkAddress(el);
    if (address === undefined || this.format === 'text') return;
    const at = start?.ended === this.ended ? start.at : 0;
    const said = oneLine(this.line.slice(at));
    if (this.format === 'links') this.listLink(`${short(said === '' ? nameOf(el, 'link') : said, 200)} → ${address}`);
    else if (said !== '') this.line = `${this.line.slice(0, at)}[${said}](${address})`;
    else if (start?.ended !== this.ended) this.put(`→ ${address}`);
  }

  private listLink(text: string): void {
    if (this.listed.has(text) || (this.query !== undefined && !text.toLowerCase().includes(this.query))) return;
    this.listed.add(text);
    if (!this.lines.add({ indent: 0, text })) this.full = true;
  }
}

const isCell = (display: string): boolean => display === 'table-cell';
const isBlock = (display: string): boolean => !display.startsWith('inline') && display !== 'contents';
const isLink = (el: Element): boolean => (tag(el) === 'a' || tag(el) === 'area') && attr(el, 'href') !== null;

function linkAddress(el: Element): string | undefined {
  const address = URL.parse(attr(el, 'href') ?? '', baseAddress(document));
  return address !== null && /^(https?|mailto|tel|ftp):$/.test(address.protocol) ? address.href : undefined;
}

function opening(el: Element): string {
  const role = roleOf(el);
  if (role === 'heading') return `${'#'.repeat(Math.min(level(el), 6))} `;
  if (tag(el) === 'li') return '- ';
  if (tag(el) === 'blockquote') return '> ';
  return tag(el) === 'code' && style(el).whiteSpaceCollapse !== 'preserve' ? '`' : '';
}

function image(el: Element): string {
  const alt = attr(el, 'alt') ?? '';
  return alt === '' ? '' : `![${short(alt, 200)}]`;
}

function fieldText(el: Element): string {
  if (secrecy(el) !== undefined) return `[${filledOrEmpty(el)}]`;
  const value = short(rawValue(el).slice(0, LINE_CHARS_MAX), LINE_CHARS_MAX / 4);
  return value === '' ? '' : `[${value}]`;
}

function buttonText(el: Element): string {
  if (!(el instanceof HTMLInputElement)) return '';
  if (el.type === 'checkbox' || el.type === 'radio') return el.checked ? '[x] ' : '[ ] ';
  return /^(button|submit|reset)$/.test(el.type) ? ` [${short(el.value, 100)}] ` : '';
}
