/* Pages, frames and other extensions that try to reach past the door. Each title carries the attack's id. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { answer, Browser } from './browser.ts';
import { Client, textOf } from './client.ts';
import { Home, until } from './home.ts';
import { Site } from './site.ts';

describe('a hostile page', () => {
  let home: Home;
  let site: Site;
  let browser: Browser;
  let client: Client;
  let page: Page;

  before(async () => {
    home = new Home('hostile');
    site = await Site.start({
      '/': '<!doctype html><title>Good</title><h1>Good</h1><button type="button" id="b">Press</button>',
      '/frames': (_, response) =>
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end(
            `<title>Outer</title><h1>Outer</h1><iframe src="${site.url('/secret', 'evil.localhost')}"></iframe><iframe src="/inner"></iframe>`,
          ),
      '/inner': '<h2>Inner same origin</h2><button type="button">Inner button</button>',
      '/secret': '<h2>Other site secret</h2>',
      '/swap': '<!doctype html><title>Swap</title><button type="button" id="b">First</button>',
      '/leave': '<!doctype html><title>Leave</title>',
      '/textarea': '<!doctype html><title>Area</title><textarea id="t"></textarea>',
      '/split':
        '<!doctype html><title>Split</title><p>key=<b>sk-live-4f9a8b7c6d5e</b><i>4f3a2b1c0d9e8f7a6b5c</i> and 4111&#8203;1111&#173;1111&#8205;1111</p>',
      '/attack': `<!doctype html><title>Attack</title><script>
        window.results = {};
        window.results.runtime = typeof (globalThis.chrome?.runtime?.sendMessage);
        const frame = document.createElement('iframe');
        frame.src = 'chrome-extension://fhfbdalnecakiolkelkaididjlheojno/confirm.html?id=1';
        document.documentElement.append(frame);
        frame.onload = () => { try { window.results.framed = frame.contentDocument === null ? 'opaque' : frame.contentDocument.body.innerText; } catch (e) { window.results.framed = 'opaque'; } };
      </script>`,
    });
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

  /** The newest tab at this path, once the browser driver knows it. */
  async function shown(path: string): Promise<Page> {
    return await until(`a tab at ${path}`, () => browser.context.pages().findLast((each) => each.url().endsWith(path)));
  }

  test('T156 T158 addresses that only look like the approved one are refused', async () => {
    const host = `127.0.0.1:${site.port}`;
    for (const url of [
      `http://${host}@evil.localhost:${site.port}/`,
      `http://evil.localhost:${site.port}\\@${host}/`,
      `http://evil.localhost:${site.port}/%2f@${host}`,
      `https://${host}/`,
      `http://127.0.0.1:1/`,
      `http://127.0.0.1.evil.localhost:${site.port}/`,
    ]) {
      const text = await client.refusal('tab_open', { url });
      assert.match(text, /SITE_NOT_ALLOWED|INVALID_ARGUMENT|UNSUPPORTED_PAGE/, url);
    }
  });

  test('T160 another spelling of an approved address is the approved address', async () => {
    const opened = await client.call('tab_open', { url: `http://0x7f.1:${site.port}/` });
    assert.ok(!opened.isError, textOf(opened));
    assert.match(
      await client.refusal('tab_open', { url: `http://[::ffff:127.0.0.1]:${site.port}/` }),
      /SITE_NOT_ALLOWED/,
    );
  });

  test('T157 addresses that are no web page are refused by construction', async () => {
    for (const url of [
      'chrome://settings',
      'chrome-extension://fhfbdalnecakiolkelkaididjlheojno/options.html',
      'file:///etc/passwd',
      'data:text/html,x',
      'javascript:alert(1)',
      'view-source:http://127.0.0.1/',
      'about:blank',
      'blob:http://127.0.0.1/x',
      'filesystem:http://127.0.0.1/temporary/x',
      'https://chromewebstore.google.com/',
      `http://genkan.localhost:${site.port}/`,
      `http://0123456789abcdef.localhost:${site.port}/`,
    ]) {
      assert.match(await client.refusal('tab_open', { url }), /UNSUPPORTED_PAGE|INVALID_ARGUMENT/, url);
      assert.match(await client.refusal('page_navigate', { url }), /UNSUPPORTED_PAGE|INVALID_ARGUMENT/, url);
    }
  });

  test('a frame of a site not approved is listed with its origin and stays unread', async () => {
    await client.text('tab_open', { url: site.url('/frames') });
    const text = await until('both frames', async () => {
      const read = await client.text('page_text');
      return read.includes('Inner same origin') && read;
    });
    assert.doesNotMatch(text, /Other site secret/);
    const snapshot = await client.text('page_snapshot');
    assert.match(snapshot, /Inner button/);
    assert.match(snapshot, /f\d+:e\d+/);
    assert.ok(snapshot.includes(`evil.localhost:${site.port}`), snapshot);
    assert.doesNotMatch(snapshot, /Other site secret/);
  });

  test('T137 an element replaced since the snapshot is a stale ref, not another element', async () => {
    const opened = await browser.page(site.url('/swap'));
    await client.text('tab_open', { url: site.url('/swap') });
    await opened.close();
    const snapshot = await client.text('page_snapshot');
    const ref = /button "First".*?\b(e\d+)\b/.exec(snapshot)?.[1];
    assert.ok(ref, snapshot);
    const target = await shown('/swap');
    await target.evaluate(() => {
      document.body.innerHTML = '<button type="button" id="b" onclick="document.title=\'pressed\'">Second</button>';
    });
    assert.match(await client.refusal('page_click', { ref }), /EXECUTION_FAILED[\s\S]*snapshot/);
    assert.equal(await target.title(), 'Swap');
  });

  test('T166 a secret split over nodes and zero-width characters is masked', async () => {
    await client.text('tab_open', { url: site.url('/split') });
    const text = await client.text('page_text');
    assert.doesNotMatch(text, /4f3a2b1c0d9e|1111.{0,3}1111/);
  });

  test('T001 a value as large as a frame, one byte more and far more arrives whole', async () => {
    await client.text('tab_open', { url: site.url('/textarea') });
    const target = await shown('/textarea');
    for (const length of [1_048_000, 1_048_576, 1_048_577, 1_049_600, 3_000_000]) {
      const filled = await client.call('page_fill', { selector: '#t', value: 'é'.repeat(length / 2) });
      assert.ok(!filled.isError, textOf(filled));
      assert.equal(
        await target.evaluate(() => (document.getElementById('t') as HTMLTextAreaElement).value.length),
        Math.floor(length / 2),
      );
    }
    assert.match(
      await client.refusal('page_fill', { selector: '#t', value: 'x'.repeat(4_194_305) }),
      /INVALID_ARGUMENT|PAYLOAD_TOO_LARGE/,
    );
    await client.text('tab_list');
  });

  test('T126 T128 a page can neither message the extension nor frame nor open its pages', async () => {
    const attack = await browser.page(site.url('/attack'));
    await until(
      'the frame to settle',
      async () => await attack.evaluate(() => 'framed' in (globalThis as unknown as { results: object }).results),
    );
    const results = await attack.evaluate(() => (globalThis as unknown as { results: Record<string, string> }).results);
    assert.equal(results['runtime'], 'undefined');
    assert.doesNotMatch(results['framed'] ?? '', /genkan/i);
    await attack.close();
  });

  test('T131 a page cannot read the extension’s storage, and its worker keeps it to trusted contexts', async () => {
    const worker = await browser.worker();
    const keys = await worker.evaluate(async () => Object.keys(await chrome.storage.local.get()));
    assert.ok(keys.length > 0, 'there is something to protect');
    const injected = await worker.evaluate(
      async (url) => {
        const [tab] = await chrome.tabs.query({ url: `${url}/*` });
        if (tab?.id === undefined) return 'no tab';
        const [result] = await chrome.scripting.executeScript({
          target: { tabId: tab.id },
          func: async () => {
            try {
              return JSON.stringify(await chrome.storage.local.get());
            } catch (error) {
              return `refused: ${String(error)}`;
            }
          },
        });
        return String(result?.result);
      },
      site.origin().replace(/:\d+$/, ''),
    );
    assert.match(injected, /refused/);
  });

  test('T127 another extension can neither message nor connect', async () => {
    const second = new Home('second');
    const other = second.path('other-extension');
    fs.mkdirSync(other);
    const manifest = { manifest_version: 3, name: 'other', version: '1', background: { service_worker: 'other.js' } };
    fs.writeFileSync(`${other}/manifest.json`, JSON.stringify(manifest));
    fs.writeFileSync(`${other}/other.js`, '');
    const both = await Browser.start(second, { others: [other] });
    try {
      const stranger = await until('the other worker', () =>
        both.context.serviceWorkers().find((worker) => worker.url().endsWith('/other.js')),
      );
      const outcome = await stranger.evaluate(async (id) => {
        const message = await chrome.runtime.sendMessage(id, { kind: 'status' }).then(
          (answer) => `answered ${JSON.stringify(answer)}`,
          (error) => `refused ${String(error)}`,
        );
        const port = chrome.runtime.connect(id);
        const connection = await new Promise<string>((resolve) => {
          port.onMessage.addListener(() => resolve('answered'));
          port.onDisconnect.addListener(() => resolve(`refused ${chrome.runtime.lastError?.message}`));
        });
        return [message, connection];
      }, both.id);
      assert.match(outcome[0] ?? '', /^refused/);
      assert.match(outcome[1] ?? '', /^refused/);
    } finally {
      await both.stop();
      second.remove();
    }
  });

  test('a link to a site not approved may be followed by the person’s word, but is not read', async () => {
    const away = site.url('/secret', 'evil.localhost');
    await client.text('tab_open', { url: site.url('/leave') });
    const target = await shown('/leave');
    await target.evaluate((url) => {
      document.body.innerHTML = `<a id="go" href="${url}">Leave</a>`;
    }, away);
    const refused = client.call('page_click', { selector: '#go' });
    const window = await Promise.race([browser.confirmation(), refused.then(() => undefined)]);
    if (window) await answer(window, 'confirm-allow');
    assert.doesNotMatch(textOf(await refused), /Other site secret/);
    assert.match(
      await client.refusal('page_text', { tabId: await currentTab(client) }),
      /SITE_NOT_ALLOWED|EXECUTION_FAILED/,
    );
  });
});

/** The tab that shows the site not approved, by the list that any client may read. */
async function currentTab(client: Client): Promise<number> {
  return await until('the tab to leave', async () => {
    const result = await client.call('tab_list', {});
    const rows = (result.structuredContent?.['tabs'] ?? []) as { id: number; origin?: string }[];
    return rows.find((row) => row.origin?.includes('evil.localhost'))?.id;
  });
}
