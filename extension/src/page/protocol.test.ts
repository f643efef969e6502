// Both ends of the page protocol refuse what does not belong to it.

import { expect, test } from 'vitest';
import { readReply, readRequest } from './protocol';

const CLICK = { genkan: 1, call: 'c', op: 'click', args: { token: 't' } };

test('a_request_that_fits_is_read', () => {
  expect(readRequest(CLICK)).toEqual(CLICK);
});

test.each([
  ['another release', { ...CLICK, genkan: 2 }],
  ['an unknown operation', { ...CLICK, op: 'eval' }],
  ['an inherited name as operation', { ...CLICK, op: 'constructor' }],
  ['an unknown member', { ...CLICK, more: 1 }],
  ['an unknown argument', { ...CLICK, args: { token: 't', x: 1 } }],
  ['a missing argument', { ...CLICK, args: {} }],
  ['a null argument', { ...CLICK, args: { token: 't', button: null } }],
  ['a list in place of members', { ...CLICK, args: ['t'] }],
  ['a number out of bounds', { ...CLICK, args: { token: 't', count: 4 } }],
  ['text above its bound', { ...CLICK, call: 'c'.repeat(257) }],
  ['nothing', undefined],
])('%s is no request', (_, message) => {
  expect(readRequest(message)).toBeUndefined();
});

test('a_reply_must_fit_its_operation', () => {
  const effects = { changed: true, warnings: [] };
  expect(readReply('click', { ok: true, data: effects })).toEqual({ ok: true, data: effects });
  expect(readReply('wait', { ok: true, data: effects })).toBeUndefined();
  expect(readReply('click', { ok: true, data: { ...effects, value: 'hunter2' } })).toBeUndefined();
  expect(readReply('click', { ok: false, error: { code: 'USER_DENIED', message: '' } })).toBeUndefined();
  expect(readReply('click', { ok: false, data: effects })).toBeUndefined();
});
