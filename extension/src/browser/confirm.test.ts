import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CONFIRM_CLICK_MS, CONFIRM_QUEUE_MAX } from '../contract/limits';
import { CONFIRM_PORT } from '../ui/messages';

/*
 * The browser's side, as far as this module sees it: events that the tests fire, and calls that they count. What the
 * real browser does with windows, focus and input is shown in e2e.
 */
class Event<A extends unknown[]> {
  readonly heard: ((...args: A) => void)[] = [];
  addListener = (hear: (...args: A) => void) => void this.heard.push(hear);
  fire(...args: A): void {
    for (const hear of this.heard) hear(...args);
  }
}

type Sender = { id?: string; url?: string; tab?: { id: number }; frameId?: number };

class Port {
  readonly name: string;
  readonly sender: Sender;
  readonly onMessage = new Event<[unknown]>();
  readonly onDisconnect = new Event<[]>();
  readonly told: { hear: string; question?: { origin: string } }[] = [];
  open = true;

  constructor(sender: Sender, name = CONFIRM_PORT) {
    this.sender = sender;
    this.name = name;
  }

  postMessage = (message: (typeof this.told)[number]) => void this.told.push(message);
  disconnect = () => {
    this.open = false;
  };
}

const OURS = 'chrome-extension://ours/confirm.html';

function fakeBrowser() {
  const windows = new Map<number, { url: string; tab: number }>();
  let next = 100;
  return {
    windows,
    onConnect: new Event<[Port]>(),
    windowGone: new Event<[number]>(),
    tabGone: new Event<[number]>(),
    tabUpdated: new Event<[number, { url?: string }]>(),
    create: async ({ url }: { url: string }) => {
      next += 2;
      windows.set(next, { url, tab: next + 1 });
      return { id: next, tabs: [{ id: next + 1 }] };
    },
    remove: async (id: number) => void windows.delete(id),
  };
}

let browser: ReturnType<typeof fakeBrowser>;
let confirm: typeof import('./confirm');

beforeEach(async () => {
  vi.useFakeTimers();
  browser = fakeBrowser();
  vi.stubGlobal('chrome', {
    runtime: { id: 'ours', getURL: (path: string) => `chrome-extension://ours${path}`, onConnect: browser.onConnect },
    windows: {
      create: browser.create,
      remove: browser.remove,
      update: async () => undefined,
      get: async () => ({ state: 'normal' }),
      onRemoved: browser.windowGone,
    },
    tabs: {
      get: async (id: number) => ({ id, windowId: 1, url: 'https://shop.example/cart' }),
      onRemoved: browser.tabGone,
      onUpdated: browser.tabUpdated,
    },
    scripting: { executeScript: async () => [] },
  });
  vi.resetModules();
  confirm = await import('./confirm');
  confirm.watchConfirmations(
    async () => ({ language: 'auto', theme: 'auto' }),
    () => {},
  );
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const settle = () => vi.advanceTimersByTimeAsync(0);

function ask(name = 'client', signal = new AbortController().signal) {
  const caller = { key: name, name, image: '/usr/bin/client', verified: false };
  const intended = { kind: 'submit' as const, origin: `https://${name}.example`, role: 'button', name: 'Send' };
  return confirm.askPerson({ op: 'page_click', caller, tab: { id: 7, windowId: 1 }, intended }, signal);
}

/** The open window, and what its page would connect with. */
function opened() {
  const [window, { url, tab }] = [...browser.windows.entries()].at(-1) ?? [0, { url: '', tab: 0 }];
  return {
    window,
    tab,
    id: new URL(url).searchParams.get('id') ?? '',
    sender: { id: 'ours', url, tab: { id: tab }, frameId: 0 },
  };
}

async function connect(sender: Sender, ...says: unknown[]): Promise<Port> {
  const port = new Port(sender);
  browser.onConnect.fire(port);
  for (const message of says) port.onMessage.fire(message);
  await settle();
  return port;
}

test('the window is told the question and its answer is taken', async () => {
  const answer = ask();
  await settle();
  const { id, sender } = opened();
  const port = await connect(sender, { say: 'ready', id });
  expect(port.told[0]?.question?.origin).toBe('https://client.example');
  port.onMessage.fire({ say: 'allowed', id });
  expect(await answer).toBe('allowed');
  expect(browser.windows.size).toBe(0);
});

describe('t126_t127_t128_only_the_window_that_was_opened_can_answer', () => {
  const forgeries: [string, (real: Sender) => Sender][] = [
    ['a content script', (real) => ({ ...real, url: 'https://shop.example/cart', tab: { id: 7 } })],
    ['a content script in the very same tab', (real) => ({ ...real, url: 'https://shop.example/confirm.html' })],
    ['another extension', (real) => ({ ...real, id: 'theirs' })],
    ['a page of another extension', (real) => ({ ...real, url: 'chrome-extension://theirs/confirm.html' })],
    ['our page in another tab', (real) => ({ ...real, tab: { id: 7 } })],
    ['our page without a tab', ({ tab: _, ...real }) => real],
    ['our page in a frame', (real) => ({ ...real, frameId: 3 })],
    ['another page of ours in that tab', (real) => ({ ...real, url: 'chrome-extension://ours/options.html' })],
    ['an address that only begins like ours', (real) => ({ ...real, url: `${OURS}.evil/?id=1` })],
  ];
  test.each(forgeries)('%s', async (_, forge) => {
    const answer = ask();
    await settle();
    const { id, sender, window } = opened();
    const port = await connect(forge(sender), { say: 'ready', id }, { say: 'allowed', id });
    expect(port.told).toEqual([{ hear: 'over' }]);
    expect(port.open).toBe(false);
    browser.windowGone.fire(window);
    expect(await answer).toBe('closed');
  });

  test.each([
    ['a yes to another question', (id: string) => ({ say: 'allowed', id: `${id}0` })],
    ['a yes without a question', () => ({ say: 'allowed' })],
    ['a yes with more in it', (id: string) => ({ say: 'allowed', id, really: true })],
    ['another word', (id: string) => ({ say: 'yes', id })],
    ['no message at all', () => null],
  ])('%s is no yes', async (_, message) => {
    const answer = ask();
    await settle();
    const { id, sender, window } = opened();
    const port = await connect(sender, { say: 'ready', id }, message(id));
    expect(port.told.map(({ hear }) => hear)).toContain('over');
    browser.windowGone.fire(window);
    expect(await answer).toBe('closed');
  });

  test('a connection while nothing is asked is closed unheard', async () => {
    const port = await connect(
      { id: 'ours', url: `${OURS}?id=1`, tab: { id: 9 }, frameId: 0 },
      { say: 'allowed', id: '1' },
    );
    expect(port.told).toEqual([{ hear: 'over' }]);
    expect(port.open).toBe(false);
  });
});

describe('t148_every_other_end_is_a_no', () => {
  test('nobody answers', async () => {
    const answer = ask();
    await vi.advanceTimersByTimeAsync(CONFIRM_CLICK_MS + 1_000);
    expect(await answer).toBe('timeout');
    expect(browser.windows.size).toBe(0);
  });

  test('the window is closed, or its page goes away', async () => {
    const first = ask();
    await settle();
    browser.windowGone.fire(opened().window);
    expect(await first).toBe('closed');
    const second = ask();
    await settle();
    const { id, sender } = opened();
    (await connect(sender, { say: 'ready', id })).onDisconnect.fire();
    expect(await second).toBe('closed');
  });

  test('the acting tab closes or shows another site', async () => {
    const first = ask();
    await settle();
    browser.tabGone.fire(7);
    expect(await first).toBe('void');
    const second = ask();
    await settle();
    browser.tabUpdated.fire(7, { url: 'https://shop.example/next' });
    browser.tabUpdated.fire(8, { url: 'https://evil.example/' });
    expect(browser.windows.size).toBe(1);
    browser.tabUpdated.fire(7, { url: 'https://evil.example/' });
    expect(await second).toBe('void');
  });

  test('the call is cancelled', async () => {
    const call = new AbortController();
    const answer = ask('client', call.signal);
    await settle();
    call.abort();
    expect(await answer).toBe('closed');
    expect(browser.windows.size).toBe(0);
  });

  test('the browser opens no window', async () => {
    browser.create = async () => Promise.reject(new Error('no'));
    vi.stubGlobal('chrome', { ...chrome, windows: { ...chrome.windows, create: browser.create } });
    expect(await ask()).toBe('closed');
  });
});

describe('t147_questions_are_bounded_and_do_not_mix', () => {
  test('one window at a time, and what is too much is denied at once', async () => {
    const answers = Array.from({ length: 100 }, (_, i) => ask(`c${i}`));
    await settle();
    expect(browser.windows.size).toBe(1);
    expect(confirm.confirming()).toBe(CONFIRM_QUEUE_MAX);
    const late = await Promise.all(answers.slice(CONFIRM_QUEUE_MAX));
    expect(new Set(late)).toEqual(new Set(['denied']));
    for (let i = 0; i < CONFIRM_QUEUE_MAX; i++) {
      const { id, sender } = opened();
      const port = await connect(sender, { say: 'ready', id });
      expect(port.told[0]?.question?.origin).toBe(`https://c${i}.example`);
      port.onMessage.fire({ say: i % 2 === 0 ? 'allowed' : 'denied', id });
      await settle();
      expect(await answers[i]).toBe(i % 2 === 0 ? 'allowed' : 'denied');
    }
    expect(confirm.confirming()).toBe(0);
  });

  test('a yes that comes late counts for no later question', async () => {
    const first = ask('first');
    await settle();
    const { id, sender, window } = opened();
    const port = await connect(sender, { say: 'ready', id });
    browser.windowGone.fire(window);
    await first;
    const second = ask('second');
    await settle();
    port.onMessage.fire({ say: 'allowed', id });
    port.onMessage.fire({ say: 'allowed', id: opened().id });
    await settle();
    expect(browser.windows.size).toBe(1);
    browser.windowGone.fire(opened().window);
    expect(await second).toBe('closed');
  });
});
