/* The round trip: client → server → host → extension → page and back, in a real Chromium. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { Browser } from './browser.ts';
import { Client, textOf } from './client.ts';
import { Home, until } from './home.ts';
import { Site } from './site.ts';

const FORM = `<!doctype html><title>Form</title><h1>Order</h1>
<label>Name <input id="name"></label>
<label>Email <input type="email" id="email"></label>
<label>Password <input type="password" id="password"></label>
<label>Size <select id="size"><option>Small<option>Large</select></label>
<label><input type="checkbox" id="gift"> Gift</label>
<button type="button" onclick="document.getElementById('out').textContent = 'pressed ' + (window.n = (window.n ?? 0) + 1)">Count</button>
<output id="out">not pressed</output>
<p id="secret">token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U</p>
<div style="height:3000px"></div><p id="end">the end</p>`;

describe('a call through the whole chain', () => {
  let home: Home;
  let site: Site;
  let browser: Browser;
  let client: Client;
  let legacy: Client | undefined;
  let page: Page;

  before(async () => {
    home = new Home('call');
    site = await Site.start({
      '/': FORM,
      '/two': '<!doctype html><title>Two</title><h1>Second page</h1>',
      '/away': (_, response) => response.writeHead(302, { location: site.url('/two', 'other.localhost') }).end(),
    });
    browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
    client = await Client.start(home);
    page = await browser.page(site.url());
    await browser.approve(page);
  });

  after(async () => {
    await legacy?.stop();
    await client?.stop();
    await browser?.stop();
    await site?.stop();
    home?.remove();
  });

  test('an approved tab is listed with its title, an unapproved one by its origin alone', async () => {
    const other = await browser.page(site.url('/two?mail=private', 'other.localhost'));
    const text = await client.text('tab_list');
    assert.match(text, /Form/);
    assert.match(text, /other\.localhost/);
    assert.doesNotMatch(text, /Second page|mail=private|\/two/);
    await other.close();
  });

  test('list_browsers names the browser and its label', async () => {
    const result = await client.call('list_browsers');
    assert.match(textOf(result), /chromium/);
    assert.ok(result.structuredContent);
  });

  test('page_text returns the page inside a boundary with its origin, and masks a token', async () => {
    const text = await client.text('page_text');
    assert.match(text, /Order/);
    assert.ok(text.includes(site.origin()));
    assert.doesNotMatch(text, /dozjgNryP4J3/);
  });

  test('a snapshot gives refs; click and fill by ref change the page and say so', async () => {
    const snapshot = await client.text('page_snapshot');
    const name = ref(snapshot, 'textbox', 'Name');
    const count = ref(snapshot, 'button', 'Count');
    await client.text('page_fill', { ref: name, value: 'Ada' });
    assert.equal(await page.inputValue('#name'), 'Ada');
    await client.text('page_fill', { ref: name, value: ' Lovelace', mode: 'append' });
    assert.equal(await page.inputValue('#name'), 'Ada Lovelace');
    const effects = await client.text('page_click', { ref: count });
    assert.equal(await page.textContent('#out'), 'pressed 1');
    assert.match(effects, /changed/i);
    const again = await client.text('page_snapshot');
    assert.equal(ref(again, 'button', 'Count'), count, 'the same element keeps its ref');
  });

  test('select and checkbox are filled by label and by true or false', async () => {
    await client.text('page_fill', { selector: '#size', value: 'Large' });
    assert.equal(await page.inputValue('#size'), 'Large');
    await client.text('page_fill', { selector: '#gift', value: 'true' });
    assert.equal(await page.isChecked('#gift'), true);
  });

  test('a selector that matches nothing or several elements is refused', async () => {
    assert.match(await client.refusal('page_click', { selector: '#nothing' }), /EXECUTION_FAILED/);
    assert.match(await client.refusal('page_click', { selector: 'input' }), /EXECUTION_FAILED[\s\S]*\d/);
  });

  test('T155 the reason that a page gives for a refusal arrives inside a boundary with its origin', async () => {
    const refused = await client.refusal('page_click', { selector: '#nothing' });
    assert.match(
      refused,
      /for this reason:\n<<page ([0-9a-f]{16}) http:\/\/127\.0\.0\.1:\d+>>\n[^<]*#nothing[^<]*\n<<end \1>>/,
    );
  });

  test('page_scroll moves the page, to an element and back to the top', async () => {
    await client.text('page_scroll', { direction: 'bottom' });
    await until('the page to be at its end', async () => (await page.evaluate(() => scrollY)) > 500);
    await client.text('page_scroll', { direction: 'top' });
    await until('the page to be at its top', async () => (await page.evaluate(() => scrollY)) === 0);
  });

  test('page_wait_for sees text that appears later, and gives up in words', async () => {
    const waiting = client.text('page_wait_for', { text: 'arrived late', timeoutMs: 10_000 });
    await page.evaluate(() => setTimeout(() => document.body.append('arrived late'), 200));
    await waiting;
    assert.match(
      await client.refusal('page_wait_for', { text: 'never there', timeoutMs: 300 }),
      /RESPONSE_TIMEOUT|EXECUTION_FAILED/,
    );
  });

  test('navigation, back, forward and reload work on the client’s own tab', async () => {
    await client.text('tab_open', { url: site.url() });
    await client.text('page_navigate', { url: site.url('/two') });
    assert.match(await client.text('page_text'), /Second page/);
    await client.text('page_back');
    assert.match(await client.text('page_text'), /Order/);
    await client.text('page_forward');
    assert.match(await client.text('page_text'), /Second page/);
    await client.text('page_reload');
    assert.match(await client.text('page_text'), /Second page/);
  });

  test('T163 a redirect that ends on a site not approved is refused before anything is read', async () => {
    const refused = await client.refusal('page_navigate', { url: site.url('/away') });
    assert.match(refused, /SITE_NOT_ALLOWED/);
    assert.doesNotMatch(refused, /Second page/);
    assert.match(await client.refusal('page_text'), /SITE_NOT_ALLOWED/);
    await client.text('tab_open', { url: site.url() });
  });

  test('a page opened is readable at once, 100 times of 100', async () => {
    for (let round = 0; round < 100; round += 1) {
      const opened = await client.call('tab_open', { url: site.url(`/two?round=${round}`) });
      assert.ok(!opened.isError, textOf(opened));
      assert.match(await client.text('page_text'), /Second page/);
      const id = Number(/\b(?:tab|id)\D{0,3}(\d+)/i.exec(textOf(opened))?.[1]);
      assert.ok(Number.isInteger(id), textOf(opened));
      await client.text('tab_close', { tabId: id });
    }
  });

  test('two tabs are addressed by id, and focus moves the current tab', async () => {
    const first = await client.text('tab_open', { url: site.url() });
    const second = await client.text('tab_open', { url: site.url('/two') });
    const [a, b] = [tabId(first), tabId(second)];
    assert.match(await client.text('page_text', { tabId: a }), /Order/);
    assert.match(await client.text('page_text', { tabId: b }), /Second page/);
    assert.match(await client.text('page_text'), /Second page/);
    await client.text('tab_focus', { tabId: a });
    assert.match(await client.text('page_text'), /Order/);
    assert.match(await client.refusal('page_text', { tabId: 999_999 }), /TAB_NOT_FOUND/);
  });

  test('a second client shares the browser through the first one', async () => {
    legacy = await Client.start(home, 'legacy');
    assert.match(await legacy.text('tab_list'), /Order|Form|tab/);
    await legacy.stop();
    legacy = undefined;
    assert.match(await client.text('page_text'), /Order/);
  });
});

test('an initialize-era client does the same job', async () => {
  const home = new Home('legacy');
  const site = await Site.start({ '/': FORM });
  const browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
  const client = await Client.start(home, 'legacy');
  try {
    await browser.approve(await browser.page(site.url()));
    assert.match(await client.text('tab_list'), /Form/);
    assert.match(await client.text('page_text'), /Order/);
    const snapshot = await client.text('page_snapshot');
    await client.text('page_click', { ref: ref(snapshot, 'button', 'Count') });
  } finally {
    await client.stop();
    await browser.stop();
    await site.stop();
    home.remove();
  }
});

function ref(snapshot: string, role: string, name: string): string {
  const line = snapshot.split('\n').find((each) => each.includes(role) && each.includes(name));
  const found = line && /\b((?:f\d+:)?e\d+)\b/.exec(line)?.[1];
  assert.ok(found, `no ${role} "${name}" in\n${snapshot}`);
  return found;
}

function tabId(opened: string): number {
  return Number(/\b(?:tab|id)\D{0,3}(\d+)/i.exec(opened)?.[1]);
}
