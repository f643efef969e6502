// The visitor behind a snapshot: decides for each element whether it becomes a line, context for later lines, or nothing,
// and whether to go into it. Context without content is not shown; text is shown only when asked for or searched.

import { LINE_CHARS_MAX } from './bounds';
import { around, attr, contains, firstChild, isElement, parent, queryIn, shadowOf, style, tag } from './dom';
import type { HiddenCount } from './hidden';
import type { Line, Lines } from './lines';
import { headText, nameOf } from './names';
import { phrase, quoted } from './phrase';
import { refFor } from './refs';
import { ACTABLE, isClickable, isGroup, isInteractive, isLandmark, isSpeaking, level, roleOf } from './roles';
import type { Scope } from './scope';
import { standIn } from './standin';
import { look, silent, textUnseen } from './visibility';
import type { Step, Visitor } from './walk';
import { oneLine, short } from './words';

export interface Wish {
  filter: 'interactive' | 'all';
  query: string | undefined;
  depth: number;
  prefix: string;
}

interface Context {
  el: Element;
  line: Line;
  shown: boolean;
}

export class View implements Visitor {
  private readonly contexts: Context[] = [];
  private heading: Context | undefined;
  /** Elements whose own line already tells their text. */
  private readonly told: Element[] = [];
  private run = '';
  private active: boolean;
  /** The first element that did not fit. */
  cutAt: Element | undefined;
  /** Context that a continued reading starts in. */
  inside: string | undefined;

  constructor(
    private readonly wish: Wish,
    private readonly scope: Scope,
    private readonly lines: Lines,
    private readonly hidden: HiddenCount,
    private readonly earlier: ReadonlySet<Element>,
  ) {
    this.active = scope.section === undefined;
  }

  enter(el: Element): Step {
    if (this.earlier.has(el) || silent(el)) return 'over';
    if (!this.active) {
      const from = this.scope.section?.from;
      if (from === undefined || !contains(el, from)) return 'over';
      if (el !== from) return 'into';
      this.active = true;
    } else if (this.endsSection(el)) return 'end';
    const sight = look(el);
    if (sight === undefined || standIn(el) !== undefined) return this.element(el);
    if (sight.reach === 'self') return 'into';
    this.hidden.part(el, sight.unseen);
    return 'over';
  }

  leave(el: Element): void {
    if (this.told.at(-1) === el) this.told.pop();
    if (this.contexts.at(-1)?.el === el) {
      this.endRun();
      this.contexts.pop();
    } else if (this.run !== '' && isBlock(el)) this.endRun();
  }

  text(node: Text): boolean {
    if (!this.wantsText() || this.told.length > 0 || !this.active) return true;
    const host = around(node);
    if (host === null) return true;
    const why = textUnseen(host) ?? (style(host).visibility === 'visible' ? undefined : 'not displayed');
    if (why !== undefined) {
      this.hidden.text(node.data.trim().length, why);
      return true;
    }
    this.run += node.substringData(0, LINE_CHARS_MAX * 4);
    return this.cutAt === undefined;
  }

  /** Writes the text gathered so far as a line. */
  endRun(): boolean {
    const said = short(this.run, LINE_CHARS_MAX);
    this.run = '';
    return said === '' || this.put(quoted(said), undefined, undefined);
  }

  private wantsText(): boolean {
    return this.wish.filter === 'all' || this.wish.query !== undefined;
  }

  private endsSection(el: Element): boolean {
    const { section } = this.scope;
    return section !== undefined && el !== section.from && roleOf(el) === 'heading' && level(el) <= section.level;
  }

  private element(el: Element): Step {
    if (this.wantsText() && this.run !== '' && isBlock(el) && !this.endRun()) return 'end';
    const role = roleOf(el);
    if (role === 'heading') return this.headingLine(el);
    if (isInteractive(role)) return this.control(el, role);
    if (isSpeaking(role)) return this.speaking(el, role);
    if (isLandmark(role) || this.isContext(el, role)) return this.context(el, role);
    if (role === 'iframe') return this.frame(el);
    if (role === 'img' && this.wantsText()) return this.picture(el);
    if (!this.wantsText() && isDrawn(el)) return this.within(el);
    if (this.told.length === 0 && role === '' && this.clickable(el)) return this.control(el, 'clickable');
    return 'into';
  }

  private clickable(el: Element): boolean {
    const up = parent(el);
    return (
      el instanceof HTMLElement &&
      tag(el) !== 'label' &&
      tag(el) !== 'body' &&
      isClickable(el, isElement(up) ? up : null)
    );
  }

  private headingLine(el: Element): Step {
    const line = this.lineOf(el, phrase(el, 'heading'));
    this.heading = { el, line, shown: false };
    if (this.wish.query === undefined || this.matches(line.text)) {
      if (!this.put(line.text, line.ref, el)) return 'end';
      this.heading.shown = true;
    }
    return this.within(el);
  }

  private control(el: Element, role: string): Step {
    this.endRun();
    const text = phrase(el, role);
    if (role === 'clickable' && text === role) return 'into';
    if (!this.put(text, undefined, el)) return 'end';
    return role === 'textbox' || tag(el) === 'select' || tag(el) === 'textarea' ? 'over' : this.within(el);
  }

  private speaking(el: Element, role: string): Step {
    const said = headText(el, 300);
    const value = phrase(el, role);
    const text = said === '' || value.includes(said) ? value : `${value} ${quoted(short(said, 300))}`;
    if (text !== role && !this.put(text, undefined, el)) return 'end';
    return this.within(el);
  }

  /** Goes into an element whose text is told already only if there is more to act on inside. */
  private within(el: Element): Step {
    if (firstChild(el) === null && shadowOf(el) === null) return 'over';
    if (queryIn(el, ACTABLE) === null && shadowOf(el) === null && queryIn(el, ':defined[slot],slot') === null)
      return 'over';
    this.told.push(el);
    return 'into';
  }

  private isContext(el: Element, role: string): boolean {
    if (!isGroup(role)) return false;
    if (role === 'dialog' || role === 'alertdialog' || this.wish.filter === 'all') return role !== 'listitem';
    if (role === 'row') return queryIn(el, 'button,input,select,textarea,[role=button],[role=checkbox]') !== null;
    return role !== 'list' && role !== 'listitem' && nameOf(el, role) !== '';
  }

  private context(el: Element, role: string): Step {
    const row = role === 'row' ? short(headText(el, 160), 120) : '';
    const text = row === '' ? phrase(el, role) : `row ${quoted(row)}`;
    const line = this.lineOf(el, text);
    this.contexts.push({ el, line, shown: false });
    const eager = this.wish.query === undefined ? isLandmark(role) : this.matches(text);
    if (eager && !this.showContexts()) return 'end';
    if (this.contexts.length < this.wish.depth) return 'into';
    this.contexts.pop();
    return this.wish.query === undefined && !eager && !this.put(text, undefined, el) ? 'end' : 'over';
  }

  private frame(el: Element): Step {
    const source = frameOrigin(attr(el, 'src'));
    return this.put(`${phrase(el, 'iframe')}${source}`, undefined, el) ? 'over' : 'end';
  }

  private picture(el: Element): Step {
    const text = phrase(el, 'img');
    return text === 'img' || this.put(text, undefined, el) ? 'over' : 'end';
  }

  private lineOf(el: Element, text: string): Line {
    return { indent: this.contexts.length, text, ref: this.wish.prefix + refFor(el), el };
  }

  private matches(text: string): boolean {
    return this.wish.query === undefined || text.toLowerCase().includes(this.wish.query);
  }

  /** Adds a line with the context it stands in. `false` once the reading is full. */
  private put(text: string, ref: string | undefined, el: Element | undefined): boolean {
    if (this.cutAt !== undefined) return false;
    if (!this.matches(text)) return true;
    if (!this.showContexts()) return false;
    const { heading } = this;
    if (heading !== undefined && !heading.shown && heading.el !== el) {
      heading.shown = true;
      if (!this.add({ ...heading.line, indent: this.contexts.length })) return false;
    }
    const known = ref ?? (el === undefined ? undefined : this.wish.prefix + refFor(el));
    return this.add({ indent: this.contexts.length, text, ...(known && { ref: known }), ...(el && { el }) });
  }

  private showContexts(): boolean {
    for (const [indent, context] of this.contexts.entries()) {
      if (context.shown) continue;
      context.shown = true;
      if (!this.add({ ...context.line, indent })) return false;
    }
    return true;
  }

  private add(line: Line): boolean {
    const skipped = this.lines.skipping;
    if (!this.lines.add(line)) {
      this.cutAt = line.el ?? this.contexts.at(-1)?.el ?? this.heading?.el;
      return false;
    }
    if (skipped && !this.lines.skipping) {
      this.inside = this.contexts
        .filter((c) => c.shown && c.line !== line)
        .map((c) => c.line.text)
        .join(' > ');
    }
    return true;
  }
}

/** Parts with many elements and seldom a control: gone into only if they hold one. */
const isDrawn = (el: Element): boolean => tag(el) === 'pre' || tag(el) === 'svg' || tag(el) === 'math';

function isBlock(el: Element): boolean {
  const { display } = style(el);
  return !display.startsWith('inline') && display !== 'contents' && display !== 'none';
}

function frameOrigin(src: string | null): string {
  const address = src === null || src === '' ? undefined : URL.parse(src, location.href);
  return address === undefined || address === null ? '' : ` from ${oneLine(address.origin)}`;
}
