/* The confirmation: a window of the extension's own that decides about high-risk acts. Every way out but Allow denies. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { answer, Browser } from './browser.ts';
import { Client } from './client.ts';
import { Home, until } from './home.ts';
import { Site } from './site.ts';

const PAGE = `<!doctype html><title>Shop</title><h1>Shop</h1>
<form id="form" action="/sent" method="post"><input name="x" value="1"><button id="send">Send it</button></form>
<a id="link" href="/linked">Onward</a>
<label>Password <input type="password" id="password"></label>
<button type="button" id="plain" onclick="this.textContent='plain done'">Plain</button>`;

describe('the confirmation window', () => {
  let home: Home;
  let site: Site;
  let browser: Browser;
  let client: Client;
  let page: Page;

  before(async () => {
    home = new Home('confirm');
    const landed = '<!doctype html><title>Landed</title><h1>Landed</h1>';
    site = await Site.start({ '/': PAGE, '/sent': landed, '/linked': landed, '/elsewhere': landed });
    browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
    client = await Client.start(home);
    page = await browser.page(site.url());
    await browser.approve(page);
  });

  after(async () => {
    await client?.stop();
    await browser?.stop();
    await site?.stop();
    home?.remove();
  });

  async function fresh(): Promise<void> {
    await page.goto(site.url());
    await page.bringToFront();
  }

  const posts = () => site.hits.filter((hit) => hit.startsWith('POST')).length;

  test('a plain button needs no confirmation', async () => {
    await fresh();
    await client.text('page_click', { selector: '#plain' });
    assert.equal(await page.textContent('#plain'), 'plain done');
  });

  test('a refused submit sends nothing and tells the model not to repeat it', async () => {
    await fresh();
    const before = posts();
    const refused = client.refusal('page_click', { selector: '#send' });
    const window = await browser.confirmation();
    await window.getByTestId('confirm-detail').waitFor();
    const shown = (await window.textContent('body')) ?? '';
    assert.ok(shown.includes(`127.0.0.1:${site.port}`), shown);
    assert.match(shown, /Send it/);
    await answer(window, 'confirm-deny');
    assert.match(await refused, /USER_DENIED/);
    assert.equal(posts(), before);
  });

  test('T148 a closed window denies', async () => {
    await fresh();
    const before = posts();
    const refused = client.refusal('page_click', { selector: '#send' });
    const window = await browser.confirmation();
    await window.getByTestId('confirm-deny').waitFor();
    await window.close();
    assert.match(await refused, /USER_DENIED/);
    assert.equal(posts(), before);
  });

  test('T148 an unanswered window closes by itself and denies', async () => {
    await fresh();
    const before = posts();
    const refused = client.refusal('page_click', { selector: '#send' });
    await browser.confirmation();
    assert.match(await refused, /CONFIRMATION_TIMEOUT/);
    await until('the window to be gone', () =>
      browser.context.pages().every((each) => !each.url().includes('confirm.html')),
    );
    assert.equal(posts(), before);
  });

  test('T148 the page that goes away under the window takes the approval with it', async () => {
    await fresh();
    const refused = client.refusal('page_click', { selector: '#send' });
    const window = await browser.confirmation();
    await window.getByTestId('confirm-allow').waitFor();
    await page.goto(site.url('/elsewhere'));
    await answer(window, 'confirm-allow').catch(() => {});
    assert.match(await refused, /EXECUTION_FAILED|USER_DENIED/);
    assert.equal(await page.title(), 'Landed');
  });

  test('T138 the element that is swapped while the person decides is not clicked', async () => {
    await fresh();
    const before = posts();
    const refused = client.refusal('page_click', { selector: '#send' });
    const window = await browser.confirmation();
    await window.getByTestId('confirm-allow').waitFor();
    await page.evaluate(() => {
      document
        .getElementById('send')
        ?.replaceWith(Object.assign(document.createElement('button'), { id: 'send', textContent: 'Send it' }));
    });
    await answer(window, 'confirm-allow');
    assert.match(await refused, /EXECUTION_FAILED/);
    assert.equal(posts(), before);
  });

  test('T138 a form that is pointed elsewhere while the person decides is not submitted', async () => {
    await fresh();
    const before = posts();
    const refused = client.refusal('page_click', { selector: '#send' });
    const window = await browser.confirmation();
    await window.getByTestId('confirm-allow').waitFor();
    await page.evaluate(() => document.getElementById('form')?.setAttribute('action', '/elsewhere'));
    await answer(window, 'confirm-allow');
    assert.match(await refused, /EXECUTION_FAILED/);
    assert.equal(posts(), before);
  });

  test('T149 events made by scripts do not allow anything', async () => {
    await fresh();
    const before = posts();
    const refused = client.refusal('page_click', { selector: '#send' });
    const window = await browser.confirmation();
    const allow = window.getByTestId('confirm-allow');
    await allow.waitFor();
    await new Promise((resume) => setTimeout(resume, 800));
    await allow.evaluate((button) => {
      for (const type of ['pointermove', 'pointerdown', 'pointerup', 'click'])
        button.dispatchEvent(new MouseEvent(type, { bubbles: true, clientX: 5, clientY: 5 }));
      (button as HTMLElement).click();
    });
    assert.equal(posts(), before);
    assert.equal(window.isClosed(), false);
    await answer(window, 'confirm-deny');
    assert.match(await refused, /USER_DENIED/);
  });

  test('a credential field asks first, and its value is nowhere in the answer', async () => {
    await fresh();
    const filling = client.text('page_fill', { selector: '#password', value: 'correct horse' });
    const window = await browser.confirmation();
    await window.getByTestId('confirm-detail').waitFor();
    assert.doesNotMatch((await window.textContent('body')) ?? '', /correct horse/);
    await answer(window, 'confirm-allow');
    assert.doesNotMatch(await filling, /correct horse/);
    assert.equal(await page.inputValue('#password'), 'correct horse');
    assert.doesNotMatch(await client.text('page_snapshot'), /correct horse/);
  });

  test('the yes to a filled password does not cover one that is filled and sent, and the window says so', async () => {
    await fresh();
    const filling = client.text('page_fill', { selector: '#password', value: 'one' });
    // The yes of the test before may still hold.
    const first = await Promise.race([filling.then(() => undefined), browser.confirmation()]);
    if (first !== undefined) await answer(first, 'confirm-allow');
    await filling;
    await client.text('page_fill', { selector: '#password', value: 'two' });
    const sending = client.refusal('page_fill', { selector: '#password', value: 'three', submit: true });
    const window = await browser.confirmation();
    await window.getByTestId('confirm-detail').waitFor();
    const asked = (await window.textContent('body')) ?? '';
    assert.match(asked, /fill a password field and send it at once/);
    assert.doesNotMatch(asked, /also covers/);
    await answer(window, 'confirm-deny');
    assert.match(await sending, /USER_DENIED/);
    assert.equal(await page.inputValue('#password'), 'two');
  });

  test('a cancelled call closes its window, does nothing and is never answered', async () => {
    await fresh();
    const before = posts();
    const { id, answer: never } = client.send('tools/call', { name: 'page_click', arguments: { selector: '#send' } });
    const window = await browser.confirmation();
    const closed = window.waitForEvent('close');
    client.notify('notifications/cancelled', { requestId: id, reason: 'changed my mind' });
    await closed;
    await client.text('tab_list');
    assert.ok(
      client.lines.every((line) => line.id !== id),
      'no answer to a cancelled call',
    );
    assert.equal(posts(), before);
    void never;
  });

  test('a link allowed once is followed, and its destination was shown', async () => {
    await fresh();
    const clicking = client.text('page_click', { selector: '#link' });
    const window = await browser.confirmation();
    await window.getByTestId('confirm-detail').waitFor();
    assert.match((await window.textContent('body')) ?? '', /\/linked/);
    await answer(window, 'confirm-allow');
    assert.match(await clicking, /navigat/i);
    await until('the link to be followed', async () => (await page.title()) === 'Landed');
  });
});
