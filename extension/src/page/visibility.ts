// Decides what a person looking at the page could see. Text that only a program would read (not displayed, transparent,
// clipped away, off the page, of no size) is a favourite place for instructions to an agent, so it is left out and counted.
// It does not know colours that only look like their background, nor images painted over text.

import { HIDDEN_NODES_MAX, TINY_PX } from './bounds';
import {
  around,
  attr,
  content,
  firstChild,
  isElement,
  isText,
  nextSibling,
  painted,
  rect,
  rootElement,
  style,
  tag,
} from './dom';

/** Why a part of the page is not seen. */
export type Unseen = 'not displayed' | 'transparent' | 'aria-hidden' | 'clipped' | 'off the page' | 'of no size';

/** `over`: nothing in it is seen; `self`: only its own text and box are not; `undefined`: seen. */
export interface Sight {
  unseen: Unseen;
  reach: 'over' | 'self';
}

/** Looks at an element whose ancestors were seen already. */
export function look(el: Element): Sight | undefined {
  if (attr(el, 'aria-hidden') === 'true') return { unseen: 'aria-hidden', reach: 'over' };
  const css = style(el);
  if (!painted(el)) {
    const why = unpainted(css);
    if (why !== undefined) return why;
  }
  return clipped(el, css);
}

function unpainted(css: CSSStyleDeclaration): Sight | undefined {
  if (css.display === 'none' || css.contentVisibility === 'hidden') return { unseen: 'not displayed', reach: 'over' };
  if (Number(css.opacity) < 0.02) return { unseen: 'transparent', reach: 'over' };
  if (css.visibility !== 'visible') return { unseen: 'not displayed', reach: 'self' };
  return undefined;
}

const NO_CLIP = /^rect\((0(px)?,? ?){4}\)$|^rect\(1px,? 1px,? 1px,? 1px\)$/;
const NO_PATH =
  /^inset\((5\d|[6-9]\d|\d{3,})(\.\d+)?%|^circle\(0(px|%)?( |\))|^polygon\(\s*0(px)? 0(px)?(, 0(px)? 0(px)?)*\)$/;

function clipped(el: Element, css: CSSStyleDeclaration): Sight | undefined {
  const path = css.clipPath;
  if (path !== 'none' && NO_PATH.test(path)) return { unseen: 'clipped', reach: 'over' };
  const position = css.position;
  if (position === 'static') return tinyWindow(el, css);
  if ((position === 'absolute' || position === 'fixed') && css.clip !== 'auto' && NO_CLIP.test(css.clip)) {
    return { unseen: 'clipped', reach: 'over' };
  }
  return tinyWindow(el, css) ?? offPage(el, position === 'fixed');
}

/** A box that shows nothing of what overflows it, and has no room itself. */
function tinyWindow(el: Element, css: CSSStyleDeclaration): Sight | undefined {
  if (css.overflowX === 'visible' || css.overflowY === 'visible' || css.display === 'inline') return undefined;
  const box = rect(el);
  return box.width <= TINY_PX || box.height <= TINY_PX ? { unseen: 'clipped', reach: 'over' } : undefined;
}

/** A box that no scrolling brings into the view. */
function offPage(el: Element, fixed: boolean): Sight | undefined {
  const box = rect(el);
  if (box.width === 0 && box.height === 0) return undefined;
  return isOffPage(box, fixed) ? { unseen: 'off the page', reach: 'over' } : undefined;
}

function isOffPage(box: DOMRect, fixed: boolean): boolean {
  if (fixed && (box.left >= window.innerWidth || box.top >= window.innerHeight)) return true;
  const left = fixed ? 0 : -window.scrollX + leftmost();
  const top = fixed ? 0 : -window.scrollY;
  return box.right <= left || box.bottom <= top;
}

/** Right-to-left pages scroll to negative positions. */
function leftmost(): number {
  const root = rootElement(document);
  return style(root).direction === 'rtl' ? root.clientWidth - root.scrollWidth : 0;
}

/** Whether text directly inside `el` has a size, and a place on the page (a negative indent can push it out). */
export function textUnseen(el: Element): Unseen | undefined {
  const css = style(el);
  if (Number.parseFloat(css.fontSize) < 1) return 'of no size';
  const indent = Number.parseFloat(css.textIndent);
  return indent < -500 || indent > 5_000 ? 'off the page' : undefined;
}

/** Whether a person sees the element: it has a box, and neither it nor anything around it is hidden. */
export function seen(el: Element): boolean {
  return unseenBecause(el) === undefined;
}

/** Why a person does not see the element. */
export function unseenBecause(el: Element): Unseen | undefined {
  const own = look(el);
  if (own !== undefined) return own.unseen;
  if (!painted(el) && style(el).display !== 'contents') return 'not displayed';
  for (let at = around(el); at !== null; at = around(at)) {
    const sight = look(at);
    if (sight?.reach === 'over') return sight.unseen;
  }
  const box = rect(el);
  return box.width === 0 && box.height === 0 && !hasBoxInside(el) ? 'of no size' : undefined;
}

function hasBoxInside(el: Element): boolean {
  for (let node = firstChild(el); node !== null; node = nextSibling(node)) {
    if (!isElement(node)) continue;
    const box = rect(node);
    if (box.width > 0 && box.height > 0) return true;
  }
  return false;
}

/** Elements that never show their content as text. */
const SILENT = new Set(
  'script style template noscript head title meta link base object embed param source track audio video canvas datalist'.split(
    ' ',
  ),
);

/** Whether an element's content is no text of the page at all. */
export const silent = (el: Element): boolean => SILENT.has(tag(el));

/** Characters of text in a part that is left out; counting stops at a bound, and `least` tells. */
export function hiddenChars(part: Element): { chars: number; least: boolean } {
  let chars = 0;
  let visited = 0;
  const open: Node[] = [part];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    visited += 1;
    if (visited > HIDDEN_NODES_MAX) return { chars, least: true };
    if (isText(node)) chars += node.data === '' || node.length > 1_000 ? node.length : node.data.trim().length;
    else if (isElement(node) && !silent(node)) push(open, content(node));
  }
  return { chars, least: false };
}

function push(open: Node[], inner: Node[] | Node | null): void {
  if (Array.isArray(inner)) {
    open.push(...inner.slice(0, HIDDEN_NODES_MAX));
    return;
  }
  let count = 0;
  for (let node = inner; node !== null && count < HIDDEN_NODES_MAX; node = nextSibling(node)) {
    open.push(node);
    count += 1;
  }
}
