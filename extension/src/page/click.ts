// Clicks the element a token was given for, and says what that did. It refuses nothing itself: the token and the place do.

import { tag } from './dom';
import { Watch } from './effects';
import { pressAt } from './pointer';
import { redeem } from './probe';
import type { ActKind, ArgsOf, Effects } from './protocol';

/** Acts whose effect is seen outside of the document. */
const ELSEWHERE: readonly ActKind[] = ['popup', 'download'];

const NOT_CLICKED = 'The element went away or became another thing while it was pressed, so the click did not happen.';

export async function click(args: ArgsOf<'click'>): Promise<Effects> {
  const { el, place, kind, stays } = redeem(args.token, 'click', args);
  const watch = new Watch(el, ELSEWHERE.includes(kind));
  if (!pressAt(place, args, stays)) watch.warn(NOT_CLICKED);
  if (tag(el) === 'select') watch.warn('A list opens for persons only; choose its option with page_fill.');
  if (args.button === 'middle' && kind === 'popup') {
    watch.warn('A middle click opens a tab for persons only; use the left button with Control.');
  }
  return await watch.settle();
}
