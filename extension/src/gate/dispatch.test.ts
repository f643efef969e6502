import { describe, expect, test, vi } from 'vitest';
import type { BridgeReq } from '../contract/frames';
import { OPS, type Op } from '../contract/ops';
import type { Entry } from './allowlist';
import type { Answer as Verdict } from './confirm';
import {
  type BrowserRow,
  Gates,
  type Intended,
  type Plan,
  type Rows,
  type Tab,
  type TabRow,
  type World,
} from './dispatch';
import { Refused } from './refused';
import { Turns } from './turns';

const SITE = 'https://good.example';
const caller = { key: 'c1', name: 'Client', image: '/usr/bin/client', verified: false };
const entry: Entry = { scope: 'exact', site: SITE, since: 1 };
const tab: Tab = { id: 7, windowId: 1, url: `${SITE}/page`, title: 'Page', active: true };

const request = (op: string, args: Record<string, unknown> = {}, id = 1): BridgeReq => ({
  id,
  op,
  args,
  caller,
  deadline: 1000,
});
const plain: Intended = { kind: 'plain', origin: SITE };
const submit: Intended = { kind: 'submit', origin: SITE, role: 'button', name: 'Send' };

function setUp(
  over: Partial<World> = {},
  plan: Partial<Plan> = { intended: plain },
  page: TabRow<Op>['page'] = 'approved',
) {
  const act = vi.fn(plan.act ?? (async () => ({ blocks: [{ kind: 'own' as const, text: 'done' }] })));
  const ask = vi.fn(async (): Promise<Verdict> => 'allowed');
  const wanted = vi.fn();
  const world: World = {
    key: () => 'key',
    tab: async () => tab,
    took: async () => undefined,
    opened: async () => false,
    wanted,
    entries: async () => [entry],
    holds: async () => true,
    ask,
    now: () => 1_000_000,
    ...over,
  };
  const onTab: TabRow<Op> = { on: 'tab', page, plan: async () => ({ ...plan, act }) };
  const going: TabRow<'page_navigate'> = { ...onTab, goesTo: ({ url }) => url };
  const alone: BrowserRow<Op> = { on: 'browser', act };
  const rows: Rows = {
    tab_list: { ...alone, reads: true },
    tab_open: { ...alone, goesTo: ({ url }) => url },
    tab_focus: { ...onTab, page: 'any_site' },
    tab_close: { ...onTab, page: 'any_site' },
    page_navigate: going,
    page_back: onTab,
    page_forward: onTab,
    page_reload: onTab,
    page_snapshot: onTab,
    page_click: onTab,
    page_fill: onTab,
    page_text: onTab,
    page_screenshot: onTab,
    page_scroll: onTab,
    page_wait_for: onTab,
  };
  const latch = { pass: vi.fn((): Promise<void> | undefined => undefined), fresh: vi.fn(async () => 1_000_000) };
  const gates = new Gates(world, rows, latch, new Turns(() => () => undefined));
  const controller = new AbortController();
  const progress = vi.fn();
  const serve = (frame: BridgeReq) => gates.serve(frame, controller.signal, progress);
  return { gates, latch, serve, act, ask, wanted, progress, controller };
}

const click = request('page_click', { ref: 'e1' });

/** The code an answer was refused with, or `done`. */
async function codeOf(answer: ReturnType<Gates['serve']>): Promise<string> {
  const settled = await answer;
  return settled.ok ? 'done' : settled.error.code;
}

describe('each gate stops the call before the act', () => {
  test.each([
    ['an unknown operation', {}, request('page_evil'), 'INVALID_ARGUMENT'],
    ['a name that every object has', {}, request('constructor'), 'INVALID_ARGUMENT'],
    ['a missing argument', {}, request('page_click'), 'INVALID_ARGUMENT'],
    ['an unknown argument', {}, request('page_text', { force: true }), 'INVALID_ARGUMENT'],
    ['a null argument', {}, request('page_text', { query: null }), 'INVALID_ARGUMENT'],
    ['a tab that is not there', { tab: () => Promise.reject(new Refused('TAB_NOT_FOUND')) }, click, 'TAB_NOT_FOUND'],
    ['a page of the browser', { tab: async () => ({ ...tab, url: 'chrome://settings/' }) }, click, 'UNSUPPORTED_PAGE'],
    [
      'a page of genkan',
      { tab: async () => ({ ...tab, url: 'http://genkan.localhost:1/' }) },
      click,
      'UNSUPPORTED_PAGE',
    ],
    ['a site not approved', { entries: async () => [] }, click, 'SITE_NOT_ALLOWED'],
    ['an approval of another port', { tab: async () => ({ ...tab, url: `${SITE}:8443/` }) }, click, 'SITE_NOT_ALLOWED'],
    ['a permission that is not held', { holds: async () => false }, click, 'HOST_PERMISSION_MISSING'],
    ['an unapproved destination', {}, request('page_navigate', { url: 'https://evil.example' }), 'SITE_NOT_ALLOWED'],
    ['userinfo before another host', {}, request('tab_open', { url: `${SITE}@evil.example` }), 'SITE_NOT_ALLOWED'],
    ['a destination in the browser', {}, request('tab_open', { url: 'chrome://settings' }), 'UNSUPPORTED_PAGE'],
    ['a destination in a file', {}, request('page_navigate', { url: 'file:///etc/passwd' }), 'UNSUPPORTED_PAGE'],
    [
      'a destination in a store',
      {},
      request('tab_open', { url: 'https://chromewebstore.google.com/' }),
      'UNSUPPORTED_PAGE',
    ],
    [
      'a destination at genkan',
      {},
      request('tab_open', { url: 'http://0123456789abcdef.localhost:1/' }),
      'UNSUPPORTED_PAGE',
    ],
  ] satisfies [string, Partial<World>, BridgeReq, string][])('%s', async (_, over, frame, code) => {
    const { serve, act, ask } = setUp(over);
    expect(await codeOf(serve(frame))).toBe(code);
    expect(act).not.toHaveBeenCalled();
    expect(ask).not.toHaveBeenCalled();
  });

  test('the popup learns which client wanted the site', async () => {
    const { serve, wanted } = setUp({ entries: async () => [] });
    await serve(click);
    expect(wanted).toHaveBeenCalledWith(caller, SITE);
  });

  test('a client may leave a page it opened itself although its site is not approved', async () => {
    const away = { ...tab, url: 'https://elsewhere.example/' };
    const over = { tab: async () => away, opened: async () => true };
    expect(await codeOf(setUp(over, {}, 'approved_or_opened').serve(request('page_back')))).toBe('done');
    expect(
      await codeOf(setUp({ ...over, opened: async () => false }, {}, 'approved_or_opened').serve(request('page_back'))),
    ).toBe('SITE_NOT_ALLOWED');
  });

  test.each([
    'chrome://settings/',
    'chrome-extension://abc/confirm.html',
    'https://chromewebstore.google.com/',
    'http://genkan.localhost:1/',
  ])('T157 %s stays out of reach in a tab the client opened itself', async (url) => {
    const over = { tab: async () => ({ ...tab, url }), opened: async () => true };
    const { serve, act } = setUp(over, {}, 'approved_or_opened');
    expect(await codeOf(serve(request('page_reload')))).toBe('UNSUPPORTED_PAGE');
    expect(await codeOf(serve(request('page_navigate', { url: SITE })))).toBe('UNSUPPORTED_PAGE');
    expect(act).not.toHaveBeenCalled();
  });
});

describe('the person is asked', () => {
  test('a yes to filling a password does not cover filling one and sending it', async () => {
    const fill = request('page_fill', { ref: 'e1', value: 'x' });
    const secret: Intended = { kind: 'credential', origin: SITE };
    const plan: Partial<Plan> = { intended: secret };
    const { serve, ask } = setUp({}, plan);
    await serve(fill);
    await serve(fill);
    expect(ask).toHaveBeenCalledTimes(1);
    const both = setUp({}, { intended: { ...secret, twofold: true } });
    await both.serve(fill);
    await both.serve(fill);
    expect(both.ask).toHaveBeenCalledTimes(2);
  });

  test('T164 an act in a frame whose approval ended while the person was asked is not done', async () => {
    const framed = 'https://frame.example';
    let left: Entry[] = [entry, { ...entry, site: framed }];
    const ask = async (): Promise<Verdict> => {
      left = [entry];
      return 'allowed';
    };
    const { serve, act } = setUp({ entries: async () => left, ask }, { intended: { ...submit, origin: framed } });
    expect(await codeOf(serve(click))).toBe('EXECUTION_FAILED');
    expect(act).not.toHaveBeenCalled();
  });

  test.each([
    ['allowed', 'done', 1],
    ['denied', 'USER_DENIED', 0],
    ['closed', 'USER_DENIED', 0],
    ['timeout', 'CONFIRMATION_TIMEOUT', 0],
    ['void', 'EXECUTION_FAILED', 0],
  ] satisfies [Verdict, string, number][])('%s', async (verdict, code, acts) => {
    const { serve, act, progress } = setUp({ ask: async () => verdict }, { intended: submit });
    expect(await codeOf(serve(click))).toBe(code);
    expect(act).toHaveBeenCalledTimes(acts);
    expect(progress).toHaveBeenCalledWith('confirming');
  });

  test('a plain act asks nobody, an every-call act always', async () => {
    const { serve, ask } = setUp({}, { intended: plain });
    await serve(click);
    expect(ask).not.toHaveBeenCalled();
    await serve(request('tab_close', { tabId: 7 }));
    await serve(request('tab_close', { tabId: 7 }));
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test('a waived act asks nobody', async () => {
    const { serve, ask, act } = setUp({}, { intended: { kind: 'close_tab', origin: SITE }, waived: true });
    expect(await codeOf(serve(request('tab_close', { tabId: 7 })))).toBe('done');
    expect(ask).not.toHaveBeenCalled();
    expect(act).toHaveBeenCalledTimes(1);
  });

  test('an act whose plan does not say what it is never happens where a yes may be needed', async () => {
    vi.spyOn(console, 'error').mockReturnValue();
    const { serve, act } = setUp({}, {});
    expect(await codeOf(serve(click))).toBe('INTERNAL_ERROR');
    expect(act).not.toHaveBeenCalled();
  });

  test('an approval is void once the page shows another site', async () => {
    let now = tab;
    const ask = async (): Promise<Verdict> => {
      now = { ...tab, url: 'https://evil.example/' };
      return 'allowed';
    };
    const { serve, act } = setUp({ tab: async () => now, ask }, { intended: submit });
    expect(await codeOf(serve(click))).toBe('EXECUTION_FAILED');
    expect(act).not.toHaveBeenCalled();
  });

  test('an approval does not outlive the site’s own approval', async () => {
    let entries = [entry];
    const ask = async (): Promise<Verdict> => {
      entries = [];
      return 'allowed';
    };
    const { serve, act } = setUp({ entries: async () => entries, ask }, { intended: submit });
    expect(await codeOf(serve(click))).toBe('SITE_NOT_ALLOWED');
    expect(act).not.toHaveBeenCalled();
  });

  test('one yes covers the same kind of act for a while, until the tab shows another site', async () => {
    const { serve, ask, gates } = setUp({}, { intended: submit });
    await serve(click);
    await serve(click);
    expect(ask).toHaveBeenCalledTimes(1);
    gates.moved(tab.id, 'https://elsewhere.example/');
    await serve(click);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test('a yes whose act led to another site covers nothing there, nor back here', async () => {
    let now = tab;
    const act = async () => {
      now = { ...tab, url: 'https://elsewhere.example/' };
      return { blocks: [{ kind: 'own' as const, text: 'done' }] };
    };
    const { serve, ask } = setUp({ tab: async () => now }, { intended: submit, act });
    await serve(click);
    now = tab;
    await serve(click);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test('a yes for an act that then could not be done covers nothing', async () => {
    const act = async () => {
      throw new Refused('EXECUTION_FAILED');
    };
    const { serve, ask } = setUp({}, { intended: submit, act });
    expect(await codeOf(serve(click))).toBe('EXECUTION_FAILED');
    await serve(click);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test.each([
    'chrome://settings',
    'http://genkan.localhost:1/',
    'https://chromewebstore.google.com/x',
    'chrome-extension://abc/x',
  ])('a click that leads to %s is refused unasked', async (destination) => {
    const { serve, ask, act } = setUp({}, { intended: { ...submit, kind: 'link', destination } });
    expect(await codeOf(serve(click))).toBe('UNSUPPORTED_PAGE');
    expect(ask).not.toHaveBeenCalled();
    expect(act).not.toHaveBeenCalled();
  });
});

describe('a call that ends', () => {
  test('while the person is asked does nothing and answers with its reason', async () => {
    const asked = Promise.withResolvers<Verdict>();
    const { serve, act, controller } = setUp({ ask: () => asked.promise }, { intended: submit });
    const answer = serve(click);
    controller.abort(new Refused('CANCELLED'));
    expect(await codeOf(answer)).toBe('CANCELLED');
    asked.resolve('allowed');
    await new Promise((resume) => setTimeout(resume));
    expect(act).not.toHaveBeenCalled();
  });

  test('during the act is answered at once, whatever the act does', async () => {
    const { serve, controller } = setUp({}, { intended: plain, act: () => new Promise(() => undefined) });
    const answer = serve(click);
    controller.abort(new Refused('RESPONSE_TIMEOUT'));
    expect(await codeOf(answer)).toBe('RESPONSE_TIMEOUT');
  });
});

describe('what leaves', () => {
  const secret = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';

  test('passes the one egress, results and refusals alike', async () => {
    const result = setUp(
      {},
      { intended: plain, act: async () => ({ blocks: [{ kind: 'page', origin: SITE, text: secret }] }) },
    );
    expect(JSON.stringify(await result.serve(click))).not.toContain(secret);
    const refused = setUp(
      {},
      { intended: plain, act: () => Promise.reject(new Refused('EXECUTION_FAILED', `covered by ${secret}`)) },
    );
    expect(JSON.stringify(await refused.serve(click))).not.toContain(secret);
  });

  test('never carries the text of an error that is not ours', async () => {
    const log = vi.spyOn(console, 'error').mockReturnValue();
    const { serve } = setUp(
      {},
      { intended: plain, act: () => Promise.reject(new Error('Cannot access https://mail.example/secret')) },
    );
    const answer = await serve(click);
    expect(JSON.stringify(answer)).not.toContain('mail.example');
    expect(answer).toMatchObject({ ok: false, error: { code: 'INTERNAL_ERROR' } });
    expect(log).toHaveBeenCalled();
  });
});

test('every operation of the catalogue passes these gates', async () => {
  const args: Record<string, Record<string, unknown>> = {
    tab_focus: { tabId: 7 },
    tab_open: { url: SITE },
    tab_close: { tabId: 7 },
    page_navigate: { url: SITE },
    page_click: { ref: 'e1' },
    page_fill: { ref: 'e1', value: '' },
    page_scroll: { direction: 'up' },
    page_wait_for: { nav: true },
  };
  for (const { name } of OPS) {
    const { serve, act } = setUp({}, { intended: plain });
    expect(await codeOf(serve(request(name, args[name] ?? {}))), name).toBe('done');
    expect(act, name).toHaveBeenCalledTimes(1);
  }
});

describe('the kill switch comes first', () => {
  const killed = () => {
    throw new Refused('BRIDGE_KILLED');
  };

  test('while it is on nothing is even looked at, not the operation and not a tab', async () => {
    const looked = vi.fn(async () => tab);
    const { serve, latch, act, ask } = setUp({ tab: looked }, { intended: submit });
    latch.pass.mockImplementation(killed);
    expect(await codeOf(serve(click))).toBe('BRIDGE_KILLED');
    expect(await codeOf(serve(request('page_evil')))).toBe('BRIDGE_KILLED');
    for (const spy of [looked, act, ask]) expect(spy).not.toHaveBeenCalled();
  });

  test('a call waits until it is known, and a call that ended meanwhile does not go on', async () => {
    const { serve, latch, act, controller } = setUp();
    const told = Promise.withResolvers<void>();
    latch.pass.mockReturnValue(told.promise);
    const answer = serve(click);
    controller.abort(new Refused('BRIDGE_KILLED'));
    told.resolve();
    expect(await codeOf(answer)).toBe('BRIDGE_KILLED');
    expect(act).not.toHaveBeenCalled();
  });

  test('T072 engaged while the person is asked, the act does not happen, and their yes covers nothing later', async () => {
    const { gates, serve, act, ask, controller } = setUp({}, { intended: submit });
    ask.mockImplementation(async () => {
      controller.abort(new Refused('BRIDGE_KILLED'));
      gates.stopped();
      return 'allowed';
    });
    expect(await codeOf(serve(click))).toBe('BRIDGE_KILLED');
    expect(act).not.toHaveBeenCalled();
  });

  test('T072 engaged during an act, its yes covers nothing after a release', async () => {
    const { gates, ask } = setUp();
    expect(ask).not.toHaveBeenCalled();
    const during = setUp(
      {},
      {
        intended: submit,
        act: async () => {
          during.controller.abort(new Refused('BRIDGE_KILLED'));
          gates.stopped();
          return { blocks: [{ kind: 'own', text: 'done' }] };
        },
      },
    );
    expect(await codeOf(during.serve(click))).toBe('BRIDGE_KILLED');
    await new Promise((resume) => setTimeout(resume));
    const later = new AbortController();
    await during.gates.serve(click, later.signal, () => undefined);
    expect(during.ask).toHaveBeenCalledTimes(2);
  });

  test('an act asks the host right before it happens, after the person said yes; a reading does not', async () => {
    const order: string[] = [];
    const ask = async (): Promise<Verdict> => {
      order.push('yes');
      return 'allowed';
    };
    const act = async () => {
      order.push('act');
      return { blocks: [{ kind: 'own' as const, text: 'done' }] };
    };
    const { serve, latch } = setUp({ ask }, { intended: submit, act });
    latch.fresh.mockImplementation(async () => {
      order.push('asked');
      return 1_000_000;
    });
    expect(await codeOf(serve(click))).toBe('done');
    expect(await codeOf(serve(request('tab_open', { url: SITE })))).toBe('done');
    expect(await codeOf(serve(request('tab_list')))).toBe('done');
    expect(order).toEqual(['yes', 'asked', 'act', 'asked', 'act', 'act']);
  });

  test.each([click, request('tab_open', { url: SITE })])(
    'an act whose question the host answers with a stop does not happen',
    async (frame) => {
      const { serve, latch, act } = setUp();
      latch.fresh.mockImplementation(killed);
      expect(await codeOf(serve(frame))).toBe('BRIDGE_KILLED');
      expect(act).not.toHaveBeenCalled();
    },
  );

  test('a yes from before it does not cover an act after a release', async () => {
    const { gates, serve, ask } = setUp({}, { intended: submit });
    await serve(click);
    await serve(click);
    expect(ask).toHaveBeenCalledTimes(1);
    gates.stopped();
    await serve(click);
    expect(ask).toHaveBeenCalledTimes(2);
  });
});

describe('two clients on one tab', () => {
  const other = { ...click, id: 2, caller: { ...caller, key: 'c2', name: 'Other' } };

  test('the second acts after the first, and looks at the tab anew', async () => {
    const first = Promise.withResolvers<void>();
    const looked = vi.fn(async () => tab);
    const { gates, serve, act } = setUp(
      { tab: looked },
      {
        intended: plain,
        act: vi.fn(() => first.promise.then(() => ({ blocks: [{ kind: 'own' as const, text: 'done' }] }))),
      },
    );
    const one = serve(click);
    const two = gates.serve(other, new AbortController().signal, () => undefined);
    await new Promise((resume) => setTimeout(resume));
    expect(act).toHaveBeenCalledTimes(1);
    const before = looked.mock.calls.length;
    first.resolve();
    expect(await codeOf(one)).toBe('done');
    expect(await codeOf(two)).toBe('done');
    expect(act).toHaveBeenCalledTimes(2);
    expect(looked.mock.calls.length).toBeGreaterThan(before);
  });

  test('the second is judged by what the tab shows when its turn comes', async () => {
    const first = Promise.withResolvers<void>();
    let shown = tab;
    const { gates, serve, act } = setUp(
      { tab: async () => shown },
      {
        intended: plain,
        act: vi.fn(() => first.promise.then(() => ({ blocks: [{ kind: 'own' as const, text: 'done' }] }))),
      },
    );
    const one = serve(click);
    const two = gates.serve(other, new AbortController().signal, () => undefined);
    await new Promise((resume) => setTimeout(resume));
    shown = { ...tab, url: 'https://evil.example/' };
    first.resolve();
    await one;
    expect(await codeOf(two)).toBe('SITE_NOT_ALLOWED');
    expect(act).toHaveBeenCalledTimes(1);
  });
});
