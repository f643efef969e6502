// Binds refs to elements. A ref is given once per document and never to another element; the binding in memory decides.
// A stamp in the DOM lets a fresh script (after an update of the extension) find an element again, but only if it is the
// only one with that stamp, in the document it was given in, with the role and name it had. A page can write stamps:
// that makes them ambiguous or wrong, never a way to redirect a ref that is bound.

import { attr, connected, hasAttr, queryAll, rootElement, setAttr, shadowOf } from './dom';
import { nameOf } from './names';
import { failed } from './refusal';
import { roleOf } from './roles';
import { digest } from './words';

const STAMP = 'data-genkan-ref';
const COUNTER = 'data-genkan-refs';
const LARGEST = 9_999_999;
/** A page can write the marks too; it must not use up the numbers with one. */
const NOTED_MAX = 1_000_000;

/** Identifies this document across scripts that come and go in it; a page cannot set it. */
const DOCUMENT = Math.round(performance.timeOrigin * 1_000).toString(36);

const given = new WeakMap<Element, string>();
const bound = new Map<string, WeakRef<Element>>();
const unstamped = new Set<Element>();
let last: number | undefined;

/** The ref of an element, a new one if it has none. */
export function refFor(el: Element): string {
  const known = given.get(el);
  if (known !== undefined) return known;
  const kept = keptRef(el);
  const ref = kept ?? `e${nextNumber()}`;
  given.set(el, ref);
  bound.set(ref, new WeakRef(el));
  if (kept === undefined) unstamped.add(el);
  return ref;
}

/** Writes the stamps of new refs, all at once and after the reading: a write between reads costs a layout each. */
export function stampNew(): void {
  for (const el of unstamped) {
    const ref = given.get(el);
    if (ref !== undefined) setAttr(el, STAMP, stampOf(el, ref));
  }
  unstamped.clear();
  if (last !== undefined) setAttr(rootElement(document), COUNTER, String(last));
}

/** The element of a ref. Refuses what is unknown, gone, or marked more than once. */
export function elementOf(ref: string): Element {
  const el = bound.get(ref)?.deref();
  if (el !== undefined && connected(el)) return el;
  if (bound.has(ref)) throw failed(`${ref} is no longer on the page. Take a new snapshot and use a ref from there.`);
  return fromStamp(ref);
}

function fromStamp(ref: string): Element {
  if (!/^e[1-9]\d{0,6}$/.test(ref)) throw failed(`${ref} is not a ref of this page. Take a new snapshot.`);
  const marked = stamped().filter((el) => refIn(attr(el, STAMP)) === ref);
  const [el] = marked;
  if (el === undefined) throw failed(`${ref} is not known on this page. Take a new snapshot and use a ref from there.`);
  if (marked.length > 1) {
    throw failed(`${ref} marks ${marked.length} elements, so it is not clear which one is meant. Take a new snapshot.`);
  }
  if (attr(el, STAMP) !== stampOf(el, ref)) {
    throw failed(`${ref} marks an element that is not what it was. Take a new snapshot and use a ref from there.`);
  }
  last = Math.max(last ?? startNumber(), Number(ref.slice(1)));
  given.set(el, ref);
  bound.set(ref, new WeakRef(el));
  return el;
}

/** The ref that an earlier script gave this element, if the stamp is true, alone, and not bound to another. */
function keptRef(el: Element): string | undefined {
  const ref = hasAttr(el, STAMP) ? refIn(attr(el, STAMP)) : undefined;
  if (ref === undefined || bound.has(ref) || attr(el, STAMP) !== stampOf(el, ref)) return undefined;
  const marked = legacy().get(ref) ?? [];
  return marked.length === 1 && marked[0] === el ? ref : undefined;
}

function stampOf(el: Element, ref: string): string {
  const role = roleOf(el);
  return `${ref}.${DOCUMENT}.${digest(`${role}\n${nameOf(el, role)}`).toString(36)}`;
}

function refIn(stamp: string | null): string | undefined {
  const [ref, home] = (stamp ?? '').split('.');
  return ref !== undefined && home === DOCUMENT && /^e[1-9]\d{0,6}$/.test(ref) ? ref : undefined;
}

let left: ReadonlyMap<string, Element[]> | undefined;

/** What an earlier script had stamped when this one first gave a ref. */
function legacy(): ReadonlyMap<string, Element[]> {
  left ??= Map.groupBy(stamped(), (el) => refIn(attr(el, STAMP)) ?? '');
  return left;
}

function nextNumber(): number {
  last = (last ?? startNumber()) + 1;
  if (last > LARGEST) throw failed('This page used up its refs. Reload it.');
  return last;
}

/** Where an earlier script stopped, by the largest number that it left in this document. */
function startNumber(): number {
  const noted = Number(attr(rootElement(document), COUNTER) ?? '0');
  const numbers = [...legacy().keys()].map((ref) => Number(ref.slice(1)));
  const most = numbers.reduce((a, b) => Math.max(a, b), Number.isInteger(noted) && noted > 0 ? noted : 0);
  return Math.min(most, NOTED_MAX);
}

/** Everything that carries a stamp; shadow trees are searched only where an earlier script left its mark. */
function stamped(): Element[] {
  const scopes: (Document | ShadowRoot)[] = [document];
  const found: Element[] = [];
  for (const scope of scopes) {
    found.push(...queryAll(scope, `[${STAMP}]`));
    if (hasAttr(rootElement(document), COUNTER)) scopes.push(...openRoots(scope));
  }
  return found;
}

const openRoots = (scope: Document | ShadowRoot): ShadowRoot[] =>
  queryAll(scope, ':defined').flatMap((el) => shadowOf(el) ?? []);
