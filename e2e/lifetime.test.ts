/* Workers die, browsers close, servers come late: what was running ends in words, and the next call works. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { test } from 'node:test';
import { Browser, FLAGS, register } from './browser.ts';
import { Client } from './client.ts';
import { EXTENSION, Home, until } from './home.ts';
import { Site } from './site.ts';

const PAGE = `<!doctype html><title>Counter</title><h1>Counter</h1>
<button type="button" id="count" onclick="fetch('/pressed'); this.textContent = 'pressed'">Press</button>`;

async function killWorker(browser: Browser): Promise<void> {
  const page = browser.context.pages()[0];
  assert.ok(page);
  const session = await browser.context.newCDPSession(page);
  const { targetInfos } = await session.send('Target.getTargets');
  const worker = targetInfos.find((info) => info.type === 'service_worker' && info.url.includes(browser.id));
  assert.ok(worker, 'the worker lives before it is killed');
  await session.send('Target.closeTarget', { targetId: worker.targetId });
  await session.detach();
}

test('a worker killed between calls comes back, with its approvals and its refs', async () => {
  const home = new Home('worker');
  const site = await Site.start({ '/': PAGE, '/pressed': 'ok' });
  const browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
  const client = await Client.start(home);
  try {
    await browser.approve(await browser.page(site.url()));
    const before = await client.text('page_snapshot');
    await killWorker(browser);
    const after = await until('a call after the worker died', async () => await client.text('page_snapshot'), 60_000);
    const ref = /button "Press".*?\b(e\d+)\b/.exec(before)?.[1];
    assert.ok(ref, before);
    assert.equal(/button "Press".*?\b(e\d+)\b/.exec(after)?.[1], ref);
    await client.text('page_click', { ref });
    await until('one press', () => site.hits.filter((hit) => hit.includes('/pressed')).length === 1);
  } finally {
    await client.stop();
    await browser.stop();
    await site.stop();
    home.remove();
  }
});

test('T130 a worker killed during a call fails that call in words and never repeats the act', async () => {
  const home = new Home('during');
  const site = await Site.start({ '/': PAGE, '/pressed': 'ok' });
  const browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
  const client = await Client.start(home);
  try {
    await browser.approve(await browser.page(site.url()));
    const waiting = client.call('page_wait_for', { text: 'never', timeoutMs: 40_000 });
    const press = client.call('page_click', { selector: '#count' });
    await until('the press to reach the page', () => site.hits.some((hit) => hit.includes('/pressed')));
    await killWorker(browser);
    const result = await waiting;
    assert.ok(result.isError);
    assert.match(result.content[0]?.text ?? '', /CONNECTION_LOST/);
    await press;
    await until('the next call to work', async () => await client.text('tab_list'), 60_000);
    assert.equal(site.hits.filter((hit) => hit.includes('/pressed')).length, 1);
  } finally {
    await client.stop();
    await browser.stop();
    await site.stop();
    home.remove();
  }
});

test('a browser closed and started again serves the same client', async () => {
  const home = new Home('restart');
  const site = await Site.start({ '/': PAGE, '/pressed': 'ok' });
  let browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
  const client = await Client.start(home);
  try {
    await browser.approve(await browser.page(site.url()));
    assert.match(await client.text('page_text'), /Counter/);
    await browser.stop();
    const refused = client.call('tab_list');
    assert.match((await refused).content[0]?.text ?? '', /NOT_CONNECTED|CONNECTION_LOST/);
    browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
    const page = await browser.page(site.url());
    await page.bringToFront();
    assert.match(await client.text('page_text'), /Counter/, 'the approval outlived the browser');
  } finally {
    await client.stop();
    await browser.stop();
    await site.stop();
    home.remove();
  }
});

test('a server that starts before the browser waits for it', async () => {
  const home = new Home('early');
  const client = await Client.start(home);
  const listing = client.text('tab_list');
  const browser = await Browser.start(home);
  try {
    assert.match(await listing, /tab/i);
  } finally {
    await client.stop();
    await browser.stop();
    home.remove();
  }
});

test('with nobody watching, the worker outlives its idle limit and the first call is served', async () => {
  const home = new Home('bare');
  const profile = home.path('profile');
  register(home, profile);
  const chromium: ChildProcess = spawn(
    '/usr/bin/chromium',
    [
      '--headless=new',
      ...FLAGS,
      `--user-data-dir=${profile}`,
      `--disable-extensions-except=${EXTENSION}`,
      `--load-extension=${EXTENSION}`,
      'about:blank',
    ],
    { env: home.env, stdio: 'ignore' },
  );
  const gone = new Promise((resolve) => chromium.once('exit', resolve));
  try {
    // Longer than the thirty seconds after which a browser stops an idle worker; no server runs in that time.
    await new Promise((resume) => setTimeout(resume, 40_000));
    const client = await Client.start(home);
    assert.match(await client.text('tab_list'), /about:blank|tab/i);
    await client.stop();
  } finally {
    chromium.kill('SIGTERM');
    await gone;
    home.remove();
  }
});
