/* Several clients share one real browser: whichever of them dies, the others go on, and no act happens twice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Browser } from './browser.ts';
import { Client, textOf } from './client.ts';
import { Home, until } from './home.ts';
import { Site } from './site.ts';

const PAGE = `<!doctype html><title>Counter</title><h1>Counter</h1>
<button type="button" id="count" onclick="fetch('/pressed')">Press</button>`;

type Stage = { home: Home; site: Site; first: Client; second: Client };

/** Two clients, of which the first holds the door, and one browser with an approved page. */
async function staged(label: string, run: (stage: Stage) => Promise<void>): Promise<void> {
  const home = new Home(label);
  const site = await Site.start({ '/': PAGE, '/pressed': 'ok' });
  const browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
  const first = await Client.start(home);
  try {
    await browser.approve(await browser.page(site.url()));
    assert.match(await first.text('page_text'), /Counter/);
    const second = await Client.start(home);
    await second.text('tab_open', { url: site.url() });
    try {
      await run({ home, site, first, second });
    } finally {
      await second.stop();
    }
  } finally {
    await first.stop();
    await browser.stop();
    await site.stop();
    home.remove();
  }
}

const presses = (site: Site): number => site.hits.filter((hit) => hit.includes('/pressed')).length;

test('two clients share one browser, each in its own tab', async () => {
  await staged('share', async ({ site, first, second }) => {
    const both = await Promise.all([first.text('page_text'), second.text('page_text')]);
    for (const text of both) assert.match(text, /Counter/);
    await Promise.all([
      first.text('page_click', { selector: '#count' }),
      second.text('page_click', { selector: '#count' }),
    ]);
    await until('two presses', () => presses(site) === 2);
  });
});

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`a broker that gets ${signal} in the middle of a call leaves the other client working, and nothing is pressed twice`, async () => {
    await staged(signal.toLowerCase(), async ({ site, first, second }) => {
      const waiting = second.call('page_wait_for', { text: 'never', timeoutMs: 20_000 });
      const press = second.call('page_click', { selector: '#count' });
      await until('the press', () => presses(site) === 1);
      first.process.kill(signal);
      const pressed = await press;
      const ended = textOf(await waiting);
      assert.match(ended, /CONNECTION_LOST|never/);
      assert.match(await second.text('page_text'), /Counter/, 'it took the door over');
      assert.equal(presses(site), 1, textOf(pressed));
      await second.text('page_click', { selector: '#count' });
      await until('the next press', () => presses(site) === 2);
    });
  });
}

test('the client of the broker leaves while a relay works, and the relay goes on', async () => {
  await staged('leaves', async ({ site, first, second }) => {
    const waiting = second.call('page_wait_for', { selector: '#count', timeoutMs: 10_000 });
    first.process.stdin.end();
    assert.ok(!(await waiting).isError);
    await second.text('page_click', { selector: '#count' });
    await until('the press', () => presses(site) === 1);
    assert.equal(first.process.exitCode, null, 'the broker serves on');
    await second.stop();
    await until('the broker to end with its last relay', () => first.process.exitCode === 0);
  });
});
