import { describe, expect, test, vi } from 'vitest';
import type { KillStatusResult } from '../contract/frames';
import { ACT_FRESH_MS } from '../contract/limits';
import type { Refused } from '../gate/refused';
import { type Kept, KillMirror } from './kill';

const word = (killed: boolean, epoch: number, more: { engaged?: number; warning?: string } = {}): KillStatusResult => ({
  type: 'kill_status_result',
  ok: true,
  killed,
  epoch,
  engaged: killed ? epoch : 0,
  ...more,
});
const damaged: KillStatusResult = {
  type: 'kill_status_result',
  ok: false,
  error: { code: 'BRIDGE_KILLED', message: 'trust.json is damaged' },
};
const kept = (part: Partial<Kept>): Kept => ({
  version: 1,
  killed: false,
  pending: false,
  epoch: 1,
  engaged: 0,
  ...part,
});

function setUp(stored: unknown = undefined, how: { unread?: true; unwritten?: true; silent?: true } = {}) {
  const disk: { value: unknown } = { value: stored };
  const saves: Kept[] = [];
  const stops: Refused[] = [];
  const clock = { now: 1_000_000 };
  /** What the host answers, and what happens before the answer is heard. */
  const host = { says: word(false, 1), meanwhile: (): void => undefined };
  const ask = vi.fn(async () => {
    const answer = host.says;
    host.meanwhile();
    mirror.hear(answer);
    return answer;
  });
  const mirror: KillMirror = new KillMirror({
    load: async () => (how.unread ? Promise.reject(new Error('no disk')) : disk.value),
    save: async (now) => {
      if (how.unwritten) throw new Error('no disk');
      saves.push(now);
      disk.value = now;
    },
    stop: (why) => stops.push(why),
    tell: vi.fn(async () => {
      if (how.silent) throw new Error('no host');
      const answer = word(true, 9);
      mirror.hear(answer);
      return answer;
    }),
    quiet: async () => undefined,
    ask,
    now: () => clock.now,
    changed: () => undefined,
  });
  return { mirror, disk, saves, stops, how, clock, host, ask };
}

const rest = () => new Promise((resume) => setTimeout(resume));

/** How a call fares now: undefined if it may run, else its code. */
async function call(mirror: KillMirror): Promise<string | undefined> {
  try {
    await mirror.pass();
    return undefined;
  } catch (why) {
    return (why as Refused).code;
  }
}

test('nothing runs before the host of this connection has spoken, whatever is stored', async () => {
  for (const stored of [undefined, kept({}), kept({ killed: true }), 'junk']) {
    const { mirror } = setUp(stored);
    expect(await call(mirror)).toBe('EXTENSION_NOT_READY');
    await rest();
    expect(await call(mirror)).toBe('EXTENSION_NOT_READY');
    mirror.hear(word(false, 1));
    expect(await call(mirror)).toBeUndefined();
    mirror.unknown();
    expect(await call(mirror)).toBe('EXTENSION_NOT_READY');
    mirror.hear(word(false, 1));
    expect(await call(mirror)).toBeUndefined();
  }
});

test('clear is said without waiting once it is known', async () => {
  const { mirror } = setUp();
  mirror.hear(word(false, 1));
  await rest();
  expect(mirror.pass()).toBeUndefined();
});

test.each([
  ['missing', undefined, {}, false],
  ['corrupt', { version: 1, killed: 'no' }, {}, true],
  ['newer', { ...kept({}), version: 2 }, {}, true],
  ['unreadable', kept({}), { unread: true }, true],
] as const)('a %s record is no clear one, and is shown as what it is', async (_, stored, how, shown) => {
  const { mirror } = setUp(stored, how);
  await rest();
  expect(mirror.view).toEqual({ state: 'untold', killed: shown });
  expect(await call(mirror)).toBe('EXTENSION_NOT_READY');
});

test('engaging stops running calls before anything is awaited, then is stored, then told', async () => {
  const { mirror, stops, saves } = setUp();
  mirror.hear(word(false, 1));
  await rest();
  const engaging = mirror.engage();
  expect(mirror.view.state).toBe('killed');
  expect(stops.map((why) => why.code)).toEqual(['BRIDGE_KILLED']);
  await engaging;
  await rest();
  expect(saves.at(-2)).toEqual(kept({ killed: true, pending: true }));
  expect(saves.at(-1)).toEqual(kept({ killed: true, epoch: 9, engaged: 9 }));
  expect(await call(mirror)).toBe('BRIDGE_KILLED');
});

test('T074 engaged while no host is there, it holds over the next connection and until a host has taken it over', async () => {
  const { mirror, disk, how } = setUp(kept({}), { silent: true });
  await expect(mirror.engage()).rejects.toThrow('no host');
  mirror.unknown();
  expect(mirror.view).toEqual({ state: 'untold', killed: true });
  mirror.hear(word(false, 1));
  expect(await call(mirror)).toBe('BRIDGE_KILLED');
  await rest();
  expect(disk.value).toMatchObject({ killed: true, pending: true });
  mirror.unknown();
  delete how.silent;
  mirror.hear(word(false, 1));
  await rest();
  expect(disk.value).toEqual(kept({ killed: true, epoch: 9, engaged: 9 }));
  mirror.hear(word(false, 10, { engaged: 9 }));
  expect(await call(mirror)).toBeUndefined();
});

test('T079 a worker that died between engaging and the answer knows it after it woke', async () => {
  const { mirror } = setUp(kept({ killed: true, pending: true }), { silent: true });
  mirror.hear(word(false, 1));
  expect(await call(mirror)).toBe('BRIDGE_KILLED');
  await mirror.again();
  expect(mirror.view).toMatchObject({ state: 'killed', why: 'here' });
});

test('an engagement that a host holds in its memory alone is asked for again', async () => {
  const { mirror, disk } = setUp(kept({ killed: true, pending: true }));
  mirror.hear(word(true, 1, { warning: 'the disk is full' }));
  await rest();
  expect(disk.value).toMatchObject({ pending: true });
  expect(mirror.view).toMatchObject({ state: 'killed', why: 'host', warning: 'the disk is full' });
  mirror.unknown();
  mirror.hear(word(false, 1));
  await rest();
  expect(disk.value).toMatchObject({ killed: true, pending: false, epoch: 9 });
});

test('the host’s word engages and releases, and its damage refuses with its sentence', async () => {
  const { mirror, stops } = setUp(kept({}));
  mirror.hear(word(true, 2));
  expect(mirror.view).toEqual({ state: 'killed', why: 'host' });
  expect(stops).toHaveLength(1);
  mirror.hear(word(false, 3, { engaged: 2 }));
  expect(await call(mirror)).toBeUndefined();
  mirror.hear(damaged);
  expect(mirror.view).toEqual({ state: 'killed', why: 'damaged', sentence: 'trust.json is damaged' });
  expect(stops).toHaveLength(3);
  expect(await call(mirror)).toBe('BRIDGE_KILLED');
});

test('an engagement and release that passed between two words still stops what ran', async () => {
  const { mirror, stops } = setUp(kept({}));
  mirror.hear(word(false, 1));
  await rest();
  mirror.hear(word(false, 3, { engaged: 2 }));
  await rest();
  expect(stops).toHaveLength(1);
  expect(await call(mirror)).toBeUndefined();
});

test('a release that is still being written down is void once a newer word came', async () => {
  const { mirror, disk } = setUp(kept({ killed: true, epoch: 2, engaged: 2 }));
  mirror.hear(word(false, 3, { engaged: 2 }));
  mirror.hear(word(true, 4));
  await rest();
  expect(await call(mirror)).toBe('BRIDGE_KILLED');
  expect(disk.value).toEqual(kept({ killed: true, epoch: 4, engaged: 4 }));
});

test('an older record put back counts as killed, until the host is where it was again', async () => {
  const { mirror, disk } = setUp(kept({ epoch: 7 }));
  mirror.hear(word(false, 6));
  await rest();
  expect(mirror.view).toMatchObject({ state: 'killed', why: 'rolled_back' });
  expect(await call(mirror)).toBe('BRIDGE_KILLED');
  expect(disk.value).toEqual(kept({ epoch: 7 }));
  mirror.hear(word(false, 7));
  expect(await call(mirror)).toBeUndefined();
});

test('a release that cannot be written down is none, and the next one is written anew', async () => {
  const { mirror, how, disk } = setUp(kept({ killed: true, epoch: 2, engaged: 2 }), { unwritten: true });
  mirror.hear(word(false, 3, { engaged: 2 }));
  expect(await call(mirror)).toBe('BRIDGE_KILLED');
  expect(mirror.view).toMatchObject({ why: 'storage' });
  delete how.unwritten;
  mirror.hear(word(false, 3, { engaged: 2 }));
  expect(await call(mirror)).toBeUndefined();
  expect(disk.value).toEqual(kept({ epoch: 3, engaged: 2 }));
});

test('engaging with a storage that fails still holds, tells the host and says so', async () => {
  const { mirror } = setUp(undefined, { unwritten: true });
  mirror.hear(word(false, 0));
  await rest();
  await expect(mirror.engage()).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  expect(await call(mirror)).toBe('BRIDGE_KILLED');
});

describe('an act', () => {
  const live = new AbortController().signal;
  const refusal = (begun: Promise<number>) =>
    begun.then(
      () => undefined,
      (why: Refused) => why.code,
    );

  async function clear() {
    const all = setUp(kept({}));
    all.mirror.hear(word(false, 1));
    await rest();
    return all;
  }

  test('begins within a moment of the question, and for that moment one question serves all', async () => {
    const { mirror, clock, ask } = await clear();
    const until = clock.now + ACT_FRESH_MS;
    expect(await Promise.all([mirror.fresh(live), mirror.fresh(live)])).toEqual([until, until]);
    clock.now = until;
    expect(await mirror.fresh(live)).toBe(until);
    expect(ask).toHaveBeenCalledTimes(1);
    clock.now = until + 1;
    expect(await mirror.fresh(live)).toBe(until + 1 + ACT_FRESH_MS);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test('does not begin on a word that nobody asked for, however young', async () => {
    const { mirror, ask, host } = await clear();
    host.says = word(true, 2);
    mirror.hear(word(false, 1));
    expect(await refusal(mirror.fresh(live))).toBe('BRIDGE_KILLED');
    expect(ask).toHaveBeenCalledTimes(1);
  });

  test('does not begin on an answer that lay in the pipe while everything stood still: the host is asked again', async () => {
    const { mirror, clock, ask, host } = await clear();
    host.meanwhile = () => {
      clock.now += ACT_FRESH_MS + 1;
      host.says = word(true, 2);
      host.meanwhile = () => undefined;
    };
    expect(await refusal(mirror.fresh(live))).toBe('BRIDGE_KILLED');
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test('begins no later because the clock was set back', async () => {
    const { mirror, clock, ask } = await clear();
    await mirror.fresh(live);
    clock.now -= 1;
    await mirror.fresh(live);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test('of a call that ended meanwhile does not begin, however the host answers', async () => {
    const { mirror, host } = await clear();
    const controller = new AbortController();
    host.meanwhile = () => controller.abort({ code: 'CANCELLED' });
    expect(await refusal(mirror.fresh(controller.signal))).toBe('CANCELLED');
  });

  test('does not begin where the host does not answer', async () => {
    const { mirror, ask } = await clear();
    ask.mockRejectedValueOnce({ code: 'RESPONSE_TIMEOUT' });
    expect(await refusal(mirror.fresh(live))).toBe('RESPONSE_TIMEOUT');
    await mirror.fresh(live);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test('needs a new question after a stop and a release, and after another port', async () => {
    const { mirror, ask } = await clear();
    await mirror.fresh(live);
    mirror.hear(word(true, 2));
    mirror.hear(word(false, 3, { engaged: 2 }));
    await rest();
    await mirror.fresh(live).catch(() => undefined);
    expect(ask).toHaveBeenCalledTimes(2);
    mirror.unknown();
    mirror.hear(word(false, 3, { engaged: 2 }));
    await rest();
    await mirror.fresh(live).catch(() => undefined);
    expect(ask).toHaveBeenCalledTimes(3);
  });
});
