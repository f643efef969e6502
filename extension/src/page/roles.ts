// Decides what an element is to its user: its role, whether it can be acted on, and its states. Roles follow ARIA in
// HTML; what a page claims with `role` is believed, because it describes and permits nothing. The risk of an act is
// judged from the elements themselves, never from a role.

import { around, attr, closest, hasAttr, matches, style, tag, treeOf } from './dom';

const KNOWN = new Set(
  `alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox
  complementary contentinfo definition dialog directory document feed figure form grid gridcell group heading img image
  link list listbox listitem log main marquee math menu menubar menuitem menuitemcheckbox menuitemradio meter navigation
  none note option presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox
  separator slider spinbutton status switch tab table tablist tabpanel term textbox timer toolbar tooltip tree treegrid
  treeitem`.split(/\s+/),
);

const INTERACTIVE = new Set(
  `button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar searchbox slider
  spinbutton switch tab textbox treeitem gridcell-editable clickable file`.split(/\s+/),
);

const LANDMARK = new Set('banner complementary contentinfo form main navigation region search'.split(' '));

/** Groups that give their controls a meaning; shown when something inside is. */
const GROUP = new Set(
  `alertdialog article dialog feed figure grid group list listitem menu menubar radiogroup row table tablist tabpanel
  toolbar tree treegrid`.split(/\s+/),
);

/** What speaks to the person by itself: shown with its text. */
const SPEAKING = new Set(['alert', 'status', 'tooltip', 'timer', 'progressbar', 'meter', 'log']);

export const isInteractive = (role: string): boolean => INTERACTIVE.has(role);
export const isLandmark = (role: string): boolean => LANDMARK.has(role);
export const isGroup = (role: string): boolean => GROUP.has(role);
export const isSpeaking = (role: string): boolean => SPEAKING.has(role);

/** A native count of everything that could be acted on, without looking at each. */
export const ACTABLE =
  'a[href],button,input:not([type=hidden]),select,textarea,summary,[role=button],[role=link],[role=checkbox],[role=radio],[role=switch],[role=tab],[role=menuitem],[role=option],[role=combobox],[role=textbox],[role=slider],[contenteditable=""],[contenteditable=true]';

/** The role of an element; the empty string if it has none that matters. */
export function roleOf(el: Element): string {
  const given = attr(el, 'role');
  if (given !== null) {
    const first = given
      .toLowerCase()
      .split(/\s+/)
      .find((role) => KNOWN.has(role));
    if (first === 'none' || first === 'presentation') return '';
    if (first !== undefined) return first === 'image' ? 'img' : first;
  }
  return IMPLICIT[tag(el)]?.(el) ?? editable(el);
}

const editable = (el: Element): string => {
  const value = attr(el, 'contenteditable');
  return value !== null && value.toLowerCase() !== 'false' ? 'textbox' : '';
};

const is = (role: string) => (): string => role;

const IMPLICIT: Readonly<Record<string, (el: Element) => string>> = {
  a: (el) => (hasAttr(el, 'href') || el instanceof SVGElement ? 'link' : ''),
  area: (el) => (hasAttr(el, 'href') ? 'link' : ''),
  article: is('article'),
  aside: is('complementary'),
  button: is('button'),
  details: is('group'),
  dialog: is('dialog'),
  fieldset: is('group'),
  figure: is('figure'),
  footer: (el) => (sectioned(el) ? '' : 'contentinfo'),
  form: (el) => (named(el) ? 'form' : ''),
  h1: is('heading'),
  h2: is('heading'),
  h3: is('heading'),
  h4: is('heading'),
  h5: is('heading'),
  h6: is('heading'),
  header: (el) => (sectioned(el) ? '' : 'banner'),
  hr: is('separator'),
  iframe: is('iframe'),
  frame: is('iframe'),
  img: (el) => (attr(el, 'alt') === '' ? '' : 'img'),
  input: inputRole,
  li: is('listitem'),
  main: is('main'),
  menu: is('list'),
  meter: is('meter'),
  nav: is('navigation'),
  ol: is('list'),
  optgroup: is('group'),
  option: is('option'),
  output: is('status'),
  progress: is('progressbar'),
  search: is('search'),
  section: (el) => (named(el) ? 'region' : ''),
  select: (el) => (el instanceof HTMLSelectElement && (el.multiple || el.size > 1) ? 'listbox' : 'combobox'),
  summary: is('button'),
  table: is('table'),
  td: is('cell'),
  textarea: is('textbox'),
  th: is('columnheader'),
  tr: is('row'),
  ul: is('list'),
};

const INPUT: Readonly<Record<string, string>> = {
  button: 'button',
  checkbox: 'checkbox',
  color: 'button',
  file: 'file',
  hidden: '',
  image: 'button',
  number: 'spinbutton',
  radio: 'radio',
  range: 'slider',
  reset: 'button',
  search: 'searchbox',
  submit: 'button',
};

function inputRole(el: Element): string {
  if (!(el instanceof HTMLInputElement)) return '';
  const role = INPUT[el.type] ?? 'textbox';
  return hasAttr(el, 'list') && (role === 'textbox' || role === 'searchbox') ? 'combobox' : role;
}

const named = (el: Element): boolean =>
  hasAttr(el, 'aria-label') || hasAttr(el, 'aria-labelledby') || hasAttr(el, 'title');

/** A header or footer belongs to the page only outside these. */
function sectioned(el: Element): boolean {
  for (let at = around(el); at !== null; at = around(at)) {
    if (/^(article|aside|main|nav|section)$/.test(tag(at))) return true;
  }
  return false;
}

/** Whether an element without a role behaves as a control: it takes the focus, or shows a hand that its parent does not. */
export function isClickable(el: Element, around: Element | null): boolean {
  if (hasAttr(el, 'onclick')) return true;
  const index = attr(el, 'tabindex');
  if (index !== null && Number(index) >= 0) return true;
  if (style(el).cursor !== 'pointer') return false;
  return around === null || style(around).cursor !== 'pointer';
}

const TICKED = new Set(['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio']);

/** Whether filling the element means pressing it until it is ticked or not. */
export function isTickable(el: Element): boolean {
  if (el instanceof HTMLInputElement) return el.type === 'checkbox' || el.type === 'radio';
  return !(el instanceof HTMLSelectElement || el instanceof HTMLTextAreaElement) && TICKED.has(roleOf(el));
}

/** The level of a heading. */
export function level(el: Element): number {
  const given = Number(attr(el, 'aria-level'));
  if (Number.isInteger(given) && given > 0) return given;
  const native = /^h([1-6])$/.exec(tag(el))?.[1];
  return native === undefined ? 2 : Number(native);
}

/** Whether the element refuses acts: its own attribute, its fieldset, or an inert part around it. */
export function isDisabled(el: Element): boolean {
  if (matches(el, ':disabled')) return true;
  for (let at: Element | null = el; at !== null; ) {
    if (closest(at, '[inert],[aria-disabled=true]') !== null) return true;
    const tree = treeOf(at);
    at = tree instanceof ShadowRoot ? tree.host : null;
  }
  return false;
}

/** The states a reader needs, in words. */
export function states(el: Element, role: string): string[] {
  const words: string[] = [];
  const checked = checkedState(el, role);
  if (checked !== undefined) words.push(checked);
  const expanded = expandedState(el);
  if (expanded !== undefined) words.push(expanded);
  if (attr(el, 'aria-selected') === 'true' || (el instanceof HTMLOptionElement && el.selected)) words.push('selected');
  if (currentState(el)) words.push('current');
  if (isDisabled(el)) words.push('disabled');
  if (matches(el, ':required') || attr(el, 'aria-required') === 'true') words.push('required');
  if (matches(el, ':read-only') && matches(el, 'input,textarea') && !matches(el, UNWRITTEN)) words.push('readonly');
  if (attr(el, 'aria-invalid') === 'true' || matches(el, ':user-invalid')) words.push('invalid');
  return words;
}

const UNWRITTEN =
  '[type=button],[type=submit],[type=reset],[type=image],[type=checkbox],[type=radio],[type=file],[type=range],[type=color],:disabled';

function checkedState(el: Element, role: string): string | undefined {
  if (el instanceof HTMLInputElement && (el.type === 'checkbox' || el.type === 'radio')) {
    return el.indeterminate ? 'mixed' : el.checked ? 'checked' : 'unchecked';
  }
  const given = attr(el, 'aria-checked');
  if (given === 'true') return 'checked';
  if (given === 'mixed') return 'mixed';
  if (given === 'false' || role === 'switch') return 'unchecked';
  const pressed = attr(el, 'aria-pressed');
  return pressed === 'true' ? 'pressed' : pressed === 'false' ? 'not pressed' : undefined;
}

function expandedState(el: Element): string | undefined {
  const given = attr(el, 'aria-expanded');
  if (given === 'true') return 'expanded';
  if (given === 'false') return 'collapsed';
  if (tag(el) !== 'summary') return undefined;
  const details = around(el);
  return details instanceof HTMLDetailsElement ? (details.open ? 'expanded' : 'collapsed') : undefined;
}

function currentState(el: Element): boolean {
  const current = attr(el, 'aria-current');
  return current !== null && current !== 'false' && current !== '';
}
