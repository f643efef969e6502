/* What a page can try against the confirmation: labels that lie, keys that wait, and questions by the hundred. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { answer, Browser } from './browser.ts';
import { Client } from './client.ts';
import { Home, until } from './home.ts';
import { Site } from './site.ts';

const LABEL = `Cancel\u202e\u200b\n\n<b>Allowed by bank.example</b>${'z'.repeat(10_000)}`;
const PAGE = `<!doctype html><meta charset="utf-8"><title>Shop</title>
<form action="/sent" method="post"><button id="send">Send it</button></form>
<a id="lure">x</a>
<a id="user" href="http://good.example@other.localhost/next">Onward</a>
<script>
  const lure = document.getElementById('lure');
  lure.href = '/linked';
  lure.setAttribute('aria-label', ${JSON.stringify(LABEL)});
</script>`;

describe('attacks on the confirmation window', () => {
  let home: Home;
  let site: Site;
  let browser: Browser;
  let client: Client;
  let page: Page;

  before(async () => {
    home = new Home('confirm-attacks');
    site = await Site.start({ '/': PAGE, '/linked': '<title>Landed</title>', '/sent': '<title>Sent</title>' });
    browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
    client = await Client.start(home);
    page = await browser.page(site.url());
    await browser.approve(page);
    await page.bringToFront();
  });

  after(async () => {
    await client?.stop();
    await browser?.stop();
    await site?.stop();
    home?.remove();
  });

  const posts = () => site.hits.filter((hit) => hit.startsWith('POST')).length;
  const windows = () => browser.context.pages().filter((each) => each.url().includes('confirm.html'));

  test('T146 a label with overrides, line breaks, markup and ten thousand characters is one plain, short line', async () => {
    const refused = client.refusal('page_click', { selector: '#lure' });
    const window = await browser.confirmation();
    const detail = (await window.getByTestId('confirm-detail').textContent()) ?? '';
    assert.doesNotMatch(detail, /[\u202a-\u202e\u2066-\u2069\u200b]/);
    assert.match(detail, new RegExp(`http://127\\.0\\.0\\.1:${site.port}`));
    assert.ok(detail.length < 1_500, `${detail.length} characters`);
    assert.equal(await window.locator('[data-testid=confirm-detail] b').count(), 0);
    const [box, view] = [
      await window.getByTestId('confirm-allow').boundingBox(),
      await window.evaluate(() => innerHeight),
    ];
    assert.ok(box && box.y + box.height <= view, 'the answers stay in view');
    await answer(window, 'confirm-deny');
    await refused;
  });

  test('T146 a destination shows the host that would be contacted, not the one in front of the @', async () => {
    const refused = client.refusal('page_click', { selector: '#user' });
    const window = await browser.confirmation();
    const detail = (await window.getByTestId('confirm-detail').textContent()) ?? '';
    assert.match(detail, /http:\/\/other\.localhost\/next/);
    assert.doesNotMatch(detail, /good\.example/);
    await answer(window, 'confirm-deny');
    await refused;
  });

  test('T145 Enter and Space that wait for the window do nothing, whatever comes first', async () => {
    const before = posts();
    const refused = client.refusal('page_click', { selector: '#send' });
    const window = await browser.confirmation();
    for (let i = 0; i < 20; i++) {
      await window.keyboard.press('Enter').catch(() => {});
      await window.keyboard.press('Space').catch(() => {});
    }
    await window.getByTestId('confirm-allow').waitFor();
    await window.keyboard.press('Enter');
    assert.equal(posts(), before);
    assert.equal(window.isClosed(), false, 'neither yes nor no');
    assert.notEqual(await window.evaluate(() => document.activeElement?.getAttribute('data-testid')), 'confirm-allow');
    await answer(window, 'confirm-deny');
    assert.match(await refused, /USER_DENIED/);
  });

  test('T145 a person without a pointer can answer with Tab and Enter', async () => {
    const before = posts();
    const clicking = client.text('page_click', { selector: '#send' });
    const window = await browser.confirmation();
    const allow = window.getByTestId('confirm-allow');
    await allow.waitFor();
    // A Tab in the guard's time would move the focus and count for nothing.
    await new Promise((resume) => setTimeout(resume, 800));
    await until('Allow to have the focus', async () => {
      await window.keyboard.press('Tab');
      return await allow.evaluate((button) => button === document.activeElement);
    });
    await until('Allow to be live', async () => (await allow.getAttribute('aria-disabled')) === 'false');
    // The window may be gone before the key is up again.
    await window.keyboard.press('Enter').catch(() => {});
    await clicking;
    await until('the form to be sent', () => posts() === before + 1);
    await page.waitForURL('**/sent');
    await page.goto(site.url());
  });

  test('T147 of a hundred questions a few wait, one window shows, the rest are refused at once', async () => {
    const hits = site.hits.length;
    const calls = Array.from({ length: 40 }, () => client.refusal('page_click', { selector: '#lure' }));
    let settled = 0;
    for (const call of calls) void call.then(() => settled++);
    await browser.confirmation();
    await until('the surplus to be refused', () => settled >= 36);
    assert.equal(windows().length, 1);
    while (settled < 40) {
      assert.ok(windows().length <= 1);
      const [open] = windows();
      if (open !== undefined) await answer(open, 'confirm-deny').catch(() => {});
      else await new Promise((resume) => setTimeout(resume, 50));
    }
    for (const call of calls) assert.match(await call, /USER_DENIED/);
    assert.equal(site.hits.length, hits);
  });
});
