/*
 * Decides whether the person must be asked before an act, for how long an answer also covers the next act of the same
 * kind, and what an unanswered question means. Whatever is not a clear yes is a refusal.
 * It opens no window and reads no page: the act's kind comes from a probe of the page, the answer from the window.
 */
import { CONFIRM_GRACE_MS, CONFIRM_QUEUE_MAX } from '../contract/limits';
import { classify } from './origin';

/** What an act would do, as probed in the page before it happens. */
export const ACT_KINDS = [
  'plain',
  'submit',
  'link',
  'download',
  'popup',
  'file_chooser',
  'credential',
  'payment',
  'close_tab',
  'repost',
] as const;
export type ActKind = (typeof ACT_KINDS)[number];

/** The tool row's rule (catalogue). */
export type ConfirmRule = 'none' | 'high_risk' | 'every_call';

/** What identifies an approval that may be reused: never shared between clients, tabs, sites or kinds of act. */
export interface Act {
  caller: string;
  tab: number;
  origin: string;
  kind: ActKind;
}

export interface Grace extends Act {
  until: number;
}

/** How a question ended. `void`: the page navigated or the element changed before the answer. */
export type Answer = 'allowed' | 'denied' | 'timeout' | 'closed' | 'void';
export type RefusalCode = 'USER_DENIED' | 'CONFIRMATION_TIMEOUT' | 'EXECUTION_FAILED';

/** Whether this act needs an answer now. */
export function mustAsk(rule: ConfirmRule, act: Act, graces: readonly Grace[], now: number): boolean {
  switch (rule) {
    case 'none':
      return false;
    case 'every_call':
      return true;
    case 'high_risk':
      return act.kind !== 'plain' && !graces.some((g) => isFor(g, act) && isLive(g, now));
  }
}

/** The grace after an allowed act; an every-call answer covers that one call only. */
export function afterAllowed(rule: ConfirmRule, act: Act, graces: readonly Grace[], now: number): Grace[] {
  const kept = graces.filter((g) => isLive(g, now) && !isFor(g, act));
  return rule === 'high_risk' ? [...kept, { ...act, until: now + CONFIRM_GRACE_MS }] : kept;
}

/** A tab that shows another site, or is gone (`url` undefined), keeps no grace. */
export function afterNavigation(graces: readonly Grace[], tab: number, url: string | undefined): Grace[] {
  const site = url === undefined ? undefined : classify(url);
  const origin = site?.kind === 'web' ? site.origin : undefined;
  return graces.filter((g) => g.tab !== tab || g.origin === origin);
}

/** A client that left, or was thrown out, keeps no grace. */
export function withoutCaller(graces: readonly Grace[], caller: string): Grace[] {
  return graces.filter((g) => g.caller !== caller);
}

/** Whether one more question may wait. The rest are denied: a pile of windows is itself an attack on attention. */
export function mayQueue(waiting: number): boolean {
  return waiting < CONFIRM_QUEUE_MAX;
}

/** The refusal behind an answer; null for the only answer that lets the act happen. */
export function refusalOf(answer: Answer): RefusalCode | null {
  switch (answer) {
    case 'allowed':
      return null;
    case 'denied':
    case 'closed':
      return 'USER_DENIED';
    case 'timeout':
      return 'CONFIRMATION_TIMEOUT';
    case 'void':
      return 'EXECUTION_FAILED';
  }
}

function isFor(grace: Grace, act: Act): boolean {
  return grace.caller === act.caller && grace.tab === act.tab && grace.origin === act.origin && grace.kind === act.kind;
}

// A clock that was set back must not stretch a grace.
function isLive(grace: Grace, now: number): boolean {
  return now < grace.until && grace.until <= now + CONFIRM_GRACE_MS;
}
