import { describe, expect, test } from 'vitest';
import { INTENT_MS } from '../contract/limits';
import {
  approves,
  type Entry,
  type Intent,
  permissionFor,
  propose,
  type Scope,
  settle,
  stillHeld,
  surplus,
  withEntry,
  withoutSite,
} from './allowlist';

const NOW = 1_000_000;
const entry = (scope: Scope, site: string): Entry => ({ scope, site, since: NOW });
const intentFor = (url: string, scope: Scope = 'exact', tab = 7): Intent => {
  const proposal = propose(tab, url, scope, NOW);
  if (!proposal.ok) throw new Error(proposal.reason);
  return proposal.intent;
};
const all = () => true;
const none = () => false;
const shows = (url: string) => () => url;

describe('approval', () => {
  const entries = [
    entry('exact', 'https://bank.example'),
    entry('pattern', 'https://*.shop.example'),
    entry('session', 'http://127.0.0.1:8080'),
  ];

  test.each([
    'https://bank.example/account?x=1',
    'https://shop.example/',
    'https://eu.shop.example/cart',
    'http://127.0.0.1:8080/',
    'http://127.1:8080/',
  ])('an entry covers %s', (url) => expect(approves(entries, url)).toBe(true));

  test.each([
    'http://bank.example/',
    'https://www.bank.example/',
    'https://bank.example.evil.example/',
    'https://bank.example@evil.example/',
    'https://bank.example:444/',
    'http://eu.shop.example/',
    'http://127.0.0.1/',
    'blob:https://bank.example/0b1e',
    'about:srcdoc',
    '',
  ])('no entry covers %s', (url) => expect(approves(entries, url)).toBe(false));

  test('an empty list approves nothing', () => expect(approves([], 'https://bank.example')).toBe(false));

  test('no entry reaches pages that are out of reach by design', () => {
    const wide = [entry('pattern', 'https://*.google.com'), entry('exact', 'http://genkan.localhost:7000')];
    expect(approves(wide, 'https://chromewebstore.google.com/')).toBe(false);
    expect(approves(wide, 'http://genkan.localhost:7000/')).toBe(false);
  });
});

describe('intents', () => {
  test('t164_a_grant_counts_only_while_the_tab_shows_the_origin_that_was_shown', () => {
    const intents = [intentFor('https://good.example/page')];
    expect(settle(intents, all, shows('https://good.example/other'), NOW).entries).toEqual([
      entry('exact', 'https://good.example'),
    ]);
    for (const moved of [
      'https://evil.example/',
      'http://good.example/',
      'https://good.example:8443/',
      'https://good.example@evil.example/',
      'about:blank',
    ]) {
      expect(settle(intents, all, shows(moved), NOW), moved).toEqual({ entries: [], waiting: [] });
    }
    expect(settle(intents, all, () => undefined, NOW)).toEqual({ entries: [], waiting: [] });
  });

  test('t164_a_pattern_grant_is_bound_to_the_shown_origin_too', () => {
    const intents = [intentFor('https://a.good.example/', 'pattern')];
    expect(settle(intents, all, shows('https://a.good.example/'), NOW).entries).toEqual([
      entry('pattern', 'https://*.good.example'),
    ]);
    expect(settle(intents, all, shows('https://b.good.example/'), NOW).entries).toEqual([]);
  });

  test('a grant without an intent approves nothing', () => {
    expect(settle([], all, shows('https://good.example/'), NOW).entries).toEqual([]);
  });

  test('an intent is worth nothing after its time, nor with a time beyond any real one', () => {
    const intent = intentFor('https://good.example/');
    expect(settle([intent], all, shows('https://good.example/'), NOW + INTENT_MS).entries).toEqual([]);
    const forged = { ...intent, until: NOW + INTENT_MS + 1 };
    expect(settle([forged], all, shows('https://good.example/'), NOW).entries).toEqual([]);
  });

  test('an intent waits for exactly its own permission', () => {
    const intents = [intentFor('https://good.example/'), intentFor('https://other.example/', 'exact', 8)];
    const urlOf = (tab: number) => (tab === 7 ? 'https://good.example/' : 'https://other.example/');
    const result = settle(intents, (p) => p === 'https://good.example/*', urlOf, NOW);
    expect(result.entries).toEqual([entry('exact', 'https://good.example')]);
    expect(result.waiting.map((i) => i.site)).toEqual(['https://other.example']);
    expect(settle(intents, none, urlOf, NOW).waiting).toHaveLength(2);
  });

  test('a forged intent whose site is not the shown one approves nothing', () => {
    const forged: Intent = { ...intentFor('https://good.example/'), site: 'https://bank.example' };
    expect(settle([forged], all, shows('https://good.example/'), NOW).entries).toEqual([]);
    const wide: Intent = { ...intentFor('https://a.github.io/', 'pattern'), site: 'https://*.github.io' };
    expect(settle([wide], all, shows('https://a.github.io/'), NOW).entries).toEqual([]);
  });

  test.each([
    ['chrome://settings', 'exact', 'browser_page'],
    ['http://127.0.0.1:3000', 'pattern', 'no_pattern'],
    ['https://github.io', 'pattern', 'no_pattern'],
    ['https://chromewebstore.google.com', 'exact', 'store'],
  ] as const)('nothing can be proposed for %s as %s', (url, scope, reason) => {
    expect(propose(1, url, scope, NOW)).toEqual({ ok: false, reason });
  });
});

describe('removal', () => {
  test('an entry goes when the browser takes its permission back', () => {
    const entries = [entry('exact', 'https://a.example'), entry('pattern', 'https://*.b.example')];
    expect(stillHeld(entries, (p) => p === 'https://*.b.example/*')).toEqual([entries[1]]);
  });

  test('a permission is given back only when no entry needs it', () => {
    const port = (n: number) => entry('exact', `http://127.0.0.1:${n}`);
    const gone = permissionFor(port(1).site);
    expect(surplus([gone], [port(2)])).toEqual([]);
    expect(surplus([gone, gone], [])).toEqual(['http://127.0.0.1/*']);
  });

  test('a new approval of the same site replaces the old one', () => {
    const list = withEntry([entry('session', 'https://a.example')], entry('exact', 'https://a.example'));
    expect(list).toEqual([entry('exact', 'https://a.example')]);
    expect(withoutSite(list, 'https://a.example')).toEqual([]);
  });
});

test.each([
  ['https://a.example', 'https://a.example/*'],
  ['http://127.0.0.1:8080', 'http://127.0.0.1/*'],
  ['http://[::1]:8080', 'http://[::1]/*'],
  ['https://*.a.example', 'https://*.a.example/*'],
  ['https://*.github.io', ''],
  ['chrome://settings', ''],
])('the permission behind %s is %j', (site, permission) => expect(permissionFor(site)).toBe(permission));
