// Names elements as their user would: through the accessible-name library where the computation is small, through the
// element's own short text where it is not. It never takes a field's value into a name (a label may wrap a password
// field), and no element costs more than a bounded number of nodes.

import { computeAccessibleName } from 'dom-accessibility-api';
import { NAME_CHARS_MAX, NAME_NODES_MAX } from './bounds';
import {
  attr,
  byId,
  content,
  firstChild,
  isElement,
  isText,
  matches,
  nextSibling,
  queryAll,
  style,
  tag,
  treeOf,
} from './dom';
import { roleOf } from './roles';
import { silent } from './visibility';
import { oneLine, short } from './words';

/** Roles whose name is what they contain. */
const FROM_CONTENT = new Set(
  `alert button cell checkbox clickable columnheader gridcell heading link log menuitem menuitemcheckbox menuitemradio
  option radio row rowheader status switch tab timer tooltip treeitem`.split(/\s+/),
);

const GIVEN = ['aria-label', 'aria-labelledby', 'title', 'alt', 'placeholder', 'aria-placeholder'];
const FIELD = 'input,textarea,select,[contenteditable],[role=textbox],[role=combobox]';

/** The accessible name, one line, of bounded length. */
export function nameOf(el: Element, role: string): string {
  const fromContent = FROM_CONTENT.has(role);
  if (fromContent && !GIVEN.some((name) => attr(el, name) !== null) && !isLabelled(el)) {
    const plain = plainText(el);
    if (plain !== undefined) return short(plain, NAME_CHARS_MAX);
  }
  const asked = isSmall(el, fromContent) ? ask(el) : '';
  return short(asked === '' ? ownName(el, fromContent) : asked, NAME_CHARS_MAX);
}

/** The text of an element that holds nothing but one short run of text. */
function plainText(el: Element): string | undefined {
  const only = content(el);
  if (Array.isArray(only) || only === null || nextSibling(only) !== null) return undefined;
  if (isText(only)) return only.data.slice(0, NAME_CHARS_MAX * 4);
  return isElement(only) && PHRASE.has(tag(only)) && GIVEN.every((name) => attr(only, name) === null)
    ? plainText(only)
    : undefined;
}

const PHRASE = new Set('b code em i span strong'.split(' '));

function isLabelled(el: Element): boolean {
  return 'labels' in el && el.labels instanceof NodeList && el.labels.length > 0;
}

/**
 * Whether the library may be asked: it visits everything below the element, its labels, what they refer to, and what
 * that refers to in turn; and it takes the value of every field it comes across.
 */
function isSmall(el: Element, fromContent: boolean): boolean {
  const parts = namedBy(el, fromContent);
  // What is added while this runs is visited too.
  for (const part of parts) {
    if (parts.size > PARTS_MAX || below(part) > NAME_NODES_MAX || holdsField(part, el)) return false;
    for (const other of queryAll(part, REFERRING).concat(part).flatMap(referredByAny)) parts.add(other);
  }
  return true;
}

/** What the library begins with. */
function namedBy(el: Element, fromContent: boolean): Set<Element> {
  const parts = new Set(referred(el, 'aria-labelledby'));
  if (fromContent || tag(el) === 'fieldset' || tag(el) === 'table') parts.add(el);
  if ('labels' in el && el.labels instanceof NodeList) {
    for (const label of el.labels) if (isElement(label)) parts.add(label);
  }
  return parts;
}

const PARTS_MAX = 24;
const REFERRING = '[aria-labelledby],[aria-owns]';

function referred(el: Element, name: 'aria-labelledby' | 'aria-owns'): Element[] {
  const tree = treeOf(el);
  const ids = (attr(el, name) ?? '').split(/\s+/).slice(0, PARTS_MAX + 1);
  return ids.flatMap((id) => (id === '' ? [] : (byId(tree, id) ?? [])));
}

const referredByAny = (el: Element): Element[] => [...referred(el, 'aria-labelledby'), ...referred(el, 'aria-owns')];

/** A field inside a name would give its value away; one that names itself after itself too. */
function holdsField(part: Element, self: Element): boolean {
  return matches(part, FIELD)
    ? part !== self || names(part, self)
    : queryAll(part, FIELD).some((each) => each !== self);
}

const names = (part: Element, el: Element): boolean => referred(el, 'aria-labelledby').includes(part);

function below(part: Element): number {
  let count = 0;
  const open: Node[] = [part];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (let child = firstChild(node); child !== null; child = nextSibling(child)) {
      count += 1;
      if (count > NAME_NODES_MAX) return count;
      if (isElement(child)) open.push(child);
      else if (isText(child) && child.length > NAME_CHARS_MAX * 40) return NAME_NODES_MAX + 1;
    }
  }
  return count;
}

function ask(el: Element): string {
  try {
    return oneLine(computeAccessibleName(el));
  } catch {
    // A form whose fields are named like DOM properties breaks the library; its own text will do.
    return '';
  }
}

/** What names an element without the library: what its author gave, else the head of what it contains. */
function ownName(el: Element, fromContent: boolean): string {
  for (const name of GIVEN) {
    const given = name === 'aria-labelledby' ? referredText(el) : attr(el, name);
    if (given !== null && given.trim() !== '') return given.slice(0, NAME_CHARS_MAX * 4);
  }
  if (isLabelled(el) && 'labels' in el && el.labels instanceof NodeList) {
    const label = el.labels.item(0);
    if (isElement(label)) return headText(label, NAME_CHARS_MAX * 2);
  }
  return fromContent ? headText(el, NAME_CHARS_MAX * 2) : '';
}

/** The text of what the element is named after, fields left out. */
function referredText(el: Element): string {
  const parts = referred(el, 'aria-labelledby').filter((part) => !matches(part, FIELD));
  return parts.map((part) => headText(part, NAME_CHARS_MAX * 2)).join(' ');
}

/** The first characters of text inside an element, without fields and without what is plainly not displayed. */
export function headText(el: Element, max: number): string {
  let gathered = '';
  let visited = 0;
  const open: Node[] = [el];
  for (let node = open.pop(); node !== undefined && gathered.length < max; node = open.pop()) {
    visited += 1;
    if (visited > NAME_NODES_MAX * 8) break;
    if (isText(node)) gathered += node.substringData(0, max * 2);
    else if (isElement(node) && readable(node, el)) {
      if (style(node).display !== 'inline') gathered += ' ';
      open.push(...inner(node, NAME_NODES_MAX).reverse());
    }
  }
  return oneLine(gathered);
}

function readable(node: Element, top: Element): boolean {
  if (node === top) return true;
  return (
    !silent(node) && attr(node, 'aria-hidden') !== 'true' && !node.matches(FIELD) && style(node).display !== 'none'
  );
}

function inner(node: Node, max: number): Node[] {
  const first = content(node);
  if (Array.isArray(first)) return first.slice(0, max);
  const nodes: Node[] = [];
  for (let child = first; child !== null && nodes.length < max; child = nextSibling(child)) nodes.push(child);
  return nodes;
}

/** An element in a sentence: its role and name, or what marks it in the source. */
export function describe(el: Element): string {
  for (let at: Element | null = el, steps = 0; at !== null && steps < 4; steps += 1) {
    const role = roleOf(at);
    const name = role === '' ? '' : short(nameOf(at, role), 60);
    if (name !== '') return `${role} "${name}"`;
    if (role === 'dialog' || role === 'alertdialog') return role;
    const id = attr(at, 'id');
    if (id !== null && id !== '') return `${tag(at)}#${short(id, 60)}`;
    at = at.parentElement;
  }
  return `a ${tag(el)} element`;
}
