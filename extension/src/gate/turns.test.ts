import { expect, test } from 'vitest';
import { ACT_MS, TAB_TURN_MS } from '../contract/limits';
import { type Release, Turns } from './turns';

const client = (key: string, name = key) => ({ key, name, image: '', verified: false });

function setUp() {
  const timers: { after: number; ring(): void; stopped: boolean }[] = [];
  const turns = new Turns((after, ring) => {
    const timer = { after, ring, stopped: false };
    timers.push(timer);
    return () => {
      timer.stopped = true;
    };
  });
  const log: string[] = [];
  const take = async (key: string, tab = 1, signal = new AbortController().signal): Promise<Release> => {
    const taken = turns.take(tab, client(key), signal);
    const release = await taken;
    log.push(key);
    return release;
  };
  return { turns, timers, log, take };
}

const rest = () => new Promise((resume) => setTimeout(resume));

test('a tab that nobody holds is taken without waiting, and so is it by its holder', () => {
  const { turns } = setUp();
  const { signal } = new AbortController();
  expect(turns.take(1, client('a'), signal)).toBeTypeOf('function');
  expect(turns.take(1, client('a'), signal)).toBeTypeOf('function');
  expect(turns.take(2, client('b'), signal)).toBeTypeOf('function');
  expect(turns.take(1, client('b'), signal)).toBeInstanceOf(Promise);
});

test('another client waits until all calls of the holder ended, and those after it wait behind', async () => {
  const { log, take } = setUp();
  const first = await take('a');
  const second = await take('a');
  const other = take('b');
  const third = take('a');
  await rest();
  expect(log).toEqual(['a', 'a']);
  first();
  first();
  await rest();
  expect(log).toEqual(['a', 'a']);
  second();
  const release = await other;
  await rest();
  expect(log).toEqual(['a', 'a', 'b']);
  release();
  (await third)();
  expect(log).toEqual(['a', 'a', 'b', 'a']);
});

test('a call that waits too long is refused with holder and tab, and takes no later turn', async () => {
  const { timers, log, take, turns } = setUp();
  const long = client('a', 'Agent\u202e "x"\n'.repeat(20));
  const release = turns.take(7, long, new AbortController().signal);
  const other = take('b', 7);
  expect(timers[0]?.after).toBe(TAB_TURN_MS);
  timers[0]?.ring();
  await expect(other).rejects.toMatchObject({ code: 'BROKER_BUSY' });
  const sentence = await other.catch((why: Error) => why.message);
  expect(sentence).toContain('tab 7');
  expect(sentence).toContain('\\"x\\"');
  expect(sentence).not.toMatch(/[\u202e\n]/);
  expect(sentence.length).toBeLessThan(400);
  if (typeof release === 'function') release();
  await rest();
  expect(log).toEqual([]);
  expect(turns.take(7, client('c'), new AbortController().signal)).toBeTypeOf('function');
});

test('a waiting call that is cancelled leaves the line', async () => {
  const { take, log } = setUp();
  const controller = new AbortController();
  const release = await take('a');
  const waiting = take('b', 1, controller.signal);
  const next = take('c');
  controller.abort(new Error('cancelled'));
  await expect(waiting).rejects.toThrow('cancelled');
  release();
  await next;
  expect(log).toEqual(['a', 'c']);
});

test('a call that was ended from outside holds its tab only while an act of its may still run', async () => {
  const { take, timers, log } = setUp();
  const controller = new AbortController();
  const release = await take('a', 1, controller.signal);
  const next = take('b');
  controller.abort();
  await rest();
  expect(log).toEqual(['a']);
  const bound = timers.find(({ after }) => after === ACT_MS);
  bound?.ring();
  await next;
  expect(log).toEqual(['a', 'b']);
  release();
  await rest();
  expect(log).toEqual(['a', 'b']);
});
