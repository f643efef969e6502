// The content script in a real extension: injected twice, spoken to by the worker, deaf to the page, with the browser's key
// to closed shadow roots. The extension here is this script and an empty worker.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page, type Worker } from 'playwright-core';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ArgsOf, type Op, readReply } from './protocol';
import { HOME } from './testbed';

const MANIFEST = {
  manifest_version: 3,
  name: 'content script under test',
  version: '1',
  permissions: ['scripting'],
  host_permissions: [`${HOME}*`],
  background: { service_worker: 'worker.js' },
};

let home: string;
let context: BrowserContext;
let worker: Worker;
let page: Page;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'genkan-content-'));
  const extension = join(home, 'extension');
  await mkdir(extension);
  await writeFile(join(extension, 'manifest.json'), JSON.stringify(MANIFEST));
  await writeFile(join(extension, 'worker.js'), 'chrome.runtime.onInstalled.addListener(() => {});');
  const build = await rolldown({ input: new URL('../entrypoints/content.ts', import.meta.url).pathname });
  const { output } = await build.generate({ format: 'iife', name: 'content' });
  await writeFile(join(extension, 'content.js'), `${output[0].code};content.main();`);
  context = await chromium.launchPersistentContext(join(home, 'profile'), {
    executablePath: '/usr/bin/chromium',
    headless: false,
    args: [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      `--disable-extensions-except=${extension}`,
      `--load-extension=${extension}`,
    ],
  });
  worker = context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'));
  page = await context.newPage();
});

afterAll(async () => {
  await context?.close();
  await rm(home, { recursive: true, force: true });
});

async function open(html: string): Promise<void> {
  await page.unrouteAll();
  await page.route(`${HOME}**`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: route.request().url() === HOME ? `<!doctype html>${html}` : 'next',
    }),
  );
  await page.goto(HOME);
  await inject();
}

async function inject(): Promise<void> {
  await worker.evaluate(async (home) => {
    const [tab] = await chrome.tabs.query({ url: `${home}*` });
    await chrome.scripting.executeScript({ target: { tabId: tab?.id ?? -1 }, files: ['content.js'] });
  }, HOME);
}

async function send(message: object): Promise<unknown> {
  return await worker.evaluate(
    async ([home, message]) => {
      const [tab] = await chrome.tabs.query({ url: `${home}*` });
      return await chrome.tabs.sendMessage(tab?.id ?? -1, message);
    },
    [HOME, message] as const,
  );
}

async function get<O extends Op>(op: O, args: ArgsOf<O>, call: string) {
  const reply = readReply(op, await send({ genkan: 1, call, op, args, until: Date.now() + 60_000 }));
  if (reply?.ok !== true) throw new Error(JSON.stringify(reply));
  return reply.data;
}

test('a_second_injection_changes_nothing', async () => {
  await open(`<button onclick="this.textContent += '!'">Go</button>`);
  const { token } = await get('probe', { act: 'click', selector: 'button' }, 'a');
  await inject();
  await get('click', { token }, 'b');
  expect(await page.textContent('button')).toBe('Go!');
});

test('a_page_cannot_stop_the_injection_with_named_elements', async () => {
  await open('<img id="genkan.content"><img name=genkan><button>Go</button>');
  expect((await get('snapshot', {}, 'c')).lines).toEqual(['button "Go" [e1]']);
});

test('closed_shadow_trees_are_read_and_clicked', async () => {
  await open(`<div id=host></div><script>
    const root = document.getElementById('host').attachShadow({ mode: 'closed' });
    root.innerHTML = '<button>Inside</button>';
    root.firstChild.onclick = () => { document.title = 'pressed'; };</script>`);
  expect((await get('snapshot', {}, 'd')).lines).toEqual(['button "Inside" [e1]']);
  const { token } = await get('probe', { act: 'click', ref: 'e1' }, 'e');
  expect((await get('click', { token }, 'f')).changed).toBe(true);
  expect(await page.title()).toBe('pressed');
});

test('a_click_in_a_hidden_tab_is_done_and_reported', async () => {
  await open(`<button onclick="this.textContent = 'Done'">Go</button>`);
  const front = await context.newPage();
  await front.bringToFront();
  const { token } = await get('probe', { act: 'click', selector: 'button' }, 'g');
  expect(await get('click', { token }, 'h')).toMatchObject({ changed: true });
  await front.close();
});

test('what_is_not_of_this_protocol_is_not_answered', async () => {
  await open('<button>Go</button>');
  expect(await send({ genkan: 2, call: 'i', op: 'snapshot', args: {} })).toBeUndefined();
  expect(await send({ genkan: 1, call: 'i', op: 'snapshot', args: { unknown: 1 } })).toBeUndefined();
  await page.evaluate(`postMessage({ genkan: 1, call: 'j', op: 'snapshot', args: {} }, '*')`);
  expect(await page.evaluate("'chrome' in window && 'runtime' in window.chrome")).toBe(false);
});

test('t149_the_events_are_never_a_persons', async () => {
  await open(`<button onclick="document.title = [event.isTrusted, navigator.userActivation.isActive]">Go</button>`);
  const { token } = await get('probe', { act: 'click', selector: 'button' }, 'k');
  await get('click', { token }, 'l');
  expect(await page.title()).toBe('false,false');
});

test.each([
  ['a link to a new window', '<a href="/next" target=_blank>x</a>', {}],
  ['a link with Control held', '<a href="/next">x</a>', { modifiers: ['Control' as const] }],
  ['a form to a new window', '<form action="/next" target=_blank><button>x</button></form>', {}],
])('%s opens its tab without a person', async (name, html, keys) => {
  await open(html);
  const opened = context.waitForEvent('page');
  const { token } = await get('probe', { act: 'click', selector: 'a, button', ...keys }, `m ${name}`);
  await get('click', { token, ...keys }, `n ${name}`);
  await (await opened).close();
});
