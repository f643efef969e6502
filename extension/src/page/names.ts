// Names elements as their user would: through the accessible-name library where the computation is small, through the
// element's own short text where it is not. It never takes a field's value into a name (a label may wrap a password
// field), and no element costs more than a bounded number of nodes.

import { computeAccessibleName } from 'dom-accessibility-api';
import { NAME_CHARS_MAX, NAME_NODES_MAX } from './bounds';
import { attr, content, firstChild, isElement, isText, nextSibling, queryIn, style, tag, treeOf } from './dom';
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

/** Whether the library may be asked: it visits everything below the element, its labels and what they refer to. */
function isSmall(el: Element, fromContent: boolean): boolean {
  const parts = fromContent || tag(el) === 'fieldset' || tag(el) === 'table' ? [el] : [];
  const tree = treeOf(el);
  for (const id of (attr(el, 'aria-labelledby') ?? '').split(/\s+/).slice(0, 8)) {
    const part = id === '' ? null : tree.getElementById(id);
    if (part !== null) parts.push(part);
  }
  if ('labels' in el && el.labels instanceof NodeList) {
    for (const label of el.labels) if (isElement(label)) parts.push(label);
  }
  return parts.every((part) => below(part) <= NAME_NODES_MAX && !holdsField(part, el));
}

/** A field inside a name would give its value away. */
function holdsField(part: Element, self: Element): boolean {
  const field = queryIn(part, FIELD);
  return field !== null && field !== self;
}

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
    const given = name === 'aria-labelledby' ? null : attr(el, name);
    if (given !== null && given.trim() !== '') return given.slice(0, NAME_CHARS_MAX * 4);
  }
  if (isLabelled(el) && 'labels' in el && el.labels instanceof NodeList) {
    const label = el.labels.item(0);
    if (isElement(label)) return headText(label, NAME_CHARS_MAX * 2);
  }
  return fromContent ? headText(el, NAME_CHARS_MAX * 2) : '';
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
