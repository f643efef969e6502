// One element as one line of a snapshot: role, name, state, value. The value of a secret field is never read into a line;
// it says `filled` or `empty`. A secret that the page shows elsewhere as text is taken out of every line as well.

import { OPTIONS_MAX, VALUE_CHARS_MAX } from './bounds';
import { attr, queryAll } from './dom';
import { filledOrEmpty, rawValue, secrecy, takesText } from './fields';
import { headText, nameOf } from './names';
import { level, states } from './roles';
import { listed, short } from './words';

/** `role "name" state value`, one line. */
export function phrase(el: Element, role: string): string {
  const words = [role === 'heading' ? `heading ${level(el)}` : role];
  const name = nameOf(el, role);
  if (name !== '') words.push(quoted(name));
  words.push(...states(el, role), ...value(el, role));
  return words.join(' ');
}

export const quoted = (text: string): string => `"${text.replaceAll('"', '\\"')}"`;

function value(el: Element, role: string): string[] {
  if (secrecy(el) !== undefined) return [filledOrEmpty(el)];
  if (el instanceof HTMLSelectElement) {
    const options = [...el.options].slice(0, 500).map((option) => quoted(short(option.label, 60)));
    return [`value ${quoted(short(rawValue(el), VALUE_CHARS_MAX))}`, `options ${listed(options, OPTIONS_MAX)}`];
  }
  if (el instanceof HTMLInputElement && (el.type === 'range' || el.type === 'color'))
    return [`value ${quoted(el.value)}`];
  if (takesText(el)) return textValue(el);
  const now = attr(el, 'aria-valuetext') ?? attr(el, 'aria-valuenow') ?? ownNumber(el);
  return now === null || role === 'separator' ? [] : [`value ${quoted(short(now, 60))}`];
}

function textValue(el: Element): string[] {
  const fixed = el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement;
  const raw = fixed ? el.value.slice(0, VALUE_CHARS_MAX * 8) : headText(el, VALUE_CHARS_MAX * 2);
  return raw === '' ? [] : [`value ${quoted(short(raw, VALUE_CHARS_MAX))}`];
}

function ownNumber(el: Element): string | null {
  return el instanceof HTMLProgressElement || el instanceof HTMLMeterElement ? String(el.value) : null;
}

const FIELDS_MAX = 500;
const SECRET_CHARS_MIN = 4;

/** Takes the values of this document's secret fields out of lines, wherever the page repeats them. */
export function withoutSecrets(lines: readonly string[]): string[] {
  const secrets = queryAll(document, 'input,textarea')
    .slice(0, FIELDS_MAX)
    .filter((el) => secrecy(el) !== undefined && !(el instanceof HTMLInputElement && el.type === 'hidden'))
    .map(rawValue)
    .filter((secret) => secret.trim().length >= SECRET_CHARS_MIN);
  if (secrets.length === 0) return [...lines];
  return lines.map((line) => secrets.reduce((text, secret) => text.replaceAll(secret, '[filled]'), line));
}
