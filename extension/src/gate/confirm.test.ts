import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CONFIRM_GRACE_MS, CONFIRM_QUEUE_MAX } from '../contract/limits';
import {
  ACT_KINDS,
  type Act,
  afterAllowed,
  afterNavigation,
  mayQueue,
  mustAsk,
  refusalOf,
  withoutCaller,
} from './confirm';

const NOW = 5_000_000;
const act: Act = { caller: 'c1', tab: 3, origin: 'https://a.example', kind: 'submit' };
const granted = afterAllowed('high_risk', act, [], NOW);

test('a high-risk tool asks for every kind of act but a plain one', () => {
  for (const kind of ACT_KINDS) expect(mustAsk('high_risk', { ...act, kind }, [], NOW)).toBe(kind !== 'plain');
});

test('an every-call tool asks whatever was allowed before', () => {
  const graces = afterAllowed('every_call', act, granted, NOW);
  expect(mustAsk('every_call', act, granted, NOW)).toBe(true);
  expect(mustAsk('every_call', act, graces, NOW)).toBe(true);
});

test('a tool without the rule never asks', () => {
  for (const kind of ACT_KINDS) expect(mustAsk('none', { ...act, kind }, [], NOW)).toBe(false);
});

test('an approval covers the same kind of act by the same client on the same tab and site, and nothing else', () => {
  expect(mustAsk('high_risk', act, granted, NOW + 1)).toBe(false);
  for (const other of [
    { ...act, caller: 'c2' },
    { ...act, tab: 4 },
    { ...act, origin: 'https://b.example' },
    { ...act, kind: 'link' as const },
    { ...act, kind: 'payment' as const },
  ]) {
    expect(mustAsk('high_risk', other, granted, NOW + 1)).toBe(true);
  }
});

test('grace ends with its time, whichever way the clock moves', () => {
  expect(mustAsk('high_risk', act, granted, NOW + CONFIRM_GRACE_MS - 1)).toBe(false);
  expect(mustAsk('high_risk', act, granted, NOW + CONFIRM_GRACE_MS)).toBe(true);
  expect(mustAsk('high_risk', act, granted, NOW - 1)).toBe(true);
});

test('a later act inside the grace does not stretch it', () => {
  const half = NOW + CONFIRM_GRACE_MS / 2;
  expect(mustAsk('high_risk', act, granted, half)).toBe(false);
  expect(mustAsk('high_risk', act, granted, NOW + CONFIRM_GRACE_MS)).toBe(true);
});

test('grace is cleared when the tab shows another site or goes away, and kept on the same site', () => {
  expect(afterNavigation(granted, 3, 'https://a.example/next')).toEqual(granted);
  for (const url of ['https://b.example/', 'http://a.example/', 'https://a.example:444/', 'about:blank', undefined]) {
    expect(afterNavigation(granted, 3, url)).toEqual([]);
  }
  expect(afterNavigation(granted, 4, 'https://b.example/')).toEqual(granted);
});

test('grace of a client that left is cleared', () => {
  expect(withoutCaller(granted, 'c1')).toEqual([]);
  expect(withoutCaller(granted, 'c2')).toEqual(granted);
});

test('expired graces do not pile up', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { maxLength: 200 }), (tabs) => {
      let graces = granted;
      tabs.forEach((tab, i) => {
        graces = afterAllowed('high_risk', { ...act, tab }, graces, NOW + i * CONFIRM_GRACE_MS);
      });
      expect(graces.length).toBeLessThanOrEqual(1 + (tabs.length === 0 ? 0 : 1));
    }),
  );
});

test('t147_only_a_bounded_number_of_questions_may_wait', () => {
  expect(mayQueue(CONFIRM_QUEUE_MAX - 1)).toBe(true);
  expect(mayQueue(CONFIRM_QUEUE_MAX)).toBe(false);
});

test('t148_everything_but_a_clear_yes_is_a_refusal', () => {
  expect(refusalOf('allowed')).toBeNull();
  expect(refusalOf('denied')).toBe('USER_DENIED');
  expect(refusalOf('closed')).toBe('USER_DENIED');
  expect(refusalOf('timeout')).toBe('CONFIRMATION_TIMEOUT');
  expect(refusalOf('void')).toBe('EXECUTION_FAILED');
});
