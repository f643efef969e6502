// Says what an act would be, from the elements themselves: a page cannot talk a submit button down with a role or a name.
// Everything around the point counts, because a click also acts on what is around. Of what scripts do with an
// event it knows what stands in the markup; other such acts are `plain`, and their effects are reported and judged afterwards.

import {
  around,
  attr,
  baseAddress,
  closest,
  formAction,
  formElements,
  formMethod,
  formTarget,
  linkOf,
  queryAll,
  tag,
} from './dom';
import { editingHost, secrecy } from './fields';
import type { ActKind, ArgsOf } from './protocol';

export interface Risk {
  kind: ActKind;
  destination?: string;
  method?: 'get' | 'post' | 'dialog';
  /** The act is of two kinds at once; `kind` is the graver one. */
  twofold?: true;
}

type Keys = Pick<ArgsOf<'probe'>, 'button' | 'modifiers'>;

const PLAIN: Risk = { kind: 'plain' };

/** What a click at `hit` would be: the first thing around it that is more than plain. */
export function riskOfClick(hit: Element, keys: Keys): Risk {
  return keys.button === 'right' ? PLAIN : riskAround(hit, keys, new Set());
}

/** A label hands the click on to its control, from where it rises again: through a link that only the control is in. */
function riskAround(hit: Element, keys: Keys, passed: Set<Element>): Risk {
  for (let at: Element | null = hit; at !== null && !passed.has(at); at = around(at)) {
    passed.add(at);
    const risk = riskAt(at, keys, passed);
    if (risk.kind !== 'plain') return risk;
  }
  return PLAIN;
}

/** What filling `el` would be. */
export function riskOfFill(el: Element, submit: boolean): Risk {
  const form = 'form' in el && el.form instanceof HTMLFormElement ? el.form : null;
  const sent: Risk = !submit
    ? ofFilling(el)
    : form === null
      ? { kind: 'submit' }
      : { ...sending(form, defaultButton(form)), kind: 'submit' };
  const host = editingHost(el);
  const secret = secrecy(el) ?? (host && secrecy(host));
  if (secret === undefined) return sent;
  return sent.kind === 'plain' ? { kind: secret } : { ...sent, kind: secret, twofold: true };
}

/** An act that presses and fills: the press counts first, for it cannot be taken back. */
export function riskOfBoth(pressed: Risk, filled: Risk): Risk {
  if (pressed.kind === 'plain') return filled;
  return filled.kind === 'plain' ? pressed : { ...pressed, twofold: true };
}

function riskAt(el: Element, keys: Keys, passed: Set<Element>): Risk {
  const name = tag(el);
  if (name === 'a' || name === 'area') return riskOfLink(el, keys);
  if (el instanceof HTMLLabelElement && el.control !== null) return riskAround(el.control, keys, passed);
  const own = ofControl(el, keys);
  if (own.kind !== 'plain') return own;
  return ofHandlers(el, PRESSED);
}

const PRESSED = ['onpointerdown', 'onmousedown', 'onpointerup', 'onmouseup', 'onclick', 'ondblclick'];
const FILLED = ['onbeforeinput', 'oninput', 'onchange', 'onfocus', 'onfocusin'];

/** What the markup itself says a script will do. */
function ofHandlers(el: Element, names: readonly string[]): Risk {
  const code = names.map((name) => attr(el, name) ?? '').join('\n');
  if (/\.\s*(?:submit|requestSubmit)\s*\(/.test(code)) {
    const form = 'form' in el && el.form instanceof HTMLFormElement ? el.form : closest(el, 'form');
    return form instanceof HTMLFormElement ? { ...sending(form, undefined), kind: 'submit' } : { kind: 'submit' };
  }
  return /window\s*\.\s*open\s*\(/.test(code) ? { kind: 'popup' } : PLAIN;
}

/** Lists that send their form once another option is chosen are the usual case; the event rises through the form. */
function ofFilling(el: Element): Risk {
  for (let at: Element | null = el; at !== null; at = around(at)) {
    const risk = ofHandlers(at, FILLED);
    if (risk.kind !== 'plain') return risk;
  }
  return PLAIN;
}

function ofControl(el: Element, keys: Keys): Risk {
  const isButton = el instanceof HTMLButtonElement;
  if (!isButton && !(el instanceof HTMLInputElement)) return PLAIN;
  if (el.type === 'file') return { kind: 'file_chooser' };
  if (keys.button === 'middle' || el.form === null) return PLAIN;
  return el.type === 'submit' || el.type === 'image' ? sending(el.form, el) : PLAIN;
}

/** The button that Enter presses: the first submit button of the form, wherever it stands. */
export function defaultButton(form: HTMLFormElement): Element | undefined {
  for (const el of formElements(form)) {
    const submits = el instanceof HTMLButtonElement || el instanceof HTMLInputElement;
    if (submits && (el.type === 'submit' || el.type === 'image')) return el;
  }
  return undefined;
}

/** Where a form goes, sent by a button that may say otherwise, or by Enter. */
function sending(form: HTMLFormElement, by: Element | undefined): Risk {
  const method = methodOf((by && attr(by, 'formmethod')) ?? formMethod(form));
  if (method === 'dialog') return PLAIN;
  const action = by && attr(by, 'formaction');
  const destination = (action && resolved(action)?.href) || formAction(form);
  return { kind: 'submit', destination, method };
}

function methodOf(given: string): 'get' | 'post' | 'dialog' {
  const method = given.toLowerCase();
  return method === 'post' || method === 'dialog' ? method : 'get';
}

function riskOfLink(el: Element, keys: Keys): Risk {
  const href = linkOf(el);
  const to = href === null ? null : resolved(href);
  if (href === null || to === null || to.protocol === 'javascript:') return PLAIN;
  const destination = to.href;
  const held = keys.modifiers ?? [];
  if (attr(el, 'download') !== null || held.includes('Alt')) return { kind: 'download', destination };
  if (keys.button === 'middle' || held.some((key) => key !== 'Alt') || opensWindow(el))
    return { kind: 'popup', destination };
  return samePage(to) ? PLAIN : { kind: 'link', destination };
}

function opensWindow(el: Element): boolean {
  const base = queryAll(document, 'base[target]')[0];
  const target = (attr(el, 'target') ?? (base === undefined ? '' : attr(base, 'target')) ?? '').toLowerCase();
  if (['', '_self', '_top', '_parent'].includes(target)) return false;
  return target === '_blank' || !queryAll(document, 'iframe[name],frame[name]').some((f) => attr(f, 'name') === target);
}

/** A jump within the document that is already shown. */
function samePage(to: URL): boolean {
  return to.hash !== '' && to.href.split('#')[0] === location.href.split('#')[0];
}

const resolved = (address: string): URL | null => URL.parse(address, baseAddress(document));

/** Where a form would go and how, to notice that it changed. */
export const formMeaning = (form: HTMLFormElement): string =>
  `${formAction(form)} ${formMethod(form)} ${formTarget(form)}`;
