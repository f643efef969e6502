// Clicks the element a token was given for, and says what that did. It refuses nothing itself: the token and the place do.

import { tag } from './dom';
import { Watch } from './effects';
import { pressAt } from './pointer';
import { redeem } from './probe';
import type { ArgsOf, Effects } from './protocol';

export async function click(args: ArgsOf<'click'>): Promise<Effects> {
  const { el, place } = redeem(args.token, 'click', args);
  const watch = new Watch(el);
  if (!pressAt(place, args)) watch.warn('The element went away while it was pressed, so the click did not happen.');
  if (tag(el) === 'select') watch.warn('A list opens for persons only; choose its option with page_fill.');
  return await watch.settle();
}
