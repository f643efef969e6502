import fc from 'fast-check';
import { expect, test } from 'vitest';
import { classify, type WebSite } from './origin';
import { covers, patternFor, patternOf } from './pattern';

const web = (text: string): WebSite => {
  const site = classify(text);
  if (site.kind !== 'web') throw new Error(`${text} is ${site.reason}`);
  return site;
};
const read = (text: string) => {
  const result = patternOf(text);
  return result.ok ? result.text : result.fault;
};

test.each([
  ['https://*.co.uk', 'suffix'],
  ['https://*.github.io', 'suffix'],
  ['https://*.com', 'suffix'],
  ['https://*.s3.amazonaws.com', 'suffix'],
  ['https://*.uk', 'suffix'],
  ['https://*.ck', 'suffix'],
  ['https://*.intranet', 'suffix'],
  ['https://*.公司.cn', 'suffix'],
  ['http://*.127.0.0.1', 'shape'],
  ['http://*.0x7f000001', 'address'],
  ['http://*.1', 'address'],
  ['http://*.localhost', 'local'],
  ['http://*.app.localhost', 'local'],
  ['http://*.LOCALHOST', 'local'],
])('t161_patterns_over_suffixes_addresses_and_localhost_are_refused: %s', (text, fault) => {
  expect(patternOf(text).ok).toBe(false);
  if (fault !== 'shape') expect(read(text)).toBe(fault);
});

test.each([
  'https://*',
  '*://*.example.com',
  'https://*.*.example.com',
  'https://a.*.example.com',
  'https://*example.com',
  'https://example.com',
  'https://*.example.com/path',
  'https://*.example.com:8443',
  'https://*.user@example.com',
  'https://*.example.com.',
  'https://*.example%2ecom',
  'https://*..com',
  'https://*.exam ple.com',
  'https://*.exam\tple.com',
  'https://*.[::1]',
  '<all_urls>',
  '',
])('a pattern has one shape and nothing else: %s', (text) => {
  expect(patternOf(text).ok).toBe(false);
});

test('a pattern is stored in canonical spelling', () => {
  expect(read('HTTPS://*.Bücher.Example.COM')).toBe('https://*.xn--bcher-kva.example.com');
});

test('a pattern covers its base and names below it, on its scheme and the default port only', () => {
  const pattern = 'https://*.example.co.uk';
  for (const yes of ['https://example.co.uk', 'https://a.example.co.uk/x', 'https://a.b.example.co.uk:443']) {
    expect(covers(pattern, web(yes)), yes).toBe(true);
  }
  for (const no of [
    'http://a.example.co.uk',
    'https://a.example.co.uk:8443',
    'https://evil-example.co.uk',
    'https://example.co.uk.evil.com',
    'https://a.example.co.uk.',
    'https://other.co.uk',
  ]) {
    expect(covers(pattern, web(no)), no).toBe(false);
  }
});

test('a stored pattern that would be refused today covers nothing', () => {
  expect(covers('https://*.github.io', web('https://someone.github.io'))).toBe(false);
  expect(covers('http://*.localhost', web('http://app.localhost'))).toBe(false);
});

test.each([
  ['https://mail.shop.example.co.uk/inbox', 'https://*.example.co.uk'],
  ['https://someone.github.io', 'https://*.someone.github.io'],
  ['https://github.io', null],
  ['http://127.0.0.1', null],
  ['http://[::1]', null],
  ['http://localhost', null],
  ['https://a.example.com:8443', null],
])('the pattern offered for a site is its registrable domain: %s', (text, expected) => {
  expect(patternFor(web(text))).toBe(expected);
});

test('whatever is offered is valid and covers the site it was offered for', () => {
  fc.assert(
    fc.property(fc.webUrl(), (text) => {
      const site = classify(text);
      if (site.kind !== 'web') return;
      const pattern = patternFor(site);
      if (pattern === null) return;
      expect(patternOf(pattern).ok).toBe(true);
      expect(covers(pattern, site)).toBe(true);
    }),
  );
});
