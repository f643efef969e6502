import { beforeEach, expect, test, vi } from 'vitest';
import { fakeBrowser } from 'wxt/testing/fake-browser';

const SITE = 'https://good.example';
const PERMISSION = `${SITE}/*`;
const NOW = Date.now();

/** What the browser would know: granted patterns and what tabs show. */
const browser = { granted: new Set<string>(), tabs: new Map<number, string>(), added: () => {}, removed: () => {} };

const area = (name: 'local' | 'session') =>
  Object.assign(fakeBrowser.storage[name], { setAccessLevel: async () => undefined });

vi.stubGlobal('chrome', {
  runtime: fakeBrowser.runtime,
  storage: { local: area('local'), session: area('session'), onChanged: fakeBrowser.storage.onChanged },
  permissions: {
    contains: async ({ origins }: { origins: string[] }) => origins.every((each) => browser.granted.has(each)),
    remove: async ({ origins }: { origins: string[] }) => {
      for (const each of origins) browser.granted.delete(each);
      return true;
    },
    onAdded: {
      addListener: (hear: () => void) => {
        browser.added = hear;
      },
    },
    onRemoved: {
      addListener: (hear: () => void) => {
        browser.removed = hear;
      },
    },
  },
  tabs: {
    get: async (id: number) => {
      const url = browser.tabs.get(id);
      if (url === undefined) throw new Error('No tab with id');
      return { id, windowId: 1, url, title: '', active: true };
    },
  },
});

type Sites = typeof import('./sites');
let sites: Sites;

/** A worker that just started: memory of its own, the same storage. */
async function worker(): Promise<Sites> {
  vi.resetModules();
  const started = await import('./sites');
  started.watchPermissions(() => undefined);
  await started.beginSession();
  return started;
}

const approved = async () => (await sites.entries()).map(({ scope, site }) => `${scope} ${site}`);
const rest = () => new Promise((resume) => setTimeout(resume, 20));

beforeEach(async () => {
  fakeBrowser.reset();
  browser.granted.clear();
  browser.tabs.clear();
  browser.tabs.set(1, `${SITE}/page`);
  sites = await worker();
});

test('a wish for a site whose permission is held is an approval at once', async () => {
  browser.granted.add(PERMISSION);
  expect(await sites.intend(1, SITE, 'exact', NOW)).toEqual({ ok: true, permission: PERMISSION, settled: true });
  expect(await approved()).toEqual([`exact ${SITE}`]);
});

test('a wish waits for the browser’s own permission, across a worker’s death', async () => {
  expect(await sites.intend(1, SITE, 'exact', NOW)).toMatchObject({ ok: true, settled: false });
  expect(await approved()).toEqual([]);
  sites = await worker();
  browser.granted.add(PERMISSION);
  browser.added();
  await rest();
  expect(await approved()).toEqual([`exact ${SITE}`]);
});

test('a permission that nobody wished for approves nothing', async () => {
  browser.granted.add(PERMISSION).add('<all_urls>');
  browser.added();
  await rest();
  expect(await approved()).toEqual([]);
});

test('a wish that the browser’s prompt refused is not granted by the prompt for another wish', async () => {
  const other = 'http://other.example:8080';
  await sites.intend(1, SITE, 'exact', NOW);
  browser.tabs.set(2, `${other}/`);
  await sites.intend(2, other, 'exact', NOW);
  // As if the person had said yes to all sites, or to the same host on another port.
  browser.granted.add(PERMISSION).add('http://other.example/*');
  browser.added();
  await rest();
  expect(await approved()).toEqual([`exact ${other}`]);
});

test('a wish that the browser’s prompt refused is not granted by switching pictures on', async () => {
  await sites.intend(1, SITE, 'exact', NOW);
  await sites.forgetWishes();
  browser.granted.add(PERMISSION);
  browser.added();
  await rest();
  expect(await approved()).toEqual([]);
});

test('t164_a_tab_that_moved_before_the_permission_came_approves_neither_site', async () => {
  await sites.intend(1, SITE, 'exact', NOW);
  browser.tabs.set(1, 'https://evil.example/');
  browser.granted.add(PERMISSION).add('https://evil.example/*');
  browser.added();
  await rest();
  expect(await approved()).toEqual([]);
});

test('t164_a_tab_that_moved_before_the_click_is_refused', async () => {
  browser.tabs.set(1, 'https://evil.example/');
  expect(await sites.intend(1, SITE, 'exact', NOW)).toEqual({ ok: false, reason: 'moved' });
});

test('an approval goes with its permission, while the worker runs and while it sleeps', async () => {
  browser.granted.add(PERMISSION);
  await sites.intend(1, SITE, 'exact', NOW);
  browser.granted.clear();
  browser.removed();
  await rest();
  expect(await approved()).toEqual([]);
  browser.granted.add(PERMISSION);
  await sites.intend(1, SITE, 'exact', NOW);
  browser.granted.clear();
  sites = await worker();
  expect(await approved()).toEqual([]);
});

test('an approval for the session ends with it, and its permission is given back', async () => {
  browser.granted.add(PERMISSION);
  await sites.intend(1, SITE, 'session', NOW);
  sites = await worker();
  expect(await approved()).toEqual([`session ${SITE}`]);
  await fakeBrowser.storage.session.clear();
  sites = await worker();
  expect(await approved()).toEqual([]);
  expect([...browser.granted]).toEqual([]);
});

test('what the person takes away is gone, wish and approval and permission', async () => {
  browser.granted.add(PERMISSION);
  await sites.intend(1, SITE, 'exact', NOW);
  await sites.deny(SITE);
  expect(await approved()).toEqual([]);
  expect([...browser.granted]).toEqual([]);
  await sites.intend(1, SITE, 'exact', NOW);
  await sites.deny(SITE);
  browser.granted.add(PERMISSION);
  browser.added();
  await rest();
  expect(await approved()).toEqual([]);
});

test.each([
  ['text', 'everything'],
  ['an entry of another shape', [{ scope: 'exact', site: SITE, since: 1, all: true }]],
  ['a scope that nobody knows', [{ scope: 'everywhere', site: SITE, since: 1 }]],
  ['a newer record', { version: 9, entries: [{ scope: 'exact', site: SITE, since: 1 }] }],
])('t132_stored_sites_that_are_%s_approve_nothing', async (_, stored) => {
  browser.granted.add(PERMISSION);
  await fakeBrowser.storage.local.set({ sites: stored });
  sites = await worker();
  expect(await approved()).toEqual([]);
});

test('t132_a_full_storage_refuses_the_wish', async () => {
  browser.granted.add(PERMISSION);
  vi.spyOn(fakeBrowser.storage.session, 'set').mockRejectedValueOnce(new Error('QUOTA_BYTES quota exceeded'));
  await expect(sites.intend(1, SITE, 'exact', NOW)).rejects.toThrow('quota');
  expect(await approved()).toEqual([]);
});
