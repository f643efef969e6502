import { expect, test, vi } from 'vitest';

/** What reached the page, and the injection that the test holds back. */
const page = { sent: [] as unknown[], injecting: Promise.withResolvers<void>() };

vi.stubGlobal('chrome', {
  scripting: { executeScript: async () => await page.injecting.promise },
  tabs: {
    sendMessage: async (_: number, message: unknown) => {
      page.sent.push(message);
      return { ok: true, data: { changed: true, warnings: [] } };
    },
  },
});

const { ask } = await import('./documents');
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
