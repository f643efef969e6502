import { expect, test } from 'vitest';
import { hear, hearJoined } from './intake';

const request = {
  id: 3,
  op: 'tab_list',
  args: {},
  caller: { key: 'k', name: 'n', image: '', verified: false },
  deadline: 10,
};

test.each([
  ['hello', { type: 'host_hello', bridge: 1, host: '0.1.0' }],
  ['status', { type: 'host_status_result', label: 'chromium', link: { state: 'attached', door: 'open' } }],
  ['kill', { type: 'kill_status_result', ok: true, killed: false, epoch: 0, engaged: 0 }],
  ['answer', { type: 'client_list_result', ok: true, enrolled: false, clients: [] }],
  ['answer', { type: 'audit_read_result', ok: true, entries: [], older: false, path: '/p' }],
  ['request', request],
  ['cancel', { type: 'cancel', id: 3 }],
  ['chunk', { type: 'chunk', id: 3, seq: 0, last: true, data: '' }],
])('a %s frame is heard as one', (kind, frame) => {
  expect(hear(frame).kind).toBe(kind);
});

test.each([
  ['an unknown member', { ...request, extra: 1 }, 3],
  ['an unknown member inside', { ...request, caller: { ...request.caller, extra: 1 } }, 3],
  ['a missing member', { id: 3, op: 'tab_list' }, 3],
  ['a member of another type', { ...request, deadline: '10' }, 3],
  ['an unknown type', { type: 'kill_engage', id: 3 }, 3],
  ['a frame that only the extension sends', { type: 'extension_hello', bridge: 1 }, null],
  ['an id that is no id', { ...request, id: -1 }, null],
  ['text', 'tab_list', null],
  ['null', null, null],
  ['a list', [request], null],
])('%s is refused, with the id where there is one', (_, frame, id) => {
  expect(hear(frame)).toEqual({ kind: 'refused', id });
});

test('pieces may carry a request and nothing else', () => {
  expect(hearJoined(JSON.stringify(request)).kind).toBe('request');
  expect(hearJoined('{"type":"host_hello","bridge":1,"host":"x"}').kind).toBe('refused');
  expect(hearJoined('{"type":"chunk","id":1,"seq":0,"last":true,"data":""}').kind).toBe('refused');
  expect(hearJoined('{"type":"cancel","id":3}').kind).toBe('refused');
  expect(hearJoined('{"id":3,').kind).toBe('refused');
});
