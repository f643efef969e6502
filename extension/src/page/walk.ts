// Walks what a reader finds inside an element, in reading order: shadow trees in place of their host's children, slotted
// nodes in their slot, fields not entered. Iterative, so that no depth breaks it; bounded in nodes and in time.
// It decides nothing about visibility; the visitor answers for each element whether to go into it.

import { NODES_MAX, READ_MS_MAX } from './bounds';
import { content, isElement, isText, nextSibling } from './dom';

export type Step = 'into' | 'over' | 'end';

export interface Visitor {
  enter(el: Element): Step;
  /** Called after everything inside an element that was gone into. */
  leave(el: Element): void;
  /** `false` ends the walk. */
  text(node: Text): boolean;
}

/** How a walk ended: at the end, by the visitor, or because the page is too large. */
export type Ended = 'whole' | 'by visitor' | 'too large';

interface Level {
  el: Element;
  list: Node[] | undefined;
  index: number;
  next: Node | null;
}

/** Visits `start` and everything in it. */
export function walk(start: Element, visitor: Visitor): Ended {
  const stop = performance.now() + READ_MS_MAX;
  const levels: Level[] = [];
  const first = visitor.enter(start);
  if (first === 'end') return 'by visitor';
  if (first === 'into') levels.push(level(start));
  for (let visited = 0; ; visited += 1) {
    if (visited > NODES_MAX || ((visited & 127) === 0 && performance.now() > stop)) return 'too large';
    const top = levels.at(-1);
    if (top === undefined) return 'whole';
    const node = advance(top);
    if (node === null) {
      levels.pop();
      visitor.leave(top.el);
      continue;
    }
    if (!visit(node, visitor, levels)) return 'by visitor';
  }
}

function visit(node: Node, visitor: Visitor, levels: Level[]): boolean {
  if (isElement(node)) {
    const step = visitor.enter(node);
    if (step === 'into') levels.push(level(node));
    return step !== 'end';
  }
  return isText(node) ? visitor.text(node) : true;
}

function level(el: Element): Level {
  const inner = content(el);
  return Array.isArray(inner)
    ? { el, list: inner, index: 0, next: null }
    : { el, list: undefined, index: 0, next: inner };
}

function advance(top: Level): Node | null {
  if (top.list !== undefined) {
    const node = top.list[top.index] ?? null;
    top.index += 1;
    return node;
  }
  const node = top.next;
  top.next = node === null ? null : nextSibling(node);
  return node;
}
