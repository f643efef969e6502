// Styled checkboxes, radio buttons and file choosers are often invisible themselves while their label is what a person
// sees and clicks. Decides which element stands for such a control; every other invisible control stays out of reach.

import { isElement } from './dom';
import { seen, unseenBecause } from './visibility';

const STYLED = new Set(['checkbox', 'radio', 'file']);

/** The visible label of a control that is itself invisible by styling. */
export function standIn(el: Element): Element | undefined {
  if (!(el instanceof HTMLInputElement) || !STYLED.has(el.type) || el.labels === null) return undefined;
  for (const label of el.labels) if (isElement(label) && seen(label)) return label;
  return undefined;
}

/** The element a person would point at to act on `el`; `undefined` if there is none to see. */
export function pointed(el: Element): Element | undefined {
  return unseenBecause(el) === undefined ? el : standIn(el);
}
