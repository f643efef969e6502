import { expect, test } from 'vitest';
import { CALLS_MAX, CHUNK_TOTAL_BYTES_MAX } from '../contract/limits';
import { Joiner } from './chunks';

const piece = (id: number, seq: number, data: string, last = false) => ({ id, seq, data, last });

test('pieces join in order to the text they were cut from', () => {
  const joiner = new Joiner();
  expect(joiner.add(piece(1, 0, '{"a'))).toEqual({ state: 'more' });
  expect(joiner.add(piece(2, 0, 'other', true))).toEqual({ state: 'whole', text: 'other' });
  expect(joiner.add(piece(1, 1, '":1}', true))).toEqual({ state: 'whole', text: '{"a":1}' });
});

test.each([
  ['a gap', [piece(1, 0, 'a'), piece(1, 2, 'b')]],
  ['a repetition', [piece(1, 0, 'a'), piece(1, 0, 'a')]],
  ['a start in the middle', [piece(1, 1, 'a')]],
])('%s is refused, and the frame begins anew', (_, pieces) => {
  const joiner = new Joiner();
  expect(pieces.map((each) => joiner.add(each)).at(-1)).toEqual({ state: 'refused', why: 'order' });
  expect(joiner.add(piece(1, 0, 'x', true))).toEqual({ state: 'whole', text: 'x' });
});

test('t001_all_partial_frames_together_stay_within_the_bound_in_bytes', () => {
  const joiner = new Joiner();
  const half = 'ä'.repeat(CHUNK_TOTAL_BYTES_MAX / 4);
  expect(joiner.add(piece(1, 0, half)).state).toBe('more');
  expect(joiner.add(piece(2, 0, half)).state).toBe('more');
  expect(joiner.add(piece(3, 0, 'x'))).toEqual({ state: 'refused', why: 'size' });
  joiner.drop(1);
  expect(joiner.add(piece(3, 0, 'x', true)).state).toBe('whole');
});

test('a frame of exactly the bound passes, and a byte more does not', () => {
  const full = 'x'.repeat(CHUNK_TOTAL_BYTES_MAX);
  expect(new Joiner().add(piece(1, 0, full, true)).state).toBe('whole');
  const joiner = new Joiner();
  joiner.add(piece(1, 0, full));
  expect(joiner.add(piece(1, 1, 'x', true))).toEqual({ state: 'refused', why: 'size' });
});

test('empty pieces of many frames are bounded too', () => {
  const joiner = new Joiner();
  for (let id = 0; id < CALLS_MAX; id += 1) expect(joiner.add(piece(id, 0, '')).state).toBe('more');
  expect(joiner.add(piece(CALLS_MAX, 0, ''))).toEqual({ state: 'refused', why: 'size' });
});
