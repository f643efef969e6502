// Reads the DOM through getters taken from the prototypes. This script's world is its own, so a page cannot change them;
// but a form or a document hands out its named children as properties (`<input name="parentNode">`), and those would
// shadow what we ask for. Everything that may be given a form or the document is read through here.
// Closed shadow roots are reached only if the entrypoint hands over the browser's own key to them.

/** Reads one property of a prototype, whatever the object's named children are called. */
function reader<T extends object, K extends keyof T>(proto: T, key: K): (self: T) => T[K] {
  const read = Object.getOwnPropertyDescriptor(proto, key)?.get;
  if (read === undefined) throw new TypeError(`${String(key)} is not an attribute`);
  return (self) => Reflect.apply(read, self, []);
}

const N = Node.prototype;
const E = Element.prototype;
const D = Document.prototype;
const F = HTMLFormElement.prototype;

export const parent = reader(N, 'parentNode');
export const firstChild = reader(N, 'firstChild');
export const nextSibling = reader(N, 'nextSibling');
export const connected = reader(N, 'isConnected');
export const nodeType = reader(N, 'nodeType');
export const tag = reader(E, 'localName');
export const slotOf = reader(E, 'assignedSlot');
export const children = reader(E, 'childElementCount');
export const body = reader(D, 'body');
export const scroller = reader(D, 'scrollingElement');
export const rootElement = reader(D, 'documentElement');
export const baseAddress = reader(N, 'baseURI');
export const readyState = reader(D, 'readyState');
export const visibilityState = reader(D, 'visibilityState');
export const formAction = reader(F, 'action');
export const formMethod = reader(F, 'method');
export const formTarget = reader(F, 'target');
export const formElements = reader(F, 'elements');

const openRoot = reader(E, 'shadowRoot');
const documentFocus = reader(D, 'activeElement');

const getAttribute = E.getAttributeNS;
const setAttribute = E.setAttribute;
const hasAttribute = E.hasAttributeNS;
const elementMatches = E.matches;
const elementClosest = E.closest;
const elementQuery = E.querySelector;
const elementQueryAll = E.querySelectorAll;
const elementRect = E.getBoundingClientRect;
const elementRects = E.getClientRects;
const elementScroll = E.scrollIntoView;
const checkVisibility = E.checkVisibility;
const nodeContains = N.contains;
const nodeRoot = N.getRootNode;
const nodeOrder = N.compareDocumentPosition;
const documentQueryAll = D.querySelectorAll;
const documentAt = D.elementFromPoint;
const documentById = D.getElementById;
const documentCommand = D.execCommand;
const send = EventTarget.prototype.dispatchEvent;
const requestSubmit = F.requestSubmit;
const styleOf = window.getComputedStyle;

// Without a namespace, as the browser itself reads: a page may put another attribute of the same name before it.
export const attr = (el: Element, name: string): string | null => getAttribute.call(el, null, name);
export const setAttr = (el: Element, name: string, value: string): void => setAttribute.call(el, name, value);
export const hasAttr = (el: Element, name: string): boolean => hasAttribute.call(el, null, name);
/** Where a link leads: SVG has a second, older name for it. */
export const linkOf = (el: Element): string | null =>
  attr(el, 'href') ?? (el instanceof SVGElement ? getAttribute.call(el, XLINK, 'href') : null);
const XLINK = 'http://www.w3.org/1999/xlink';
export const matches = (el: Element, selector: string): boolean => elementMatches.call(el, selector);
export const closest = (el: Element, selector: string): Element | null => elementClosest.call(el, selector);
export const rect = (el: Element): DOMRect => elementRect.call(el);
export const rects = (el: Element): DOMRectList => elementRects.call(el);
export const contains = (node: Node, other: Node | null): boolean => nodeContains.call(node, other);
export const follows = (node: Node, other: Node): boolean =>
  (nodeOrder.call(node, other) & N.DOCUMENT_POSITION_FOLLOWING) !== 0;

let styled: Element | undefined;
let styling: CSSStyleDeclaration | undefined;

/** The computed style, live. The last one is kept: readings ask several times about one element. */
export function style(el: Element): CSSStyleDeclaration {
  if (el !== styled || styling === undefined) {
    styling = styleOf.call(window, el);
    styled = el;
  }
  return styling;
}

export const dispatch = (el: Element, event: Event): boolean => send.call(el, event);
export const submitForm = (form: HTMLFormElement): void => requestSubmit.call(form);
export const command = (name: string, value: string): boolean => documentCommand.call(document, name, false, value);
export const queryIn = (el: Element, selector: string): Element | null => elementQuery.call(el, selector);
export const intoView = (el: Element): void =>
  elementScroll.call(el, { block: 'center', inline: 'nearest', behavior: 'instant' });

/** Whether the browser itself would paint the element, its ancestors considered. */
export const painted = (el: Element): boolean =>
  checkVisibility.call(el, { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false });

export function queryAll(scope: Document | ShadowRoot | Element, selector: string): Element[] {
  if (scope instanceof Document) return [...documentQueryAll.call(scope, selector)];
  return [...(scope instanceof Element ? elementQueryAll.call(scope, selector) : scope.querySelectorAll(selector))];
}

export const byId = (tree: Document | ShadowRoot, id: string): Element | null =>
  tree instanceof Document ? documentById.call(tree, id) : tree.getElementById(id);

export const isElement = (node: Node | null): node is Element => node !== null && nodeType(node) === 1;
export const isText = (node: Node): node is Text => nodeType(node) === 3 || nodeType(node) === 4;

/** Elements besides custom ones that can hold a shadow tree. */
const HOSTS = new Set(
  'article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span'.split(' '),
);
type RootKey = (host: HTMLElement) => ShadowRoot | null;
let closedRoot: RootKey = () => null;

/** Gives this script the browser's key to closed shadow roots. */
export function takeRootKey(key: RootKey): void {
  closedRoot = key;
}

/** The shadow root of an element. A host of ours-to-find has no element children unless it is a custom element. */
export function shadowOf(el: Element): ShadowRoot | null {
  const open = openRoot(el);
  if (open !== null) return open;
  const name = tag(el);
  const mayHost = name.includes('-') || (HOSTS.has(name) && firstChild(el) === null);
  return mayHost && el instanceof HTMLElement ? closedRoot(el) : null;
}

/** What a reader finds inside a node: its shadow tree, or what is slotted into it, or its children. */
export function content(node: Node): Node[] | Node | null {
  if (isElement(node)) {
    const shadow = shadowOf(node);
    if (shadow !== null) return firstChild(shadow);
    if (node instanceof HTMLSlotElement) {
      const slotted = node.assignedNodes();
      if (slotted.length > 0) return slotted;
    }
  }
  return firstChild(node);
}

/** The element around a node as a reader sees it: through slots and out of shadow trees. */
export function around(node: Node): Element | null {
  if (isElement(node)) {
    const slot = slotOf(node);
    if (slot !== null) return slot;
  }
  const up = parent(node);
  if (up instanceof ShadowRoot) return up.host;
  return isElement(up) ? up : null;
}

/** Whether `el` is `other` or lies inside it, through shadow trees and slots. */
export function inside(el: Element, other: Element): boolean {
  for (let at: Element | null = el; at !== null; at = around(at)) if (at === other) return true;
  return false;
}

/** The innermost element at a point of the view, shadow trees included. */
export function elementAt(x: number, y: number): Element | null {
  let hit = documentAt.call(document, x, y);
  while (hit !== null) {
    const deeper: Element | null = shadowOf(hit)?.elementFromPoint(x, y) ?? null;
    if (deeper === null || deeper === hit) return hit;
    hit = deeper;
  }
  return null;
}

/** The element that has the focus, shadow trees included. */
export function focused(): Element | null {
  let at = documentFocus(document);
  while (at !== null) {
    const deeper: Element | null = shadowOf(at)?.activeElement ?? null;
    if (deeper === null) return at;
    at = deeper;
  }
  return null;
}

/** The document or shadow tree that an element's ids belong to. */
export function treeOf(node: Node): Document | ShadowRoot {
  const root = nodeRoot.call(node);
  return root instanceof ShadowRoot ? root : document;
}
