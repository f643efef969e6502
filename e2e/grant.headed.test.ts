/* The browser's own permission prompt, which only a headed browser shows: allowed and denied by keys, as a person would.
   Everything else in e2e uses profiles in which that grant was made before. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Browser } from './browser.ts';
import { Client } from './client.ts';
import { Desktop } from './desktop.ts';
import { Home, until } from './home.ts';
import { Site } from './site.ts';

describe('the native permission prompt', { concurrency: false }, () => {
  let desktop: Desktop;
  let site: Site;

  before(async () => {
    desktop = await Desktop.start();
    site = await Site.start({ '/': '<!doctype html><title>Home</title><h1>Welcome in</h1>' });
  });

  after(async () => {
    desktop?.stop();
    await site?.stop();
  });

  async function ask(name: string, decide: (browser: Browser, client: Client) => Promise<void>): Promise<void> {
    const home = new Home(name);
    home.env['DISPLAY'] = desktop.display;
    const browser = await Browser.start(home, { headed: true, args: ['--test-type'] });
    const client = await Client.start(home);
    try {
      const page = await browser.page(site.url());
      assert.match(await client.refusal('page_text'), /SITE_NOT_ALLOWED/);
      const before = desktop.windows().length;
      const popup = await browser.popup(page);
      await popup.click('site-allow').catch(() => {});
      await until('the native prompt', () => desktop.windows().length > before || undefined, 5_000).catch(() => {});
      await new Promise((resume) => setTimeout(resume, 700));
      await decide(browser, client);
    } finally {
      await client.stop();
      await browser.stop();
      home.remove();
    }
  }

  test('allowed: the entry is written although the popup is gone, and the page can be read', async () => {
    await ask('allowed', async (_, client) => {
      desktop.keys('Tab', 'Return');
      const text = await until('the page to be readable', async () => await client.text('page_text'));
      assert.match(text, /Welcome in/);
    });
  });

  test('denied: nothing is approved', async () => {
    await ask('denied', async (browser, client) => {
      desktop.keys('Return');
      const worker = await browser.worker();
      await until(
        'the prompt to be answered',
        async () => (await worker.evaluate(async () => (await chrome.permissions.getAll()).origins?.length ?? 0)) === 0,
      );
      assert.match(await client.refusal('page_text'), /SITE_NOT_ALLOWED/);
    });
  });

  test('T164 a tab that moves to another site before the answer approves neither', async () => {
    await ask('moved', async (browser, client) => {
      const page = browser.context.pages().findLast((each) => each.url().startsWith(site.origin()));
      assert.ok(page);
      await page.goto(site.url('/', 'other.localhost'));
      desktop.keys('Tab', 'Return');
      await new Promise((resume) => setTimeout(resume, 1_000));
      assert.match(await client.refusal('page_text'), /SITE_NOT_ALLOWED/);
      await page.goto(site.url());
      assert.match(await client.refusal('page_text'), /SITE_NOT_ALLOWED/);
    });
  });
});
