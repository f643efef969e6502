// Looks at the target of an act before it happens, and binds what was seen to a token. The act takes the token and is
// refused if the document, the element or its meaning changed in between: an approval holds for what the person was shown.
// Tokens live in this script only and act once.

import { TOKENS_MAX } from './bounds';
import { attr, connected, rect, tag } from './dom';
import { secrecy } from './fields';
import { nameOf } from './names';
import type { ActKind, ArgsOf, Probe } from './protocol';
import { failed } from './refusal';
import { formMeaning, type Risk, riskOfBoth, riskOfClick, riskOfFill } from './risk';
import { isTickable, roleOf } from './roles';
import { find, type Place, reach } from './target';

/** This script's life in this document. */
export const EPOCH = [...crypto.getRandomValues(new Uint8Array(8))]
  .map((b) => b.toString(16).padStart(2, '0'))
  .join('');

interface Bound {
  el: Element;
  asked: ArgsOf<'probe'>;
  meaning: string;
}

const tokens = new Map<string, Bound>();
let count = 0;

/** Looks at a target and says what the act would be. */
export function probe(asked: ArgsOf<'probe'>): Probe {
  const el = find(asked);
  const place = reach(el);
  const risk = riskOf(el, place, asked);
  const role = roleOf(el);
  const { x, y, width, height } = rect(place.shown);
  return {
    token: remember({ el, asked, meaning: meaningOf(el, risk) }),
    epoch: EPOCH,
    role: role === '' ? tag(el) : role,
    name: nameOf(el, role === '' ? 'clickable' : role),
    rect: { x, y, width, height },
    ...risk,
  };
}

interface Redeemed {
  el: Element;
  place: Place;
  kind: ActKind;
  /** Whether it is still no other kind of act. */
  stays: () => boolean;
  /** Whether it still leads to the same place as well. */
  leadsAlike: () => boolean;
}

/** What a token was given for, if it still holds. The token is used up either way. */
export function redeem(token: string, act: 'click' | 'fill', now: Partial<ArgsOf<'probe'>>): Redeemed {
  const bound = tokens.get(token);
  tokens.delete(token);
  if (bound === undefined)
    throw failed('This act was looked at on another page or done already. Look at the page again.');
  const { el, asked } = bound;
  if (asked.act !== act || !sameAct(asked, now)) throw failed('The act is not the one that was looked at.');
  if (!connected(el)) throw failed('The element was removed or replaced before the act. Take a new snapshot.');
  const place = reach(el);
  const risk = riskOf(el, place, asked);
  if (meaningOf(el, risk) !== bound.meaning) {
    throw failed('The element changed its meaning before the act, so nothing was done. Take a new snapshot.');
  }
  // The kind alone: sites rewrite their own links under the pointer, and what a script does no look can foresee.
  const stays = () => riskOf(el, place, asked).kind === risk.kind;
  const leadsAlike = () => JSON.stringify(riskOf(el, place, asked)) === JSON.stringify(risk);
  return { el, place, kind: risk.kind, stays, leadsAlike };
}

function sameAct(asked: ArgsOf<'probe'>, now: Partial<ArgsOf<'probe'>>): boolean {
  const keys = (args: Partial<ArgsOf<'probe'>>) => [...(args.modifiers ?? [])].sort().join();
  return (
    (asked.button ?? 'left') === (now.button ?? 'left') &&
    (asked.submit ?? false) === (now.submit ?? false) &&
    keys(asked) === keys(now)
  );
}

function riskOf(el: Element, place: Place, asked: ArgsOf<'probe'>): Risk {
  if (asked.act === 'fill') {
    const filled = riskOfFill(el, asked.submit ?? false);
    return isTickable(el) ? riskOfBoth(riskOfPress(el, place, {}), filled) : filled;
  }
  return riskOfPress(el, place, asked);
}

function riskOfPress(el: Element, place: Place, asked: Partial<ArgsOf<'probe'>>): Risk {
  const atPoint = riskOfClick(place.hit, asked);
  return atPoint.kind === 'plain' ? riskOfClick(el, asked) : atPoint;
}

/** Everything that makes the act what it is. */
function meaningOf(el: Element, risk: Risk): string {
  const role = roleOf(el);
  const form = 'form' in el && el.form instanceof HTMLFormElement ? formMeaning(el.form) : '';
  const given = MEANING.map((name) => attr(el, name) ?? '');
  const parts = [tag(el), role, nameOf(el, role === '' ? 'clickable' : role), ...given, form, secrecy(el) ?? ''];
  return JSON.stringify([...parts, risk.kind, risk.destination ?? '', risk.method ?? '']);
}

const MEANING = ['type', 'href', 'target', 'download', 'formaction', 'formmethod', 'formtarget', 'name'];

function remember(bound: Bound): string {
  const [oldest] = tokens.keys();
  if (tokens.size >= TOKENS_MAX && oldest !== undefined) tokens.delete(oldest);
  count += 1;
  const token = `${EPOCH}.${count}`;
  tokens.set(token, bound);
  return token;
}
