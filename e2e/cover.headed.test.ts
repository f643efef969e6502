/* Windows over the confirmation, and a pointer that is where a page wanted it. Only a headed browser has them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { answer, Browser } from './browser.ts';
import { Client } from './client.ts';
import { Desktop } from './desktop.ts';
import { Home, until } from './home.ts';
import { Site } from './site.ts';

const PAGE = `<!doctype html><title>Shop</title>
<form action="/sent" method="post"><button id="send">Send it</button></form>
<button id="float" onclick="documentPictureInPicture.requestWindow({ width: 900, height: 700 })">Float</button>
<button id="full" onclick="document.documentElement.requestFullscreen()">Full</button>`;

/** A floating window bears the bare title of the page that opened it; browser windows add the browser's name. */
const COVER = 'Shop';

describe('the confirmation under cover', { concurrency: false }, () => {
  let desktop: Desktop;
  let home: Home;
  let site: Site;
  let browser: Browser;
  let client: Client;
  let page: Page;

  before(async () => {
    desktop = await Desktop.start();
    home = new Home('cover');
    home.env['DISPLAY'] = desktop.display;
    site = await Site.start({ '/': PAGE, '/sent': '<title>Sent</title>' });
    browser = await Browser.start(home, { headed: true, granted: ['http://127.0.0.1/*'], args: ['--test-type'] });
    client = await Client.start(home);
    page = await browser.page(site.url());
    await browser.approve(page);
    await page.bringToFront();
    // From here on the client's current tab is this one, whatever window is in front.
    await client.text('page_text');
  });

  after(async () => {
    await client?.stop();
    await browser?.stop();
    await site?.stop();
    desktop?.stop();
    home?.remove();
  });

  const posts = () => site.hits.filter((hit) => hit.startsWith('POST')).length;

  async function ask(): Promise<{ window: Page; refused: Promise<string> }> {
    const refused = client.refusal('page_click', { selector: '#send' });
    const window = await browser.confirmation();
    await window.getByTestId('confirm-allow').waitFor();
    return { window, refused };
  }

  test('T144 a floating window of the acting tab is closed before the question is asked', async () => {
    await page.click('#float');
    await until('the floating window', () => desktop.stack().includes(COVER));
    const { window, refused } = await ask();
    assert.ok(!desktop.stack().includes(COVER));
    await answer(window, 'confirm-deny');
    await refused;
  });

  test('T144 fullscreen of the acting tab is left, and the question takes the whole work area', async () => {
    await page.bringToFront();
    await page.click('#full');
    await until('fullscreen', () => page.evaluate(() => document.fullscreenElement !== null));
    const { window, refused } = await ask();
    assert.equal(await page.evaluate(() => document.fullscreenElement), null);
    await until('the whole work area', () =>
      window.evaluate(() => outerWidth >= screen.availWidth - 8 && outerHeight >= screen.availHeight - 40),
    );
    await answer(window, 'confirm-deny');
    await refused;
  });

  test('T144 residual: a floating window of another tab stays above, and input over it is not input in ours', async () => {
    const other = await browser.page(site.url());
    await other.click('#float');
    await until('the floating window', () => desktop.stack().includes(COVER));
    await page.bringToFront();
    const { window, refused } = await ask();
    assert.equal(desktop.stack().at(-1), COVER);
    desktop.jump(640, 450);
    desktop.wander();
    desktop.press();
    await new Promise((resume) => setTimeout(resume, 300));
    assert.equal(window.isClosed(), false);
    assert.equal(posts(), 0);
    await other.close();
    await answer(window, 'confirm-deny');
    await refused;
  });

  // Last, because its yes covers the same kind of act for a minute.
  test('T144 a press where the pointer already lies does not allow; a hand that moves there does', async () => {
    await page.bringToFront();
    const clicking = client.text('page_click', { selector: '#send' });
    const window = await browser.confirmation();
    const allow = window.getByTestId('confirm-allow');
    await allow.waitFor();
    const box = await allow.boundingBox();
    assert.ok(box);
    const edge = await window.evaluate(() => ({
      x: screenX + (outerWidth - innerWidth) / 2,
      y: screenY + outerHeight - innerHeight,
    }));
    const [x, y] = [edge.x + box.x + box.width / 2, edge.y + box.y + box.height / 2];
    desktop.jump(x, y);
    await new Promise((resume) => setTimeout(resume, 800));
    desktop.press();
    desktop.press();
    await new Promise((resume) => setTimeout(resume, 300));
    assert.equal(window.isClosed(), false);
    assert.equal(posts(), 0);
    desktop.wander();
    desktop.jump(x, y);
    await until('Allow to be live', async () => (await allow.getAttribute('aria-disabled')) === 'false');
    desktop.press();
    await clicking;
    await until('the form to be sent', () => posts() === 1);
  });
});
