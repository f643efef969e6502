import { beforeEach, expect, test, vi } from 'vitest';
import { fakeBrowser } from 'wxt/testing/fake-browser';

vi.stubGlobal('chrome', fakeBrowser);
const { climb, FIRST_VERSION, RUNGS, seal } = await import('./settings');

const SAFE = { screenshots: false, language: 'auto', theme: 'auto' };
const CURRENT = FIRST_VERSION + RUNGS.length;

beforeEach(() => fakeBrowser.reset());

test('what was sealed is what climbs out', () => {
  const chosen = { screenshots: true, language: 'zh_TW', theme: 'dark' } as const;
  expect(climb(seal(chosen))).toEqual(chosen);
});

test.each([
  ['nothing', undefined],
  ['text', 'screenshots'],
  ['a record without a version', { fields: { screenshots: true } }],
  ['a record with unknown members', { version: CURRENT, fields: {}, extra: true }],
  ['t132_a_newer_record', { version: CURRENT + 1, fields: { screenshots: true } }],
])('%s leaves every switch at its safe place', (_, raw) => {
  expect(climb(raw)).toEqual(SAFE);
});

test('t132_a_damaged_field_falls_back_alone', () => {
  const fields = { screenshots: 'yes', language: 'en', theme: 7 };
  expect(climb({ version: CURRENT, fields })).toEqual({ screenshots: false, language: 'en', theme: 'auto' });
});

test('a record climbs exactly the rungs above its version', () => {
  const rename = (from: string, to: string) => (fields: Record<string, unknown>) => ({ ...fields, [to]: fields[from] });
  const rungs = [rename('pictures', 'shots'), rename('shots', 'screenshots')];
  expect(climb({ version: 5, fields: { pictures: true } }, 5, rungs).screenshots).toBe(true);
  expect(climb({ version: 6, fields: { shots: true } }, 5, rungs).screenshots).toBe(true);
  expect(climb({ version: 7, fields: { screenshots: true } }, 5, rungs).screenshots).toBe(true);
  expect(climb({ version: 8, fields: { screenshots: true } }, 5, rungs).screenshots).toBe(false);
});

test('retiring the first rung keeps the meaning of every stored version', () => {
  const rungs = [() => ({}), (fields: Record<string, unknown>) => ({ ...fields, screenshots: true })];
  const before = climb({ version: 6, fields: {} }, 5, rungs);
  expect(climb({ version: 6, fields: {} }, 6, rungs.slice(1))).toEqual(before);
});

test('a record older than the ladder is kept field by field', () => {
  expect(climb({ version: 0, fields: { theme: 'dark' } }, 5, [])).toEqual({ ...SAFE, theme: 'dark' });
});
