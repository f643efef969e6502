import { expect, test, vi } from 'vitest';

/** What reached the page, and the injection that the test holds back. */
const page = {
  sent: [] as unknown[],
  injecting: Promise.withResolvers<void>(),
  /** What it answers before it answers that it acted. */
  first: [] as { ok: false; error: { code: string; message: string } }[],
  /** What happens when something reaches it. */
  heard: (): void => undefined,
};

vi.stubGlobal('chrome', {
  scripting: { executeScript: async () => await page.injecting.promise },
  tabs: {
    sendMessage: async (_: number, message: unknown) => {
      page.sent.push(message);
      const answer = page.first.shift() ?? { ok: true, data: { changed: true, warnings: [] } };
      page.heard();
      return answer;
    },
  },
});

const { ask, have } = await import('./documents');
const doc = { tab: 1, frame: 0, id: 'document', origin: 'https://good.example', url: 'https://good.example/' };

test('a call cancelled while the script goes into the document never reaches it', async () => {
  const controller = new AbortController();
  const asked = ask(doc, 'click', { token: 't' }, 'key', controller.signal);
  controller.abort(new Error('cancelled'));
  page.injecting.resolve();
  await expect(asked).rejects.toThrow('cancelled');
  expect(page.sent).toEqual([]);
});

test('a call that goes on reaches the document once', async () => {
  await ask(doc, 'click', { token: 't' }, 'key', new AbortController().signal);
  expect(page.sent).toHaveLength(1);
});

const busy = { ok: false, error: { code: 'CANCELLED', message: 'busy' } } as const;

test('a document that was busy has not acted, and is asked again with a new time from the host', async () => {
  page.sent = [];
  page.first = [busy, busy];
  let until = 1_000;
  const fresh = async () => (until += 1);
  await have(doc, 'click', { token: 't' }, 'key', { signal: new AbortController().signal, fresh });
  expect(page.sent).toMatchObject([{ until: 1_001 }, { until: 1_002 }, { until: 1_003 }]);
});

test('T072 a document is not asked to act where the host says no', async () => {
  page.sent = [];
  const fresh = () => Promise.reject(new Error('killed'));
  const act = have(doc, 'click', { token: 't' }, 'key', { signal: new AbortController().signal, fresh });
  await expect(act).rejects.toThrow('killed');
  expect(page.sent).toEqual([]);
});

test('T072 a call that was stopped while the document was busy is not asked for again', async () => {
  page.sent = [];
  page.first = [busy];
  const controller = new AbortController();
  page.heard = () => controller.abort(new Error('killed'));
  const act = have(doc, 'click', { token: 't' }, 'key', { signal: controller.signal, fresh: async () => 1_000 });
  await expect(act).rejects.toThrow('killed');
  expect(page.sent.filter((message) => !JSON.stringify(message).includes('abort'))).toHaveLength(1);
});
