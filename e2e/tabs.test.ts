/* What a client may do with tabs: pictures show only the tab they were asked for, a tab that stood in front of the person is
   not closed unasked, and a search in the list tells no more than the list. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { answer, Browser } from './browser.ts';
import { Client, textOf } from './client.ts';
import { EXTENSION, Home, until } from './home.ts';
import { Site } from './site.ts';

const RED = '<!doctype html><title>Red</title><body style="background:#f00">';
const BLUE = '<!doctype html><title>Blue</title><body style="background:#00f">';

/** All sites cannot be granted in a profile's preferences: this copy has them from the start. Our own list still decides. */
function withAllSites(home: Home): string {
  const copy = home.path('extension');
  fs.cpSync(EXTENSION, copy, { recursive: true });
  const file = path.join(copy, 'manifest.json');
  const { optional_host_permissions: host_permissions, ...rest } = JSON.parse(fs.readFileSync(file, 'utf8'));
  fs.writeFileSync(file, JSON.stringify({ ...rest, host_permissions }));
  return copy;
}

describe('tabs', () => {
  let home: Home;
  let site: Site;
  let browser: Browser;
  let client: Client;
  let page: Page;

  before(async () => {
    home = new Home('tabs');
    site = await Site.start({ '/': RED, '/blue': BLUE });
    browser = await Browser.start(home, { extension: withAllSites(home) });
    client = await Client.start(home);
    page = await browser.page(site.url());
    await browser.approve(page);
    const worker = await browser.worker();
    await worker.evaluate(() =>
      chrome.storage.local.set({
        settings: { version: 1, fields: { screenshots: true, language: 'auto', theme: 'auto' } },
      }),
    );
  });

  after(async () => {
    await client?.stop();
    await browser?.stop();
    await site?.stop();
    home?.remove();
  });

  const idOf = async (origin: string): Promise<number> => {
    const line = (await client.text('tab_list')).split('\n').find((each) => each.includes(origin));
    return Number(/^(\d+)/.exec(line ?? '')?.[1]);
  };

  /** Red, green and blue of the middle of a picture. */
  const colourOf = async (data: string): Promise<number[]> =>
    await page.evaluate(async (url) => {
      const picture = await createImageBitmap(await (await fetch(url)).blob());
      const pen = new OffscreenCanvas(1, 1).getContext('2d');
      pen?.drawImage(picture, -picture.width / 2, -picture.height / 2);
      return [...(pen?.getImageData(0, 0, 1, 1).data ?? [])].slice(0, 3);
    }, `data:image/png;base64,${data}`);

  test('a picture in whose moment another tab stood in front is thrown away', async () => {
    const other = await browser.page(site.url('/blue', 'other.localhost'));
    const [shown, hidden] = [await idOf(site.origin()), await idOf(site.origin('other.localhost'))];
    await client.text('tab_focus', { tabId: shown });
    const still = await client.call('page_screenshot', { tabId: shown, format: 'png' });
    assert.ok(!still.isError, textOf(still));
    const data = still.content.find(({ type }) => type === 'image')?.data ?? '';
    assert.deepEqual(await colourOf(data), [255, 0, 0]);
    // What a client does with two calls of tab_focus that hit the moment; here they hit it every time.
    const worker = await browser.worker();
    await worker.evaluate(
      ([front, behind]) => {
        const shoot = chrome.tabs.captureVisibleTab.bind(chrome.tabs);
        Object.assign(chrome.tabs, {
          captureVisibleTab: async (window: number, options: { format: 'png' }) => {
            await chrome.tabs.update(behind, { active: true });
            const picture = await shoot(window, options).catch(() => undefined);
            await chrome.tabs.update(front, { active: true });
            return picture ?? Promise.reject(new Error('too soon'));
          },
        });
      },
      [shown, hidden] as const,
    );
    const refused = await client.call('page_screenshot', { tabId: shown, format: 'png' });
    assert.ok(!refused.content.some(({ type }) => type === 'image'), 'a picture came');
    assert.match(textOf(refused), /moved on while the picture was taken/);
    await other.close();
  });

  test('a tab that was opened in front of the person is closed only with their yes', async () => {
    const inFront = await client.text('tab_open', { url: site.url(), background: false });
    const tabId = Number(/Tab (\d+)/.exec(inFront)?.[1]);
    const closing = client.call('tab_close', { tabId });
    await answer(await browser.confirmation(), 'confirm-deny');
    assert.match(textOf(await closing), /USER_DENIED/);
    const behind = Number(/Tab (\d+)/.exec(await client.text('tab_open', { url: site.url() }))?.[1]);
    await client.text('tab_close', { tabId: behind });
  });

  test('T168 a search in the list cannot find what the list masks', async () => {
    const secret = '4929123456789012345';
    const other = await browser.page(site.url(`/?n=${secret}`));
    await until('the tab to be listed', async () => /masked/.test(await client.text('tab_list')));
    assert.doesNotMatch(await client.text('tab_list', { query: '49291234' }), /Red/);
    assert.match(await client.text('tab_list', { query: 'red' }), /Red/);
    await other.close();
  });

  test('one page with an endless address or title does not hide all tabs', async () => {
    const other = await browser.page(site.url('/blue'));
    await other.evaluate(() => {
      history.pushState(0, '', `/blue?${'a+long+way+'.repeat(9_000)}`);
      document.title = 'a long name '.repeat(9_000);
    });
    await until('the address', async () => /long/.test(textOf(await client.call('tab_list', { query: 'blue' }))));
    const listed = await client.call('tab_list');
    assert.ok(!listed.isError, textOf(listed));
    assert.match(textOf(listed), /Red/);
    await other.close();
  });
});
