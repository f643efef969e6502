// For tests only: a real Chromium, and in its pages the in-page half in a world of its own, as the browser gives it to an
// extension. What needs the extension's own interfaces (closed shadow roots, messages) is tested with the extension.

import { type Browser, chromium, type Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { vi } from 'vitest';
import { type ArgsOf, type Op, type Reply, type ResultOf, readReply } from './protocol';

/** A loaded machine takes seconds to start a browser. */
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let browser: Promise<Browser> | undefined;
let code: Promise<string> | undefined;

function started(): Promise<Browser> {
  browser ??= chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
  return browser;
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
}

async function bundled(): Promise<string> {
  const build = await rolldown({ input: new URL('./answer.ts', import.meta.url).pathname });
  const { output } = await build.generate({ format: 'iife', name: 'genkan' });
  return `${output[0].code};globalThis.genkan = genkan;0`;
}

/** Where test pages are served; nothing leaves the machine. */
export const HOME = 'http://page.test/';

export type Target = { ref: string } | { selector: string };

export interface Bed {
  page: Page;
  /** One operation in the document. */
  ask<O extends Op>(op: O, args: ArgsOf<O>, call?: string, until?: number | null): Promise<Reply<O>>;
  /** Its result, where success is expected. */
  get<O extends Op>(op: O, args: ArgsOf<O>): Promise<ResultOf<O>>;
  /** The sentence of its refusal, where one is expected. */
  refusal<O extends Op>(op: O, args: ArgsOf<O>): Promise<string>;
  /** The lines of a snapshot. */
  lines(args?: ArgsOf<'snapshot'>): Promise<string[]>;
  click(target: Target, keys?: Partial<ArgsOf<'click'>>): Promise<ResultOf<'click'>>;
  fill(target: Target, value: string, how?: Partial<ArgsOf<'fill'>>): Promise<ResultOf<'fill'>>;
  /** The ref that a snapshot shows at the end of the line that contains `words`. */
  refOf(words: string): Promise<string>;
  /** Puts a fresh script into the document, as an update of the extension does. */
  renew(): Promise<void>;
}

let calls = 0;
const nextCall = (): string => {
  calls += 1;
  return `c${calls}`;
};

let shared: Promise<Page> | undefined;

async function blank(): Promise<Page> {
  const page = await (await started()).newPage({ viewport: { width: 1280, height: 720 } });
  await page.route(`${HOME}**`, (route) => route.fulfill({ contentType: 'text/html', body: '<title>next</title>' }));
  return page;
}

/** Opens a page of this HTML in the window of this test file, of 1280 × 720. */
export async function open(html: string): Promise<Bed> {
  shared ??= blank();
  try {
    return await bedOn(await show(await shared, html));
  } catch {
    // A test may leave a navigation under way or a page that the browser gave up; a new window knows nothing of it.
    shared = blank();
    return await bedOn(await show(await shared, html));
  }
}

async function show(page: Page, html: string): Promise<Page> {
  await page.unroute(HOME);
  await page.route(HOME, (route) => route.fulfill({ contentType: 'text/html', body: `<!doctype html>${html}` }));
  await page.goto(HOME);
  return page;
}

/** The in-page half in a page that is open already. */
export async function bedOn(page: Page): Promise<Bed> {
  const cdp = await page.context().newCDPSession(page);
  let world = 0;

  async function run(expression: string): Promise<unknown> {
    const { result, exceptionDetails } = await cdp.send('Runtime.evaluate', {
      expression,
      contextId: world,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async function renew(): Promise<void> {
    code ??= bundled();
    const { frameTree } = await cdp.send('Page.getFrameTree');
    const made = await cdp.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: nextCall() });
    world = made.executionContextId;
    await run(await code);
  }

  async function ask<O extends Op>(
    op: O,
    args: ArgsOf<O>,
    call = nextCall(),
    until: number | null = Date.now() + 60_000,
  ): Promise<Reply<O>> {
    const request = { genkan: 1, call, op, args, ...(until === null ? {} : { until }) };
    const raw = await run(`genkan.answer(${JSON.stringify(request)})`);
    const reply = readReply(op, raw);
    if (reply === undefined)
      throw new Error(`the reply to ${op} breaks the protocol: ${JSON.stringify(raw).slice(0, 500)}`);
    return reply;
  }

  async function get<O extends Op>(op: O, args: ArgsOf<O>): Promise<ResultOf<O>> {
    const reply = await ask(op, args);
    if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`);
    return reply.data;
  }

  const lines = async (args: ArgsOf<'snapshot'> = {}) => (await get('snapshot', args)).lines;

  await renew();
  return {
    page,
    ask,
    get,
    lines,
    renew,
    async refusal(op, args) {
      const reply = await ask(op, args);
      if (reply.ok) throw new Error(`${op} was not refused: ${JSON.stringify(reply.data)}`);
      return reply.error.message;
    },
    async click(target, keys = {}) {
      const { count: _, ...asked } = keys;
      const { token } = await get('probe', { act: 'click', ...target, ...asked });
      return await get('click', { ...keys, token });
    },
    async fill(target, value, how = {}) {
      const { token } = await get('probe', {
        act: 'fill',
        ...target,
        ...(how.submit !== undefined && { submit: how.submit }),
      });
      return await get('fill', { ...how, token, value });
    },
    async refOf(words) {
      const line = (await lines()).find((l) => l.includes(words));
      const ref = /\[(e\d+)\]$/.exec(line ?? '')?.[1];
      if (ref === undefined) throw new Error(`no ref at "${words}"`);
      return ref;
    },
  };
}
