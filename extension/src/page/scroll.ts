// Scrolls the page or a container, or brings an element into view, and says where that led. Reading and acting do not need
// it: they scroll by themselves; pages that load more at their end do.

import { around, elementAt, intoView, rootElement, scroller, style } from './dom';
import { Watch } from './effects';
import type { ArgsOf, Effects } from './protocol';
import { failed } from './refusal';
import { find } from './target';
import { unseenBecause } from './visibility';

const STEP = 0.85;

export async function scroll(args: ArgsOf<'scroll'>): Promise<Effects> {
  const el = args.ref === undefined ? undefined : find({ ref: args.ref });
  if (el !== undefined && unseenBecause(el) === 'not displayed') throw failed(`${args.ref} is not displayed.`);
  const box = el === undefined || args.direction === undefined ? undefined : scrollable(el);
  const moved = box ?? mainBox();
  const watch = new Watch(moved);
  if (args.direction === undefined) {
    if (el !== undefined) intoView(el);
  } else {
    moved.scrollTo({ top: goal(moved, args.direction, args.pixels), behavior: 'instant' });
  }
  const effects = await watch.settle();
  return { ...effects, scroll: { top: moved.scrollTop, height: moved.scrollHeight, view: moved.clientHeight } };
}

function goal(box: Element, direction: 'up' | 'down' | 'top' | 'bottom', pixels: number | undefined): number {
  const step = pixels ?? Math.round(box.clientHeight * STEP);
  const goals = { up: box.scrollTop - step, down: box.scrollTop + step, top: 0, bottom: box.scrollHeight };
  return goals[direction];
}

/** The nearest box around an element that scrolls. */
function scrollable(el: Element): Element | undefined {
  for (let at: Element | null = el; at !== null; at = around(at)) {
    if (at.scrollHeight > at.clientHeight + 1 && /auto|scroll/.test(style(at).overflowY)) return at;
  }
  return undefined;
}

/** What scrolls when a person turns the wheel: the document, or the largest box of a page that does not scroll itself. */
function mainBox(): Element {
  const root = scroller(document) ?? rootElement(document);
  if (root.scrollHeight > root.clientHeight + 1 && style(root).overflowY !== 'hidden') return root;
  const middle = elementAt(window.innerWidth / 2, window.innerHeight / 2);
  return (middle === null ? undefined : scrollable(middle)) ?? root;
}
