import { describe, expect, test } from 'vitest';
import { classify, originShown } from './origin';

const origin = (text: string) => {
  const site = classify(text);
  return site.kind === 'web' ? site.origin : site.reason;
};

describe('the host that the browser would contact decides', () => {
  test.each([
    ['https://good.example@evil.example/', 'https://evil.example'],
    ['https://good.example:pw@evil.example/', 'https://evil.example'],
    ['https://good.example%40evil.example/', 'malformed'],
    ['https://good.example\\@evil.example/', 'https://good.example'],
    ['https:\\\\evil.example\\@good.example', 'https://evil.example'],
    ['https://evil.example\t.good.example/', 'https://evil.example.good.example'],
    ['ht\ntps://ev\r\nil.example/', 'https://evil.example'],
    ['https://good.example%2f.evil.example/', 'malformed'],
    ['https://good.example%2eevil.example/', 'https://good.example.evil.example'],
    ['https://good.example%00.evil.example/', 'malformed'],
    ['https:evil.example', 'https://evil.example'],
    ['https:///evil.example', 'https://evil.example'],
    ['  https://good.example  ', 'https://good.example'],
  ])('t156_userinfo_backslash_tab_and_encoding_never_hide_the_host: %j', (text, expected) => {
    expect(origin(text)).toBe(expected);
  });

  test.each([
    ['data:text/html,<h1>x', 'no_origin'],
    ['blob:https://good.example/1b4e28ba-2fa1-11d2-883f-0016d3cca427', 'no_origin'],
    ['filesystem:https://good.example/temporary/x', 'no_origin'],
    ['javascript:alert(1)//https://good.example', 'no_origin'],
    ['file:///etc/passwd', 'no_origin'],
    ['file://good.example/share', 'no_origin'],
    ['view-source:https://good.example/', 'no_origin'],
    ['about:blank', 'no_origin'],
    ['about:srcdoc', 'no_origin'],
    ['ftp://good.example/', 'no_origin'],
    ['wss://good.example/', 'no_origin'],
    ['chrome://settings/', 'browser_page'],
    ['edge://settings/', 'browser_page'],
    ['devtools://devtools/bundled/inspector.html', 'browser_page'],
    ['chrome-extension://abcdefghijklmnopabcdefghijklmnop/confirm.html', 'extension_page'],
    ['https://*.good.example/', 'malformed'],
    ['https://go!od.example/', 'malformed'],
    ["https://good'.example/", 'malformed'],
    ['', 'malformed'],
    ['good.example', 'malformed'],
    ['//good.example', 'malformed'],
  ])('t157_schemes_without_a_site_of_their_own_are_refused: %s', (text, reason) => {
    expect(origin(text)).toBe(reason);
  });

  test.each([
    ['https://good.example.evil.example/'],
    ['https://evil-good.example/'],
    ['https://good.example./'],
    ['http://good.example/'],
    ['https://good.example:8443/'],
    ['https://good.exampl/e'],
    ['https://good.example.evil/'],
  ])('t158_lookalikes_are_other_origins: %s', (text) => {
    expect(origin(text)).not.toBe('https://good.example');
  });

  test.each([['https://GOOD.Example/'], ['HTTPS://good.example:443/x?y#z'], ['https://good.example:0443/']])(
    't158_case_and_default_port_are_the_same_origin: %s',
    (text) => {
      expect(origin(text)).toBe('https://good.example');
    },
  );

  test.each([
    ['https://gооd.example/', 'https://xn--gd-fmca.example'],
    ['https://аррӏе.com/', 'https://xn--80ak6aa92e.com'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example'],
    ['https://good\u3002example/', 'https://good.example'],
    ['https://good\uff0eexample/', 'https://good.example'],
    ['https://good\uff61example/', 'https://good.example'],
    ['https://\uff47ood.example/', 'https://good.example'],
    ['https://go\u200bod.example/', 'https://good.example'],
    ['https://go\u00adod.example/', 'https://good.example'],
    ['https://faß.example/', 'https://xn--fa-hia.example'],
  ])('t159_names_are_compared_and_shown_as_a_labels: %s', (text, expected) => {
    expect(origin(text)).toBe(expected);
    expect(originShown(text)).toMatch(/^[\x21-\x7e]+$/);
  });

  test.each([
    ['http://0x7f.1/', 'http://127.0.0.1'],
    ['http://127.1/', 'http://127.0.0.1'],
    ['http://0177.0.0.01/', 'http://127.0.0.1'],
    ['http://2130706433/', 'http://127.0.0.1'],
    ['http://127.0.0.1./', 'http://127.0.0.1'],
    ['http://127.0.0.1/', 'http://127.0.0.1'],
    ['http://[::ffff:127.0.0.1]/', 'http://[::ffff:7f00:1]'],
    ['http://[0:0::1]/', 'http://[::1]'],
    ['http://[fe80::1%25eth0]/', 'malformed'],
    ['http://256.1.1.1/', 'malformed'],
    ['http://0.0.0.0/', 'http://0.0.0.0'],
  ])('t160_the_canonical_address_decides: %s', (text, expected) => {
    expect(origin(text)).toBe(expected);
  });
});

describe('pages that are out of reach by design', () => {
  test.each([
    'https://chromewebstore.google.com/detail/x',
    'https://chromewebstore.google.com./detail/x',
    'http://CHROMEWEBSTORE.google.com/',
    'https://chrome.google.com/webstore/detail/x',
    'https://chrome.google.com//%77ebstore',
    'https://microsoftedge.microsoft.com/addons/detail/x',
    'https://addons.opera.com/en/',
  ])('stores are refused however they are spelled: %s', (text) => {
    expect(origin(text)).toBe('store');
  });

  test.each([
    'http://genkan.localhost:7000/',
    'http://GENKAN.localhost./',
    'http://genkan%2elocalhost/',
    'http://x@genkan.localhost/',
    'http://0123456789abcdef.localhost:7000/',
    'http://a.0123456789abcdef.localhost/',
  ])('genkan’s own pages are refused: %s', (text) => {
    expect(origin(text)).toBe('own_page');
  });

  test.each(['http://localhost:7000', 'http://app.localhost', 'http://0123456789abcde.localhost'])(
    'other local pages are sites like any other: %s',
    (text) => expect(origin(text)).toBe(text),
  );
});

test('the origin shown for an unapproved tab carries no path, query or userinfo', () => {
  expect(originShown('https://u:p@good.example/inbox?subject=secret#x')).toBe('https://good.example');
  expect(originShown('file:///home/me/secret.txt')).toBe('file:');
  expect(originShown('chrome://settings/passwords')).toBe('chrome:');
  expect(originShown('')).toBe('');
});
