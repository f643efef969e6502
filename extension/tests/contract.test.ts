// What the generated contract refuses. The generator decides; these tests show that Zod does as it was told, so the
// frames here arrive as the browser hands them over: parsed JSON, nothing trusted.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EXCEPTIONS } from '../src/contract/exceptions';
import {
  ARGS,
  AuditReadResult,
  BridgeCommand,
  BridgeReq,
  CAPABILITIES,
  CAPABILITY_SPECS,
  Cancel,
  Chunk,
  ClientListResult,
  FILL_BYTES_MAX,
  HostFrame,
  HostHello,
  HostStatusResult,
  KillStatusResult,
  OPS,
  SAFE_INTEGER_MAX,
  SELECTOR_BYTES_MAX,
} from '../src/contract/index';
import { PROBES } from '../src/contract/probes';

type Check = { safeParse(value: unknown): { success: boolean } };

const FRAMES: Record<string, { check: Check; frame: string }> = {
  HostHello: { check: HostHello, frame: '{"type":"host_hello","bridge":1,"host":"0.1.0"}' },
  HostStatusResult: {
    check: HostStatusResult,
    frame:
      '{"type":"host_status_result","label":"chrome","link":{"state":"refused","error":{"code":"BROKER_BUSY","message":"m"}}}',
  },
  BridgeReq: {
    check: BridgeReq,
    frame:
      '{"id":7,"op":"tab_list","browser":"chrome","args":{},"caller":{"key":"k","name":"n","image":"/i","verified":false},"deadline":100}',
  },
  KillKnown: {
    check: KillStatusResult,
    frame: '{"type":"kill_status_result","ok":true,"killed":false,"epoch":7,"engaged":0,"warning":"w"}',
  },
  KillUnknown: {
    check: KillStatusResult,
    frame: '{"type":"kill_status_result","ok":false,"error":{"code":"BRIDGE_KILLED","message":"m"}}',
  },
  AuditRead: {
    check: AuditReadResult,
    frame:
      '{"type":"audit_read_result","ok":true,"entries":[{"ts_ms":1,"event_kind":"k","surface":"s"}],"older":false,"path":"/p"}',
  },
  AuditUnread: {
    check: AuditReadResult,
    frame: '{"type":"audit_read_result","ok":false,"error":{"code":"INTERNAL_ERROR","message":"m"}}',
  },
  ClientList: {
    check: ClientListResult,
    frame:
      '{"type":"client_list_result","ok":true,"enrolled":true,"clients":[{"name":"n","image":"/i","anchor":"hash","any_script":false,"paused":false,"paired_ms":1}]}',
  },
  ClientsUnread: {
    check: ClientListResult,
    frame: '{"type":"client_list_result","ok":false,"error":{"code":"BRIDGE_KILLED","message":"m"}}',
  },
  Cancel: { check: Cancel, frame: '{"type":"cancel","id":7}' },
  Chunk: { check: Chunk, frame: '{"type":"chunk","id":7,"seq":0,"last":true,"data":"d"}' },
};

/** Every object inside a value, with a function that puts a changed copy in its place. */
function objectsOf(value: unknown): { object: Record<string, unknown>; put(o: object): unknown }[] {
  if (Array.isArray(value)) {
    const inner = value.map((part, at) => objectsOf(part).map((found) => ({ ...found, at })));
    return inner.flat().map(({ object, put, at }) => ({ object, put: (o) => value.with(at, put(o)) }));
  }
  if (typeof value !== 'object' || value === null) return [];
  const own = Object.fromEntries(Object.entries(value));
  const inner = Object.entries(own).flatMap(([name, part]) =>
    objectsOf(part).map((found) => ({ ...found, put: (o: object) => ({ ...own, [name]: found.put(o) }) })),
  );
  return [{ object: own, put: (o) => o }, ...inner];
}

const OPTIONAL = ['browser', 'warning'];
const OPEN = JSON.stringify({}); // the one member whose content the operation's own validator reads
const closed = (frame: unknown) => objectsOf(frame).filter(({ object }) => JSON.stringify(object) !== OPEN);
const ok = (check: Check, value: unknown) => check.safeParse(value).success;

describe.each(Object.entries(FRAMES))('%s', (_, { check, frame }) => {
  const parsed: unknown = JSON.parse(frame);

  test('is taken as it is written', () => {
    expect(ok(check, parsed)).toBe(true);
    expect(ok(HostFrame, parsed)).toBe(true);
  });

  test('T006 an unknown field is refused at any depth, __proto__ and another case included', () => {
    for (const { object, put } of closed(parsed)) {
      const first = Object.keys(object)[0] ?? '';
      for (const name of ['extra', '__proto__', 'constructor', first.toUpperCase(), ` ${first}`]) {
        const more = JSON.parse(`{${JSON.stringify(name)}:1}`);
        const grown = Object.defineProperties({ ...object }, Object.getOwnPropertyDescriptors(more));
        expect(ok(check, put(grown)), `${name} in ${frame}`).toBe(false);
      }
    }
  });

  test('a missing field is refused at any depth', () => {
    for (const { object, put } of closed(parsed)) {
      for (const name of Object.keys(object).filter((n) => !OPTIONAL.includes(n))) {
        const { [name]: _gone, ...rest } = object;
        expect(ok(check, put(rest)), `${frame} without ${name}`).toBe(false);
      }
    }
  });

  test('a value of another type is refused at any depth, null included', () => {
    for (const { object, put } of closed(parsed)) {
      for (const [name, value] of Object.entries(object)) {
        const others = [null, [], 'other', 1.5, true, { extra: 1 }];
        const wrong = others.filter(
          (o) => typeof o !== typeof value || o === null || Array.isArray(o) !== Array.isArray(value),
        );
        for (const other of wrong) {
          expect(ok(check, put({ ...object, [name]: other })), `${name} = ${JSON.stringify(other)}`).toBe(false);
        }
      }
    }
  });

  test('a frame mixed with any other frame is refused', () => {
    const names = Object.keys(JSON.parse(frame));
    for (const other of Object.values(FRAMES)) {
      const mixed = { ...JSON.parse(other.frame), ...JSON.parse(frame) };
      if (Object.keys(mixed).length > names.length) expect(ok(HostFrame, mixed), other.frame).toBe(false);
    }
  });
});

test('T008 an id is an exact unsigned integer in every frame', () => {
  for (const id of ['-0', '-1', '1.5', '1e400', '9007199254740992', '18446744073709551616', '"1"', 'true']) {
    for (const frame of ['{"type":"cancel","id":ID}', '{"type":"chunk","id":ID,"seq":0,"last":true,"data":""}']) {
      expect(ok(HostFrame, JSON.parse(frame.replace('ID', id))), id).toBe(false);
    }
  }
  expect(ok(Cancel, { type: 'cancel', id: SAFE_INTEGER_MAX })).toBe(true);
});

test('T004 text with a lone surrogate is refused', () => {
  expect(ok(Chunk, JSON.parse('{"type":"chunk","id":1,"seq":0,"last":true,"data":"\\ud800"}'))).toBe(false);
  expect(ok(Chunk, JSON.parse('{"type":"chunk","id":1,"seq":0,"last":true,"data":"\\ud83d\\ude00"}'))).toBe(true);
});

test('T013 an attached link with an error, or a refused one with a door, is refused', () => {
  const error = { code: 'BROKER_BUSY', message: 'm' };
  const links = [
    { state: 'attached', door: 'open', error },
    { state: 'refused', door: 'open', error },
    { state: 'waiting', door: 'open' },
    { state: 'attached' },
  ];
  for (const link of links) {
    expect(ok(HostStatusResult, { type: 'host_status_result', label: 'l', link })).toBe(false);
  }
});

test('T013 a result that mixes members of success and failure, or lies about which it is, is refused', () => {
  const error = { code: 'BRIDGE_KILLED', message: 'm' };
  const results = [
    { type: 'kill_status_result', ok: true, killed: false, epoch: 1, engaged: 0, error },
    { type: 'kill_status_result', ok: false, killed: false, epoch: 1, engaged: 0, error },
    { type: 'kill_status_result', ok: false, killed: false, epoch: 1, engaged: 0 },
    { type: 'kill_status_result', ok: true, error },
    { type: 'kill_status_result', ok: 'true', killed: false, epoch: 1, engaged: 0 },
    { type: 'kill_status_result', killed: false, epoch: 1, engaged: 0 },
    { type: 'client_list_result', ok: true, enrolled: false, clients: [], error },
    { type: 'client_list_result', ok: false, enrolled: false, clients: [], error },
    { type: 'audit_read_result', ok: false, entries: [], older: false, path: '', error },
    {
      type: 'audit_read_result',
      ok: true,
      entries: [{ ts_ms: 1, event_kind: 'k', surface: 's', error }],
      older: false,
    },
  ];
  for (const result of results) expect(ok(HostFrame, result), JSON.stringify(result)).toBe(false);
});

test('T013 no mixture of the members of any two results is taken, save the results themselves', () => {
  const members = fc.record(
    {
      ok: fc.oneof(fc.boolean(), fc.constantFrom(0, 1, 'true', null)),
      killed: fc.boolean(),
      epoch: fc.nat(),
      engaged: fc.nat(),
      warning: fc.string(),
      enrolled: fc.boolean(),
      clients: fc.constant([]),
      entries: fc.constant([]),
      older: fc.boolean(),
      path: fc.string(),
      error: fc.constant({ code: 'BRIDGE_KILLED', message: 'm' }),
    },
    { requiredKeys: [] },
  );
  const sides: Record<string, { yes: string[]; no: string[]; spare: string[] }> = {
    kill_status_result: { yes: ['engaged', 'epoch', 'killed', 'ok'], no: ['error', 'ok'], spare: ['warning'] },
    client_list_result: { yes: ['clients', 'enrolled', 'ok'], no: ['error', 'ok'], spare: [] },
    audit_read_result: { yes: ['entries', 'ok', 'older', 'path'], no: ['error', 'ok'], spare: [] },
  };
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(sides)), members, (type, mixed) => {
      const { yes, no, spare } = sides[type] ?? { yes: [], no: [], spare: [] };
      const names = Object.keys(mixed).sort();
      const needed = names.filter((name) => !spare.includes(name));
      const whole =
        (mixed.ok === true && String(needed) === String(yes)) || (mixed.ok === false && String(names) === String(no));
      expect(ok(HostFrame, { type, ...mixed }), JSON.stringify(mixed)).toBe(whole);
    }),
    { numRuns: 2_000 },
  );
});

test.each(EXCEPTIONS.map((e) => [e.at, e] as const))('the exception %s holds', (_, exception) => {
  expect(ok(HostFrame, exception.accept)).toBe(true);
  expect(ok(HostFrame, exception.refuse)).toBe(false);
});

describe('arguments', () => {
  test('both languages take and refuse the same', () => {
    const checks: Record<string, Check> = ARGS;
    expect(PROBES.length).toBeGreaterThan(500);
    for (const [op, args, taken] of PROBES) {
      const check = checks[op];
      expect(check && ok(check, JSON.parse(args)), `${op} ${args.slice(0, 200)}`).toBe(taken);
    }
  });

  test('T177 every operation refuses unknown arguments, __proto__, another case and null', () => {
    for (const op of OPS) {
      const check: Check = ARGS[op.name];
      for (const name of ['extra', '__proto__', 'browser', ...op.args.map((a) => a.toUpperCase())]) {
        const value = name === name.toLowerCase() ? 1 : 'x';
        expect(ok(check, { ...least(op.name), ...own(name, value) }), `${op.name} ${name}`).toBe(false);
      }
      for (const arg of op.args) expect(ok(check, { ...least(op.name), [arg]: null }), `${op.name} ${arg}`).toBe(false);
      expect(ok(check, least(op.name)), op.name).toBe(true);
    }
  });

  test('text is bounded in bytes, not in characters', () => {
    const two = 'é'.repeat(SELECTOR_BYTES_MAX / 2);
    expect(ok(ARGS.page_click, { selector: two })).toBe(true);
    expect(ok(ARGS.page_click, { selector: `${two}é` })).toBe(false);
    expect(ok(ARGS.page_click, { selector: '' })).toBe(false);
    expect(ok(ARGS.page_fill, { ref: 'e1', value: '' })).toBe(true);
    expect(ok(ARGS.page_fill, { ref: 'e1', value: 'a'.repeat(FILL_BYTES_MAX) })).toBe(true);
    expect(ok(ARGS.page_fill, { ref: 'e1', value: 'a'.repeat(FILL_BYTES_MAX + 1) })).toBe(false);
  });

  test('rules over several arguments hold', () => {
    expect(ok(ARGS.page_click, { ref: 'e1', selector: 'a' })).toBe(false);
    expect(ok(ARGS.page_click, {})).toBe(false);
    expect(ok(ARGS.page_scroll, { pixels: 1 })).toBe(false);
    expect(ok(ARGS.page_wait_for, { timeoutMs: 1000 })).toBe(false);
    expect(ok(ARGS.page_click, { ref: 'e1', modifiers: ['Alt', 'Alt'] })).toBe(false);
    expect(ok(ARGS.page_click, { ref: 'e1', modifiers: ['Alt', 'Meta'] })).toBe(true);
  });

  test('numbers keep their bounds', () => {
    expect(ok(ARGS.page_click, { ref: 'e1', count: 4 })).toBe(false);
    expect(ok(ARGS.page_click, { ref: 'e1', count: 0 })).toBe(false);
    expect(ok(ARGS.tab_focus, { tabId: SAFE_INTEGER_MAX + 1 })).toBe(false);
    expect(ok(ARGS.tab_focus, JSON.parse('{"tabId":-0}'))).toBe(false);
  });

  test('a command names an operation and fits it', () => {
    expect(ok(BridgeCommand, { op: 'tab_focus', args: { tabId: 1 } })).toBe(true);
    expect(ok(BridgeCommand, { op: 'tab_focus', args: { ref: 'e1' } })).toBe(false);
    expect(ok(BridgeCommand, { op: 'TAB_FOCUS', args: { tabId: 1 } })).toBe(false);
    expect(ok(BridgeCommand, { op: 'list_browsers', args: {} })).toBe(false);
  });
});

test('every operation stands in exactly one capability', () => {
  const placed = CAPABILITIES.flatMap((c) => CAPABILITY_SPECS[c].tools);
  expect([...placed].sort()).toEqual(OPS.map((op) => op.name).sort());
});

test('the contract is not tracked', () => {
  const ignored = readFileSync(fileURLToPath(new URL('../../.gitignore', import.meta.url)), 'utf8');
  expect(ignored.split('\n')).toContain('/extension/src/contract/');
});

/** An own member, whatever its name. */
function own(name: string, value: unknown): object {
  return Object.defineProperty({}, name, { value, enumerable: true });
}

/** The fewest arguments an operation takes. */
function least(op: (typeof OPS)[number]['name']): object {
  if (op === 'tab_focus' || op === 'tab_close') return { tabId: 1 };
  if (op === 'tab_open' || op === 'page_navigate') return { url: 'https://example.org/' };
  if (op === 'page_click' || op === 'page_scroll') return { ref: 'e1' };
  if (op === 'page_fill') return { ref: 'e1', value: 'v' };
  if (op === 'page_wait_for') return { text: 't' };
  return {};
}
