import { expect, test } from 'vitest';
import { address, isInternational, oneLine } from './shown';

test.each([
  ['Pay\u202e001$', 'Pay⟨U+202E⟩001$'],
  ['Pay\u200bNow', 'Pay⟨U+200B⟩Now'],
  ['Pay\u2800Now', 'Pay Now'],
  ['a\u2066b\u2069', 'a⟨U+2066⟩b⟨U+2069⟩'],
  ['Delete\n\nAllow me', 'Delete ⏎ ⏎ Allow me'],
  ['a\u2028b', 'a⟨U+2028⟩b'],
  ['a\0\u001b[31mb', 'a⟨U+0000⟩⟨U+001B⟩[31mb'],
  ['soft\u00adhyphen', 'soft⟨U+00AD⟩hyphen'],
  ['tag\u{e0041}', 'tag⟨U+E0041⟩'],
  ['half\ud800', 'half\ufffd'],
  ['a\u3000 \t b', 'a b'],
  ['<b onclick=alert(1)>', '<b onclick=alert(1)>'],
  ['注文する', '注文する'],
])('t146_labels_cannot_hide_or_reorder_anything: %j', (text, expected) => {
  expect(oneLine(text, 200)).toBe(expected);
});

test('t146_a_long_label_is_cut', () => {
  expect(oneLine('x'.repeat(10_000), 120)).toBe(`${'x'.repeat(119)}…`);
  expect([...oneLine('\u202e'.repeat(10_000), 120)].length).toBe(120);
  expect(oneLine(`${'\n'.repeat(9_000)}hidden end`, 120)).toMatch(/…$/);
});

test('t146_a_destination_shows_the_origin_that_the_browser_would_contact', () => {
  expect(address('https://good.example@xn--80ak6aa92e.com/a?b#c', 80)).toEqual({
    origin: 'https://xn--80ak6aa92e.com',
    rest: '/a?b#c',
  });
  expect(address('javascript:alert(1)//https://good.example', 80)).toEqual({
    origin: '',
    rest: 'javascript:alert(1)//https://good.example',
  });
  expect(address('https://a.example/\u202egnp.exe', 80).rest).toBe('/%E2%80%AEgnp.exe');
});

test('names in other letters are marked', () => {
  expect(isInternational('https://xn--80ak6aa92e.com')).toBe(true);
  expect(isInternational('https://a.xn--bcher-kva.example')).toBe(true);
  expect(isInternational('https://example.com')).toBe(false);
});
