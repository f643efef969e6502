// Cuts of text: bounded, and never where half of a secret would remain.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { headLength, listed, short } from './words';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9eyJzdWIiOiIxMjM0NTY3ODkwIn0';

test('t168_a_cut_never_falls_inside_a_word_or_between_digits', () => {
  const word = fc.oneof(fc.stringMatching(/^[a-z]{1,12}$/), fc.constant(TOKEN), fc.stringMatching(/^\d{4}$/));
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 200 }), fc.integer({ min: 20, max: 300 }), (words, max) => {
      const text = words.join(' ');
      const end = headLength(text, max);
      if (end === text.length) return;
      expect(text.slice(end - 1, end + 1)).not.toMatch(/\S\S/);
      expect(text.slice(0, end).trimEnd().slice(-1) + text.slice(end).trimStart().slice(0, 1)).not.toMatch(/\d\d/);
      expect(end).toBeGreaterThan(0);
    }),
  );
});

test('a_long_word_is_kept_whole_up_to_a_bound', () => {
  expect(short(`say ${TOKEN.repeat(10)} now`, 50)).toContain(TOKEN.repeat(10));
  expect(headLength('x'.repeat(100_000), 100)).toBe(16_100);
});

test('plain_words_are_cut_near_the_limit_and_marked', () => {
  const cut = short('some plain words in a row '.repeat(20), 120);
  expect(cut.endsWith('…')).toBe(true);
  expect(cut.length).toBeGreaterThan(60);
  expect(cut.length).toBeLessThanOrEqual(122);
});

test('lists_say_how_many_are_left_out', () => {
  expect(listed(['a', 'b', 'c'], 2)).toBe('a, b and 1 more');
  expect(listed(['a', 'b'], 2)).toBe('a, b');
});
