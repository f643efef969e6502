import { expect, test, vi } from 'vitest';
import { ACT_FRESH_MS } from '../contract/limits';

/** What reached the page, and the injection that the test holds back. */
const page = {
  sent: [] as unknown[],
  injecting: Promise.withResolvers<void>(),
  /** What it answers before it answers that it acted. */
  first: [] as { ok: false; error: { code: string; message: string } }[],
};

vi.stubGlobal('chrome', {
  scripting: { executeScript: async () => await page.injecting.promise },
  tabs: {
    sendMessage: async (_: number, message: unknown) => {
      page.sent.push(message);
      return page.first.shift() ?? { ok: true, data: { changed: true, warnings: [] } };
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

test('a document that was busy has not acted, and is asked again with a new time', async () => {
  page.sent = [];
  page.first = [busy, busy];
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000 });
  await have(doc, 'click', { token: 't' }, 'key', new AbortController().signal);
  vi.useRealTimers();
  expect(page.sent).toHaveLength(3);
  for (const message of page.sent) expect(message).toMatchObject({ until: 1_000 + ACT_FRESH_MS });
});

test('T072 a call that was stopped while the document was busy is not asked for again', async () => {
  page.sent = [];
  page.first = [busy];
  const controller = new AbortController();
  const act = have(doc, 'click', { token: 't' }, 'key', controller.signal);
  controller.abort(new Error('killed'));
  await expect(act).rejects.toThrow('killed');
  expect(page.sent.filter((message) => !JSON.stringify(message).includes('abort'))).toHaveLength(1);
});
