// Decides where a reading starts: the whole page with its open dialogs first, one element, or the section of a heading.

import { attr, body, connected, queryAll, rootElement } from './dom';
import { filledOrEmpty, secrecy } from './fields';
import { elementOf } from './refs';
import { failed, invalid } from './refusal';
import { level, roleOf } from './roles';
import { pointed } from './standin';
import { seen } from './visibility';

export interface Scope {
  /** Roots to read, in this order; none lies inside an earlier one twice. */
  roots: Element[];
  /** Where reading starts within the root, and the heading level at which it ends. */
  section?: { from: Element; level: number };
  modal: boolean;
}

const TOP = 'dialog:modal,[popover]:popover-open,:fullscreen,[aria-modal=true]';

/** The scope of `within`, a ref or a selector; without one, of the page. */
export function scopeOf(within: string | undefined): Scope {
  if (within === undefined) {
    const tops = queryAll(document, TOP).filter((el) => connected(el) && el !== rootElement(document) && seen(el));
    return { roots: [...tops, body(document) ?? rootElement(document)], modal: tops.length > 0 };
  }
  const el = /^e\d+$/.test(within) ? elementOf(within) : oneSeen(within);
  const role = roleOf(el);
  const around = el.parentElement;
  if (role !== 'heading' || around === null) return { roots: [el], modal: false };
  return { roots: [sectionRoot(el, around)], section: { from: el, level: level(el) }, modal: false };
}

/** A heading is often wrapped alone; its section is what follows the wrapper. */
function sectionRoot(heading: Element, around: Element): Element {
  let root = around;
  while (
    root.parentElement !== null &&
    root.lastElementChild === root.firstElementChild &&
    contentOnly(root, heading)
  ) {
    root = root.parentElement;
  }
  return root;
}

const contentOnly = (root: Element, heading: Element): boolean => root.firstElementChild === heading;

/** The one visible element of a selector; refuses several, naming how many. */
export function oneSeen(selector: string): Element {
  const found = select(selector);
  if (found.length === 0) throw failed(`Nothing on the page matches the selector ${selector}.`);
  const shown = found.slice(0, MATCHES_MAX).filter((el) => pointed(el) !== undefined);
  const [only] = shown;
  if (only === undefined) {
    throw failed(`${found.length} elements match the selector ${selector}, and none of them is visible.`);
  }
  if (shown.length > 1) {
    const count = found.length > MATCHES_MAX ? `more than ${shown.length - 1}` : `${shown.length}`;
    throw failed(`The selector ${selector} matches ${count} visible elements. Name one: use a ref from page_snapshot.`);
  }
  return only;
}

const MATCHES_MAX = 2_000;

/** Everything that matches, shadow trees aside: a selector does not reach into them. */
export function select(selector: string): Element[] {
  if (/value/i.test(unescaped(selector)) && holdsSecret()) {
    throw failed(
      'A selector must not look at values while a field of the page holds a secret. Use a ref from page_snapshot.',
    );
  }
  try {
    return queryAll(document, selector);
  } catch {
    throw invalid(`${selector} is not a CSS selector.`);
  }
}

/** By `[value^=a]` and the like a secret could be asked for letter by letter. */
const holdsSecret = (): boolean =>
  queryAll(document, 'input,select').some(
    (el) => secrecy(el) !== undefined && (filledOrEmpty(el) === 'filled' || (attr(el, 'value') ?? '') !== ''),
  );

/** A name in a selector may be written in escapes. */
const unescaped = (selector: string): string =>
  selector
    .replace(/\\([0-9a-f]{1,6})\s?/gi, (_, hex: string) => {
      const code = Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : '';
    })
    .replace(/\\/g, '');
