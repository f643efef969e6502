/* What the gates may know of this browser, in their own terms. Decides nothing; it joins the parts that do. */
import type { World } from '../gate/dispatch';
import { makeCurrent, opened } from './clients';
import { entries, holds } from './sites';
import { resolve } from './tabs';
import { wanted } from './wanted';

export const worldWith = (ask: World['ask']): World => ({
  key: () => crypto.randomUUID(),
  tab: resolve,
  took: (caller, tab) => makeCurrent(caller, tab.id),
  opened: (caller, tab) => opened(caller, tab),
  wanted: (caller, origin) => wanted(caller, origin),
  entries,
  holds,
  ask,
  now: () => Date.now(),
});
