/* The browser's own permission prompt, which only a headed browser shows: allowed and denied by keys, as a person would.
   Everything else in e2e uses profiles in which that grant was made before. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { Browser } from './browser.ts';
import { Client } from './client.ts';
import { Home, until } from './home.ts';
import { Site } from './site.ts';

/** An X server of our own on a free display, with a window manager so that dialogs get the keyboard. */
class Desktop {
  readonly display: string;
  readonly #children: ChildProcess[];

  private constructor(display: string, children: ChildProcess[]) {
    this.display = display;
    this.#children = children;
  }

  static async start(): Promise<Desktop> {
    const server = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const display = await new Promise<string>((resolve, reject) => {
      server.stdout?.once('data', (chunk: Buffer) => resolve(`:${chunk.toString().trim()}`));
      server.once('exit', () => reject(new Error('Xvfb did not start')));
    });
    const manager = spawn('openbox', [], { env: { ...process.env, DISPLAY: display }, stdio: 'ignore' });
    return new Desktop(display, [manager, server]);
  }

  keys(...keys: string[]): void {
    execFileSync('xdotool', ['key', '--delay', '60', ...keys], { env: { ...process.env, DISPLAY: this.display } });
  }

  windows(): string[] {
    const ids = execFileSync('xdotool', ['search', '--onlyvisible', '--name', ''], {
      env: { ...process.env, DISPLAY: this.display },
      encoding: 'utf8',
    });
    return ids.trim().split('\n');
  }

  stop(): void {
    for (const child of this.#children) child.kill('SIGTERM');
  }
}

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
