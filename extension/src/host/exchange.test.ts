import { expect, test } from 'vitest';
import type { AuditReadResult, FromExtension, KillStatusResult } from '../contract/frames';
import { EXCHANGE_MS } from '../contract/limits';
import { Exchange } from './exchange';

const error = { code: 'INTERNAL_ERROR', message: 'm' } as const;
const killed: KillStatusResult = { type: 'kill_status_result', ok: true, killed: true, epoch: 2, engaged: 2 };
const clear: KillStatusResult = { type: 'kill_status_result', ok: true, killed: false, epoch: 1, engaged: 0 };
const log = (path: string): AuditReadResult => ({
  type: 'audit_read_result',
  ok: true,
  entries: [],
  older: false,
  path,
});
const READ = { type: 'audit_read' } as const;

function setUp({ opened = true } = {}) {
  const sent: FromExtension[] = [];
  const timers: { after: number; ring(): void; stopped: boolean }[] = [];
  const exchange = new Exchange(
    (frame) => sent.push(frame),
    (after, ring) => {
      const timer = { after, ring, stopped: false };
      timers.push(timer);
      return () => {
        timer.stopped = true;
      };
    },
  );
  if (opened) exchange.open();
  return { exchange, sent, timers };
}

/** The code with which a question fails, once it has. */
const code = (asked: Promise<unknown>) =>
  asked.then(
    () => 'answered',
    (why: { code: string }) => why.code,
  );

test('idle → claimed → idle: the claimant gets the answer, and the timer stops', async () => {
  const { exchange, sent, timers } = setUp();
  const asked = exchange.ask('audit_read', { ...READ, limit: 5 });
  expect(sent).toEqual([{ type: 'audit_read', limit: 5 }]);
  expect(timers[0]?.after).toBe(EXCHANGE_MS);
  exchange.route(log('/a'));
  await expect(asked).resolves.toEqual(log('/a'));
  expect(timers[0]?.stopped).toBe(true);
  const again = exchange.ask('audit_read', READ);
  exchange.route(log('/b'));
  await expect(again).resolves.toEqual(log('/b'));
});

test('claimed → claimed: the same question joins, another one is refused unsent', async () => {
  const { exchange, sent } = setUp();
  const first = exchange.ask('audit_read', READ);
  const same = exchange.ask('audit_read', READ);
  expect(await code(exchange.ask('audit_read', { ...READ, limit: 9 }))).toBe('EXTENSION_NOT_READY');
  expect(sent).toHaveLength(1);
  exchange.route(log('/a'));
  expect(await Promise.all([first, same])).toEqual([log('/a'), log('/a')]);
});

test('claimed → owed: after the deadline the claim is revoked, and the late answer reaches nobody', async () => {
  const { exchange, sent, timers } = setUp();
  const late = exchange.ask('audit_read', READ);
  timers[0]?.ring();
  expect(await code(late)).toBe('RESPONSE_TIMEOUT');
  expect(await code(exchange.ask('audit_read', { ...READ, limit: 1 }))).toBe('EXTENSION_NOT_READY');
  expect(sent).toHaveLength(1);
  exchange.route(log('/late'));
  const next = exchange.ask('audit_read', { ...READ, limit: 1 });
  exchange.route(log('/right'));
  await expect(next).resolves.toEqual(log('/right'));
});

test('lanes do not wait for each other, and an answer stays on its own', async () => {
  const { exchange } = setUp();
  const list = exchange.ask('client_list', { type: 'client_list' });
  const engage = exchange.ask('kill_engage', { type: 'kill_engage' });
  exchange.route(killed);
  await expect(engage).resolves.toEqual(killed);
  exchange.route(log('/unasked'));
  exchange.route({ type: 'client_list_result', ok: false, error });
  await expect(list).resolves.toMatchObject({ ok: false });
});

test('a word said before the host heard of the engaging is no answer to it; a failure is', async () => {
  const { exchange } = setUp();
  const engage = exchange.ask('kill_engage', { type: 'kill_engage' });
  exchange.route(clear);
  exchange.route({ type: 'kill_status_result', ok: false, error });
  await expect(engage).resolves.toMatchObject({ ok: false });
});

test('the kill lane owes nothing after its deadline: the person may press again at once', async () => {
  const { exchange, sent, timers } = setUp();
  const first = exchange.ask('kill_engage', { type: 'kill_engage' });
  timers[0]?.ring();
  expect(await code(first)).toBe('RESPONSE_TIMEOUT');
  const second = exchange.ask('kill_engage', { type: 'kill_engage' });
  expect(sent).toHaveLength(2);
  exchange.route(killed);
  await expect(second).resolves.toEqual(killed);
});

test('any → detached: every claim fails, and nothing is asked on a port that is gone', async () => {
  const { exchange, sent } = setUp();
  const asked = [exchange.ask('audit_read', READ), exchange.ask('kill_engage', { type: 'kill_engage' })];
  exchange.detach();
  expect(await Promise.all(asked.map(code))).toEqual(['CONNECTION_LOST', 'CONNECTION_LOST']);
  expect(await code(exchange.ask('audit_read', READ))).toBe('CONNECTION_LOST');
  exchange.open();
  expect(await code(exchange.ask('audit_read', READ))).toBe('CONNECTION_LOST');
  expect(sent).toHaveLength(2);
});

test('unopened: a host that never spoke of the kill switch is asked nothing', async () => {
  const { exchange, sent } = setUp({ opened: false });
  expect(await code(exchange.ask('kill_engage', { type: 'kill_engage' }))).toBe('EXTENSION_NOT_READY');
  expect(sent).toEqual([]);
});

test('an answer that nobody asked for changes nothing', () => {
  const { exchange, sent } = setUp();
  for (const frame of [killed, clear, log('/a')]) exchange.route(frame);
  expect(sent).toEqual([]);
});

test('whether an act may begin is answered by the answer alone, never by what the host pushed meanwhile', async () => {
  const { exchange, sent, timers } = setUp();
  const asked = exchange.ask('kill_status', { type: 'kill_status' });
  exchange.route(clear);
  exchange.route({ ...clear, epoch: 2, asked: true });
  await expect(asked).resolves.toMatchObject({ epoch: 2 });
  const late = exchange.ask('kill_status', { type: 'kill_status' });
  timers[1]?.ring();
  expect(await code(late)).toBe('RESPONSE_TIMEOUT');
  exchange.route(clear);
  expect(await code(exchange.ask('kill_status', { type: 'kill_status' }))).toBe('EXTENSION_NOT_READY');
  exchange.route({ ...clear, asked: true });
  const next = exchange.ask('kill_status', { type: 'kill_status' });
  exchange.route({ type: 'kill_status_result', ok: false, error, asked: true });
  await expect(next).resolves.toMatchObject({ ok: false });
  expect(sent).toHaveLength(3);
});
