// Finds the one element an act is meant for, and the point at which a person would act on it. Refuses what a person could
// not act on: gone, hidden, disabled, outside every view, or under something else, which it then names.

import { connected, contains, elementAt, inside, intoView, rects } from './dom';
import { describe } from './names';
import { elementOf } from './refs';
import { failed } from './refusal';
import { isDisabled } from './roles';
import { oneSeen } from './scope';
import { pointed } from './standin';
import { unseenBecause } from './visibility';

export interface Place {
  /** The element a person sees: the target itself, or the label that stands for it. */
  shown: Element;
  /** The innermost element at the point. */
  hit: Element;
  x: number;
  y: number;
}

/** The element of a ref or a selector. */
export function find(target: { ref?: string; selector?: string }): Element {
  if (target.ref !== undefined) return elementOf(target.ref);
  if (target.selector !== undefined) return oneSeen(target.selector);
  throw failed('No target was named.');
}

/** Where to act on an element; brings it into view if it is not. */
export function reach(el: Element): Place {
  if (!connected(el)) throw failed('The element is no longer on the page. Take a new snapshot.');
  const shown = pointed(el);
  if (shown === undefined)
    throw failed(`${describe(el)} is not visible (${unseenBecause(el) ?? 'hidden'}), so it is not acted on.`);
  if (isDisabled(el)) throw failed(`${describe(el)} is disabled.`);
  let point = centre(shown);
  if (point === undefined) {
    intoView(shown);
    point = centre(shown);
  }
  if (point === undefined) throw failed(`${describe(el)} cannot be brought into view.`);
  const hit = elementAt(point.x, point.y);
  if (hit === null) throw failed(`${describe(el)} lies outside the visible part of the page.`);
  if (!belongs(hit, shown, el)) throw failed(`${describe(el)} is covered by ${describe(hit)}. Deal with that first.`);
  return { shown, hit, ...point };
}

/** What lies over an element now, if anything. */
export function cover(el: Element): Element | undefined {
  const shown = connected(el) ? pointed(el) : undefined;
  const point = shown && centre(shown);
  if (shown === undefined || point === undefined) return undefined;
  const hit = elementAt(point.x, point.y);
  return hit === null || belongs(hit, shown, el) ? undefined : hit;
}

/** Whether acting at `hit` acts on the element: it is part of it, or its label. */
function belongs(hit: Element, shown: Element, el: Element): boolean {
  if (inside(hit, shown) || inside(hit, el)) return true;
  if (!('labels' in el && el.labels instanceof NodeList)) return false;
  return [...el.labels].some((label) => contains(label, hit));
}

/** The centre of what the view shows of an element's largest part (a link may run over two lines). */
function centre(el: Element): { x: number; y: number } | undefined {
  let best: { x: number; y: number } | undefined;
  let most = 0;
  for (const box of rects(el)) {
    const left = Math.max(0, box.left);
    const right = Math.min(window.innerWidth, box.right);
    const top = Math.max(0, box.top);
    const bottom = Math.min(window.innerHeight, box.bottom);
    const size = (right - left) * (bottom - top);
    if (right > left && bottom > top && size > most) {
      most = size;
      best = { x: (left + right) / 2, y: (top + bottom) / 2 };
    }
  }
  return best ?? innerCentre(el);
}

/** A control without a box of its own (`display: contents`) is where its first child is. */
function innerCentre(el: Element): { x: number; y: number } | undefined {
  const child = rects(el).length === 0 ? el.firstElementChild : null;
  return child === null ? undefined : centre(child);
}
