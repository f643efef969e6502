// Fills one field the way its kind is filled, and reads it back: a value that the site did not take must not look filled.
// The value goes in and never comes out; the answer is `as given` or `different`. Refuses what a person could not enter:
// read-only fields, options that do not exist, more characters than the field takes.

import { attr, command, contains, dispatch, focused, matches, submitForm } from './dom';
import { Watch } from './effects';
import { editingHost, rawValue, secrecy } from './fields';
import { describe } from './names';
import { pause } from './pause';
import { quoted } from './phrase';
import { focusAround, pressAt } from './pointer';
import { redeem } from './probe';
import type { ArgsOf, Effects } from './protocol';
import { failed, invalid } from './refusal';
import { defaultButton } from './risk';
import { isTickable, roleOf } from './roles';
import { listed, short } from './words';

type Args = ArgsOf<'fill'>;

/** Puts the value in; gives how to look whether it stayed. */
type Filler = (el: Element, args: Args, press: () => boolean) => (() => boolean) | Promise<() => boolean>;

const NOT_HELD = 'The field does not hold what was given: the site or the field changed or refused it.';

export async function fill(args: Args): Promise<Effects> {
  const { el, place, stays, leadsAlike } = redeem(args.token, 'fill', args);
  const filler = fillerOf(el);
  if (filler === undefined) throw failed(`${describe(el)} is not a field that can be filled.`);
  const watch = new Watch(el);
  focusAround(el);
  const holds = await filler(el, args, () => pressAt(place, {}, stays));
  if (!args.submit) {
    const effects = await watch.settle();
    return readBack(effects, holds());
  }
  // Enter may empty the field, so it is read before.
  const stayed = holds();
  if (!leadsAlike()) watch.warn('The form changed when the field was filled, so it was not sent.');
  else if (!pressEnter(el)) watch.warn('Enter submits nothing here: the field belongs to no form that takes it.');
  return readBack(await watch.settle(), stayed);
}

function readBack(effects: Effects, stayed: boolean): Effects {
  if (stayed) return { ...effects, value: 'as given' };
  return { ...effects, warnings: [...effects.warnings, NOT_HELD], value: 'different' };
}

function fillerOf(el: Element): Filler | undefined {
  if (el instanceof HTMLSelectElement) return choose;
  if (el instanceof HTMLTextAreaElement) return type;
  if (el instanceof HTMLInputElement) return INPUT[el.type] ?? type;
  if (isTickable(el)) return tick;
  return editingHost(el) === undefined ? undefined : write;
}

const nothing: Filler = (el) => {
  throw failed(`${describe(el)} is a button; use page_click.`);
};
const chooser: Filler = () => {
  throw failed('A file field is filled by the person, or by the upload tool, not by page_fill.');
};
const INPUT: Readonly<Record<string, Filler>> = {
  button: nothing,
  submit: nothing,
  reset: nothing,
  image: nothing,
  file: chooser,
  checkbox: tick,
  radio: tick,
};

/** Text fields: the browser's own setter, then the events that typing ends with. */
function type(el: Element, args: Args): () => boolean {
  if (!(el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement)) return () => false;
  if (el.readOnly) throw failed(`${describe(el)} is read-only.`);
  const goal = args.mode === 'append' ? el.value + args.value : args.value;
  if (el.maxLength >= 0 && goal.length > el.maxLength) {
    throw failed(`${describe(el)} takes at most ${el.maxLength} characters.`);
  }
  const init = { bubbles: true, composed: true, inputType: 'insertText', data: secrecy(el) ? null : args.value };
  if (dispatch(el, new InputEvent('beforeinput', { ...init, cancelable: true }))) {
    el.value = goal;
    dispatch(el, new InputEvent('input', init));
    dispatch(el, new Event('change', { bubbles: true }));
  }
  const wanted = el instanceof HTMLTextAreaElement ? goal.replace(/\r\n?/g, '\n') : goal;
  return () => el.value === wanted;
}

/** A list: by value, then by exact label. */
function choose(el: Element, args: Args): () => boolean {
  if (!(el instanceof HTMLSelectElement)) return () => false;
  const options = [...el.options];
  const wanted =
    options.find((option) => option.value === args.value) ??
    options.find((option) => option.label.trim() === args.value.trim());
  if (wanted === undefined) {
    const labels = options.map((option) => quoted(short(option.label, 60)));
    throw failed(`${describe(el)} has no such option. It has: ${listed(labels, 30)}.`);
  }
  if (matches(wanted, ':disabled')) throw failed('This option is disabled.');
  if (el.multiple && args.mode !== 'append') for (const option of options) option.selected = false;
  wanted.selected = true;
  dispatch(el, new Event('input', { bubbles: true, composed: true }));
  dispatch(el, new Event('change', { bubbles: true }));
  return () => wanted.selected;
}

/** Checkboxes, switches and radio buttons: `true` or `false`, by a click if it is not so already. */
function tick(el: Element, args: Args, press: () => boolean): () => boolean {
  if (args.value !== 'true' && args.value !== 'false') {
    throw invalid(`${describe(el)} is filled with true or false.`);
  }
  const goal = args.value === 'true';
  const isRadio = roleOf(el) === 'radio';
  if (isRadio && !goal) throw failed('A radio button is cleared by choosing another one.');
  if (isTicked(el) !== goal) press();
  return () => isTicked(el) === goal;
}

const isTicked = (el: Element): boolean =>
  el instanceof HTMLInputElement ? el.checked && !el.indeterminate : attr(el, 'aria-checked') === 'true';

/**
 * Editors: first the event that typing begins with, which editors with a model of their own take over; where nobody does,
 * the browser's editing command. A change of the tree itself is what such editors ignore or undo.
 */
async function write(el: Element, args: Args): Promise<() => boolean> {
  const host = editingHost(el);
  if (!(host instanceof HTMLElement)) return () => false;
  host.focus({ preventScroll: true });
  const before = rawValue(host);
  select(host, args.mode !== 'append');
  // Editors learn of the selection by an event of its own.
  await pause(EDITOR_MS);
  const goal = bare(args.mode === 'append' ? before + args.value : args.value);
  const holds = () => bare(rawValue(host)) === goal;
  const inputType = args.value === '' ? 'deleteContentBackward' : 'insertText';
  const init = { inputType, data: args.value || null, bubbles: true, cancelable: true, composed: true };
  if (dispatch(host, new InputEvent('beforeinput', init)))
    command(args.value === '' ? 'delete' : 'insertText', args.value);
  for (let waited = 0; waited < EDITOR_MS_MAX && !holds(); waited += EDITOR_MS) await pause(EDITOR_MS);
  return holds;
}

/** Milliseconds that an editor is given to follow, at a time and in all. */
const EDITOR_MS = 5;
const EDITOR_MS_MAX = 50;

/** Editors break lines and join spaces their own way; what counts is the characters. */
const bare = (text: string): string => text.replace(/[\s\u200b\ufeff]+/gu, '');

function select(host: Element, all: boolean): void {
  const selection = window.getSelection();
  if (selection === null) return;
  selection.selectAllChildren(host);
  if (!all) selection.collapseToEnd();
}

/** Enter in a field: its key events, then what a browser does on Enter. `false` if that is nothing. */
function pressEnter(el: Element): boolean {
  const at = focusedWithin(el);
  const init = { key: 'Enter', code: 'Enter', keyCode: 13, bubbles: true, cancelable: true, composed: true };
  const wanted = dispatch(at, new KeyboardEvent('keydown', init)) && dispatch(at, new KeyboardEvent('keypress', init));
  dispatch(at, new KeyboardEvent('keyup', init));
  if (!wanted) return true;
  const form = el instanceof HTMLInputElement ? el.form : null;
  if (form === null) return !(el instanceof HTMLInputElement);
  const button = defaultButton(form);
  if (button === undefined) submitForm(form);
  else if (matches(button, ':disabled')) return false;
  else dispatch(button, new PointerEvent('click', { bubbles: true, cancelable: true, composed: true, view: window }));
  return true;
}

function focusedWithin(el: Element): Element {
  const now = focused();
  return now !== null && contains(el, now) ? now : el;
}
