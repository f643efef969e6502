import { expect, test, vi } from 'vitest';
import type { BridgeReq, BridgeResp } from '../contract/frames';
import { CALLS_MAX } from '../contract/limits';
import { Refused } from '../gate/refused';
import { type Answer, Calls, type Serve } from './calls';

const request = (id: number): BridgeReq => ({
  id,
  op: 'tab_list',
  args: {},
  caller: { key: 'k', name: 'n', image: '', verified: false },
  deadline: 500,
});
const done: Answer = { ok: true, data: { text: 'done' } };

function setUp() {
  const sent: BridgeResp[] = [];
  const answers: ((answer: Answer) => void)[] = [];
  const rings: (() => void)[] = [];
  const stopped = vi.fn();
  const signals: AbortSignal[] = [];
  const serve = vi.fn<Serve>((_, signal, __) => {
    signals.push(signal);
    return new Promise((resolve) => answers.push(resolve));
  });
  const timer = (_: number, ring: () => void) => {
    rings.push(ring);
    return stopped;
  };
  const calls = new Calls(
    (frame) => sent.push(frame),
    serve,
    timer,
    () => undefined,
  );
  return { calls, sent, answers, rings, stopped, signals, serve };
}

const rest = () => new Promise((resume) => setTimeout(resume));

test('a call is answered once, and counted', async () => {
  const { calls, sent, answers, stopped } = setUp();
  void calls.begin(request(1));
  expect(calls.counts).toEqual({ running: 1, answered: 0, cancelled: 0, refused: 0 });
  answers[0]?.(done);
  await rest();
  expect(sent).toEqual([{ id: 1, ok: true, data: { text: 'done' } }]);
  expect(stopped).toHaveBeenCalledTimes(1);
  expect(calls.counts).toEqual({ running: 0, answered: 1, cancelled: 0, refused: 0 });
});

test('t130_an_id_runs_at_most_once_on_a_port', async () => {
  const { calls, serve, answers } = setUp();
  void calls.begin(request(1));
  void calls.begin(request(1));
  answers[0]?.(done);
  await rest();
  void calls.begin(request(1));
  expect(serve).toHaveBeenCalledTimes(1);
  expect(calls.counts.refused).toBe(2);
});

test('ids that overtake each other run, and ids far behind are replays', async () => {
  const { calls, serve } = setUp();
  void calls.begin(request(5));
  void calls.begin(request(3));
  expect(serve).toHaveBeenCalledTimes(2);
  void calls.begin(request(1_000_000));
  void calls.begin(request(4));
  expect(serve).toHaveBeenCalledTimes(3);
});

test('a late answer after cancel is dropped, and the call is told to stop', async () => {
  const { calls, sent, answers, signals } = setUp();
  void calls.begin(request(1));
  calls.cancel(1);
  expect(signals[0]?.reason).toMatchObject({ code: 'CANCELLED' });
  answers[0]?.(done);
  await rest();
  expect(sent).toEqual([]);
  expect(calls.counts).toEqual({ running: 0, answered: 0, cancelled: 1, refused: 0 });
});

test('a cancel for a call that does not run changes nothing', () => {
  const { calls, sent } = setUp();
  calls.cancel(9);
  expect(sent).toEqual([]);
  expect(calls.counts.cancelled).toBe(0);
});

test('the deadline stops the call, whose answer then says so', async () => {
  const { calls, sent, answers, rings, signals } = setUp();
  void calls.begin(request(1));
  rings[0]?.();
  expect(signals[0]?.reason).toMatchObject({ code: 'RESPONSE_TIMEOUT' });
  answers[0]?.({ ok: false, error: { code: 'RESPONSE_TIMEOUT', message: 'late' } });
  await rest();
  expect(sent).toEqual([{ id: 1, ok: false, error: { code: 'RESPONSE_TIMEOUT', message: 'late' } }]);
});

test('when the port goes every call stops, nothing is answered, and the next broker may count from one', async () => {
  const { calls, sent, answers, signals, serve } = setUp();
  void calls.begin(request(1));
  void calls.begin(request(2));
  calls.drop();
  expect(signals.every((signal) => signal.aborted)).toBe(true);
  for (const answer of answers) answer(done);
  await rest();
  expect(sent).toEqual([]);
  void calls.begin(request(1));
  expect(serve).toHaveBeenCalledTimes(3);
});

test('stopped calls abort at once and are answered with the reason', async () => {
  const { calls, sent, answers, signals } = setUp();
  void calls.begin(request(1));
  void calls.begin(request(2));
  calls.stop(new Refused('BRIDGE_KILLED'));
  expect(signals.map((signal) => signal.reason.code)).toEqual(['BRIDGE_KILLED', 'BRIDGE_KILLED']);
  for (const answer of answers) answer({ ok: false, error: { code: 'BRIDGE_KILLED', message: 'm' } });
  await rest();
  expect(sent).toMatchObject([
    { id: 1, ok: false },
    { id: 2, ok: false },
  ]);
});

test('calls beyond the bound are refused with an answer', () => {
  const { calls, sent } = setUp();
  for (let id = 0; id <= CALLS_MAX; id += 1) void calls.begin(request(id));
  expect(sent).toMatchObject([{ id: CALLS_MAX, ok: false, error: { code: 'EXTENSION_NOT_READY' } }]);
  expect(calls.counts.running).toBe(CALLS_MAX);
});

test('progress of a call that ended is not sent', async () => {
  const sent: BridgeResp[] = [];
  let tell: (state: 'confirming') => void = () => undefined;
  const serve: Serve = (_, __, progress) => {
    tell = progress;
    return Promise.resolve(done);
  };
  const calls = new Calls(
    (frame) => sent.push(frame),
    serve,
    () => () => undefined,
    () => undefined,
  );
  const running = calls.begin(request(1));
  tell('confirming');
  await running;
  tell('confirming');
  expect(sent).toEqual([
    { type: 'progress', id: 1, state: 'confirming' },
    { id: 1, ok: true, data: { text: 'done' } },
  ]);
});
