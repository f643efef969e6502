/* The kill switch in real browsers: what was under way ends, nothing starts after it, and nothing but the person at a
   terminal brings it back: not a worker that dies, not a host that comes later, not another browser. Effects are counted
   in the page itself. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { Browser } from './browser.ts';
import { Client } from './client.ts';
import { BINARY, Home, until } from './home.ts';
import { Site } from './site.ts';

const PAGE = `<!doctype html><title>Counter</title><h1>Counter</h1>
<script>window.presses = 0</script>
<button type="button" id="count" onclick="window.presses += 1">Press</button>`;

type Kept = { killed: boolean; pending: boolean; epoch: number };
type Stage = { home: Home; site: Site; browser: Browser; client: Client; page: Page };

async function staged(label: string, run: (stage: Stage) => Promise<void>): Promise<void> {
  const home = new Home(label);
  const site = await Site.start({ '/': PAGE });
  const browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
  const client = await Client.start(home);
  try {
    const page = await browser.page(site.url());
    await browser.approve(page);
    await until('the first press', async () => await client.text('page_click', { selector: '#count' }));
    await run({ home, site, browser, client, page });
  } finally {
    await client.stop();
    await browser.stop();
    await site.stop();
    home.remove();
  }
}

const presses = (page: Page): Promise<number> => page.evaluate(() => Reflect.get(window, 'presses'));

async function mirror(browser: Browser): Promise<Kept | undefined> {
  const worker = await browser.worker();
  return await worker.evaluate(async () => (await chrome.storage.local.get<{ kill?: Kept }>('kill')).kill);
}

function trust(home: Home): { killed: boolean } {
  return JSON.parse(fs.readFileSync(home.path('state/genkan/trust.json'), 'utf8'));
}

/** Presses the button in the popup as the person does, and waits until it shows that everything is stopped. */
async function stopInPopup(browser: Browser, page: Page): Promise<string> {
  const popup = await browser.popup(page);
  await popup.click('kill-engage');
  await until('the popup to say so', () => popup.has('killed'));
  const text = await popup.text();
  await popup.close();
  return text;
}

/** The person at a terminal of their own: `script` gives the program one, and types. */
async function release(home: Home): Promise<void> {
  const terminal = spawn('script', ['-qec', `${BINARY} unkill`, '/dev/null'], { env: home.env, stdio: 'pipe' });
  let shown = '';
  terminal.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
    const phrase = /Type exactly: (.+?)\r?\n> /.exec(shown)?.[1];
    if (phrase === undefined) return;
    shown = '';
    terminal.stdin.write(`${phrase}\n`);
  });
  await new Promise((done) => terminal.once('exit', done));
}

/** The pids of this home's native hosts. */
function hosts(home: Home): number[] {
  return fs.readdirSync('/proc').flatMap((pid) => {
    try {
      const words = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const ours = fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${home.dir}\0`);
      return ours &&
        path.basename(words[0] ?? '') === 'genkan' &&
        words.some((word) => word.includes('native-host') || word.startsWith('chrome-extension://'))
        ? [Number(pid)]
        : [];
    } catch {
      return [];
    }
  });
}

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

async function race(by: 'popup' | 'command line'): Promise<void> {
  await staged('race', async ({ home, browser, client, page }) => {
    let racing = true;
    const answers: string[] = [];
    const racers = Array.from({ length: 6 }, async () => {
      while (racing) {
        const result = await client.call('page_click', { selector: '#count' });
        answers.push(result.content[0]?.text ?? '');
        if (result.isError) await new Promise((resume) => setTimeout(resume, 5));
      }
    });
    await until('calls to be under way', async () => (await presses(page)) > 20);
    if (by === 'popup') {
      await stopInPopup(browser, page);
      await until('the host to have it on its disk', async () => (await mirror(browser))?.pending === false);
    } else execFileSync(BINARY, ['kill'], { env: home.env, stdio: 'pipe' });
    const then = await presses(page);
    const refused = answers.length;
    await until('calls to be refused', () => answers.length > refused + 20);
    racing = false;
    await Promise.all(racers);
    assert.equal(await presses(page), then, 'the page felt nothing more');
    const after = answers.slice(refused + 6);
    assert.ok(
      after.every((text) => text.startsWith('BRIDGE_KILLED')),
      after.find((text) => !text.startsWith('BRIDGE_KILLED')),
    );
    assert.equal(trust(home).killed, true);
  });
}

test('T072 calls race the kill switch engaged from the command line, and no act starts after it returned', () =>
  race('command line'));

test('T072 calls race the kill switch engaged from the popup, and no act starts after it returned', () =>
  race('popup'));

test('T072 a click in the pipe, while browser and host stand still, does not happen after the kill switch, whoever wakes first', async () => {
  await staged('still', async ({ home, browser, client, page }) => {
    const [host] = hosts(home);
    assert.ok(host);
    const chromium = Number(/^PPid:\t(\d+)$/m.exec(fs.readFileSync(`/proc/${host}/status`, 'utf8'))?.[1]);
    const before = await presses(page);
    process.kill(chromium, 'SIGSTOP');
    let stopped = [chromium];
    try {
      const call = client.call('page_click', { selector: '#count' });
      await new Promise((resume) => setTimeout(resume, 300));
      process.kill(host, 'SIGSTOP');
      stopped = [host, chromium];
      execFileSync(BINARY, ['kill'], { env: home.env, stdio: 'pipe' });
      process.kill(chromium, 'SIGCONT');
      stopped = [host];
      await new Promise((resume) => setTimeout(resume, 2_000));
      assert.equal(await presses(page), before, 'the browser does not act on what lay in the pipe');
      process.kill(host, 'SIGCONT');
      stopped = [];
      assert.match((await call).content[0]?.text ?? '', /BRIDGE_KILLED|CONNECTION_LOST/);
      await until('the mirror to know it', async () => (await mirror(browser))?.killed);
      assert.equal(await presses(page), before);
    } finally {
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
    }
  });
});

test('T074 engaged while no host can be reached, it holds in the first call after one is back', async () => {
  await staged('apart', async ({ home, browser, client, page }) => {
    const manifests = path.join(browser.profile, 'NativeMessagingHosts');
    fs.renameSync(manifests, `${manifests}.away`);
    for (const pid of hosts(home)) process.kill(pid, 'SIGKILL');
    const popup = await browser.popup(page);
    await until('the popup to miss the program', async () => /not installed|has not said/.test(await popup.text()));
    await popup.close();
    const text = await stopInPopup(browser, page);
    assert.match(text, /has not confirmed it yet|last heard of/);
    assert.equal((await mirror(browser))?.pending, true);
    const before = await presses(page);
    fs.renameSync(`${manifests}.away`, manifests);
    await until('the host to be told', () => trust(home).killed, 60_000);
    assert.match(await client.refusal('page_click', { selector: '#count' }), /BRIDGE_KILLED/);
    assert.equal(await presses(page), before);
    await until('the mirror to know it', async () => (await mirror(browser))?.pending === false);
  });
});

test('T079 a worker killed between engaging and the answer comes back engaged, and tells the next host', async () => {
  await staged('between', async ({ home, browser, client, page }) => {
    const stopped = hosts(home);
    assert.equal(stopped.length, 1);
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    await stopInPopup(browser, page);
    assert.equal((await mirror(browser))?.pending, true);
    assert.equal(
      fs.existsSync(home.path('state/genkan/trust.json')) && trust(home).killed,
      false,
      'the host did not hear it',
    );
    const before = await presses(page);
    await killWorker(browser);
    for (const pid of stopped) process.kill(pid, 'SIGKILL');
    // Whatever wakes the worker: here the person opens the popup.
    const popup = await until('the worker to wake', () => browser.popup(page), 60_000);
    await until('the popup to say so', () => popup.has('killed'));
    await popup.close();
    await until('the next host to be told', () => trust(home).killed, 60_000);
    assert.match(await client.refusal('page_click', { selector: '#count' }), /BRIDGE_KILLED/);
    assert.equal(await presses(page), before);
  });
});

test('T080 engaged in one browser it stops the other one, outlives both, and only the terminal releases it', async () => {
  await staged('two', async ({ home, site, browser, client, page }) => {
    let other = await Browser.start(home, { granted: ['http://127.0.0.1/*'], profile: 'other' });
    try {
      const there = await other.page(site.url());
      await other.approve(there);
      const rows = (await client.call('list_browsers')).structuredContent?.['browsers'] as {
        browser?: string;
        label: string;
        instance: string;
      }[];
      assert.equal(rows.length, 2, JSON.stringify(rows));
      const names = rows.map(({ label, instance }) => `${label}#${instance}`);
      for (const name of names) await client.text('page_click', { selector: '#count', browser: name });
      const before = [await presses(page), await presses(there)];
      await stopInPopup(browser, page);
      const begun = performance.now();
      await until('the other browser to know it', async () => (await mirror(other))?.killed === true);
      console.log(`the other browser knew it ${Math.round(performance.now() - begun)} ms after the popup showed it`);
      for (const name of names) {
        assert.match(await client.refusal('page_click', { selector: '#count', browser: name }), /BRIDGE_KILLED/);
      }
      assert.deepEqual([await presses(page), await presses(there)], before);
      await other.stop();
      other = await Browser.start(home, { granted: ['http://127.0.0.1/*'], profile: 'other' });
      const again = await other.page(site.url());
      const popup = await other.popup(again);
      await until('the restarted browser to say so', () => popup.has('killed'));
      await popup.close();
      await release(home);
      assert.equal(trust(home).killed, false);
      await until(
        'both mirrors to clear',
        async () => !(await mirror(browser))?.killed && !(await mirror(other))?.killed,
      );
      await until(
        'a call to work again',
        async () => !(await client.call('tab_list', { browser: names[0] })).isError,
        60_000,
      );
    } finally {
      await other.stop();
    }
  });
});

test('two clients on one tab take turns, and a call that waits too long names who is at work there', async () => {
  await staged('turns', async ({ home, client, page }) => {
    const second = await Client.start(home);
    try {
      const busy = client.call('page_wait_for', { text: 'never', timeoutMs: 20_000 });
      await new Promise((resume) => setTimeout(resume, 500));
      const tabs = await second.text('tab_list');
      const tabId = Number(/^(\d+).*Counter/m.exec(tabs)?.[1]);
      const before = await presses(page);
      const refused = await second.refusal('page_click', { selector: '#count', tabId });
      assert.match(refused, /BROKER_BUSY.*at work in tab \d+/s);
      assert.match(refused, /retryable: yes/);
      assert.equal(await presses(page), before);
      const waiting = second.text('page_click', { selector: '#count', tabId });
      assert.ok((await busy).isError);
      await waiting;
      assert.equal(await presses(page), before + 1);
    } finally {
      await second.stop();
    }
  });
});
