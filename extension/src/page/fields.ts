// Decides which fields hold secrets: their value never leaves the document in any form, only `filled` or `empty`.
// It errs on the side of secrecy. It does not know secrets typed into a field that nothing marks; masking by shape,
// in the worker, is the second line for those.

import { attr, closest, formElements, queryAll, style, tag } from './dom';

export type Secrecy = 'credential' | 'payment' | undefined;

const CREDENTIAL_FILL = new Set(['current-password', 'new-password', 'one-time-code']);
const PAYMENT_FILL = new Set(['cc-number', 'cc-csc', 'cc-exp', 'cc-exp-month', 'cc-exp-year', 'cc-name', 'cc-type']);
const CREDENTIAL =
  /passw|passphrase|\bpwd\b|passcode|\bpin\b|pin.?code|\botp\b|one.?time|\btotp\b|\b[2m]fa\b|verification.?code|security.?code|auth(entication)?.?code|\bsecret\b|api.?key|access.?token|private.?key|recovery.?(code|phrase)|seed.?phrase|密码|密碼|口令|验证码|驗證碼/i;
const PAYMENT =
  /card.?(num|no\b)|\bcc.?(num|no\b|csc|cvc|cvv)|credit.?card|debit.?card|\bcv[cv]2?\b|\bcsc\b|\biban\b|account.?number|sort.?code|routing.?number|卡号|卡號|信用卡/i;

/** Fields that were seen as password fields: a "show password" button must not lift the protection. */
const onceSecret = new WeakSet<Element>();

/** Whether an element takes free text from a person. */
export function takesText(el: Element): boolean {
  if (el instanceof HTMLTextAreaElement) return true;
  if (el instanceof HTMLInputElement) return !UNTYPED.has(el.type);
  return isEditingHost(el);
}

const UNTYPED = new Set([
  'button',
  'submit',
  'reset',
  'image',
  'checkbox',
  'radio',
  'file',
  'hidden',
  'range',
  'color',
]);

/** Whether an element is the outermost of an editable region. */
export function isEditingHost(el: Element): boolean {
  const editable = attr(el, 'contenteditable');
  return (editable !== null && editable.toLowerCase() !== 'false') || attr(el, 'role') === 'textbox';
}

/** The element that has to be focused to edit what `el` shows. */
export function editingHost(el: Element): Element | undefined {
  const host = closest(el, '[contenteditable]:not([contenteditable=false])');
  if (host !== null) return host;
  const inner = tag(el) === 'iframe' ? undefined : queryAll(el, '[contenteditable]:not([contenteditable=false])');
  return inner?.length === 1 ? inner[0] : undefined;
}

/** The kind of secret a field is made for. */
export function secrecy(el: Element): Secrecy {
  if (!takesText(el) && tag(el) !== 'select') return undefined;
  if (onceSecret.has(el)) return 'credential';
  const found = classify(el);
  if (el instanceof HTMLInputElement && el.type === 'password') onceSecret.add(el);
  return found;
}

function classify(el: Element): Secrecy {
  const purposes = (attr(el, 'autocomplete') ?? '').toLowerCase().split(/\s+/);
  if (purposes.some((p) => PAYMENT_FILL.has(p))) return 'payment';
  if (purposes.some((p) => CREDENTIAL_FILL.has(p))) return 'credential';
  const says = MARKS.map((name) => attr(el, name) ?? '')
    .join(' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[_-]/g, ' ');
  const labels = 'labels' in el && el.labels instanceof NodeList ? [...el.labels].map(labelText).join(' ') : '';
  if (PAYMENT.test(says) || PAYMENT.test(labels)) return 'payment';
  const masked = (el instanceof HTMLInputElement && el.type === 'password') || isOneOfCodeBoxes(el);
  if (masked || CREDENTIAL.test(says) || CREDENTIAL.test(labels)) return 'credential';
  return (style(el).getPropertyValue('-webkit-text-security') || 'none') === 'none' ? undefined : 'credential';
}

const MARKS = ['name', 'id', 'aria-label', 'placeholder', 'title', 'data-testid'];

function labelText(label: Node): string {
  return label.nodeType === 1 ? (label.textContent ?? '').slice(0, 200) : '';
}

/** One-time codes are often typed into a row of one-character boxes. */
function isOneOfCodeBoxes(el: Element): boolean {
  if (!(el instanceof HTMLInputElement) || el.maxLength !== 1 || el.form === null) return false;
  let boxes = 0;
  for (const other of formElements(el.form)) {
    if (other instanceof HTMLInputElement && other.maxLength === 1) boxes += 1;
  }
  return boxes >= 4;
}

/** What may be said about a secret field. */
export function filledOrEmpty(el: Element): 'filled' | 'empty' {
  return rawValue(el) === '' ? 'empty' : 'filled';
}

/** The value of a field as its owner sees it. Callers decide by [`secrecy`] whether it may be used. */
export function rawValue(el: Element): string {
  if (el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) return el.value;
  if (el instanceof HTMLSelectElement) return [...el.selectedOptions].map((o) => o.label).join(', ');
  return el.textContent ?? '';
}
