// Waiting for what a page shows, in real pages.

import { afterAll, expect, test } from 'vitest';
import { type Bed, closeBrowser, open } from './testbed';

afterAll(closeBrowser);

const later = (bed: Bed, code: string) => bed.page.evaluate(`void setTimeout(() => { ${code} }, 30)`);

test.each([
  ['text', { text: 'order  SENT' }, "document.body.insertAdjacentHTML('beforeend', '<p>Or<b>der</b> sent</p>')"],
  ['text gone', { textGone: 'Loading' }, "document.getElementById('l').hidden = true"],
  ['a visible element', { selector: '#h' }, "document.getElementById('h').style.display = 'block'"],
  ['an absent element', { selector: '#l', state: 'detached' }, "document.getElementById('l').remove()"],
  ['a hidden element', { selector: '#l', state: 'hidden' }, "document.getElementById('l').style.opacity = 0"],
  [
    'an attached element',
    { selector: '#new', state: 'attached' },
    "document.body.append(Object.assign(document.createElement('i'), { id: 'new' }))",
  ],
  ['the address', { url: '/two' }, "history.pushState(0, '', '/two')"],
  [
    'all of them',
    { textGone: 'Loading', selector: '#h' },
    "document.getElementById('l').remove(); document.getElementById('h').style.display = 'block'",
  ],
] as const)('it waits for %s', async (_, condition, change) => {
  const bed = await open('<p id=l>Loading</p><p id=h style="display:none">x</p>');
  expect(await bed.get('wait', { ...condition, timeoutMs: 0 })).toMatchObject({ met: false });
  await later(bed, change);
  expect(await bed.get('wait', { ...condition, timeoutMs: 20_000 })).toMatchObject({ met: true, unmet: [] });
});

test('what_did_not_come_is_named', async () => {
  const bed = await open('<p>Here</p>');
  expect(await bed.get('wait', { text: 'Here', selector: '#no', timeoutMs: 120 })).toMatchObject({
    met: false,
    unmet: ['selector'],
  });
});

test('hidden_text_does_not_count_as_shown', async () => {
  const bed = await open('<p style="display:none">Ready</p>');
  expect((await bed.get('wait', { text: 'Ready', timeoutMs: 0 })).met).toBe(false);
});

test('settled_means_no_change_for_so_long', async () => {
  const bed = await open(
    '<p id=p>0</p><script>let n = 0; const t = setInterval(() => { p.textContent = n += 1; if (n === 10) clearInterval(t); }, 20)</script>',
  );
  expect((await bed.get('wait', { settledMs: 400, timeoutMs: 20_000 })).met).toBe(true);
  expect(await bed.page.textContent('#p')).toBe('10');
});

test('an_aborted_wait_ends_at_once', async () => {
  const bed = await open('<p>x</p>');
  const waiting = bed.ask('wait', { text: 'never', timeoutMs: 50_000 }, 'w1');
  await bed.get('abort', { of: 'w1' });
  expect(await waiting).toMatchObject({ ok: false, error: { code: 'CANCELLED' } });
});
