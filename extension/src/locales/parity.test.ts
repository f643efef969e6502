import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OPS } from '../contract/ops';
import { ACT_KINDS } from '../gate/confirm';
import { writtenIn } from '../ui/i18n';
import en from './en.yml';
import zhCN from './zh_CN.yml';
import zhTW from './zh_TW.yml';

const flat = (language: Record<string, Record<string, string>>) =>
  new Map(
    Object.entries(language).flatMap(([group, all]) =>
      Object.entries(all).map(([name, sentence]): [string, string] => [`${group}.${name}`, sentence]),
    ),
  );
const ENGLISH = flat(en);
const slots = (sentence: string) => (sentence.match(/\{\w+\}/g) ?? []).toSorted();

test.each([
  ['zh_CN', zhCN],
  ['zh_TW', zhTW],
])('%s says everything that English says, with the same slots, in its own words', (_, language) => {
  const other = flat(language);
  expect([...other.keys()].toSorted()).toEqual([...ENGLISH.keys()].toSorted());
  for (const [key, sentence] of ENGLISH) {
    expect(slots(other.get(key) ?? ''), key).toEqual(slots(sentence));
    if (key !== 'app.name') expect(other.get(key), key).not.toBe(sentence);
    if (key !== 'app.name') expect(other.get(key), key).toMatch(/\p{Script=Han}/u);
  }
});

test('every tool and every kind of act has words', () => {
  for (const { name } of OPS) expect(ENGLISH.has(`tools.${name}`), name).toBe(true);
  for (const kind of ACT_KINDS) expect(ENGLISH.has(`acts.${kind}`), kind).toBe(true);
});

test('every key that the pages use has words, and every key with words is used', () => {
  const root = join(import.meta.dirname, '..');
  const sources = ['ui', 'entrypoints'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file) && !file.includes('.test.'))
      .map((file) => readFileSync(join(root, folder, file), 'utf8')),
  );
  const used = new Set(
    sources.flatMap((text) => [...text.matchAll(/(?:say\(\s*|: )'([a-z_]+\.[a-z_]+)'/g)].map((m) => m[1] ?? '')),
  );
  const built = sources.flatMap((text) =>
    [...text.matchAll(/say\(\s*`(\w+)\.(\w*)\$\{/g)].map((m) => `${m[1]}.${m[2]}`),
  );
  for (const key of used) expect(ENGLISH.has(key), key).toBe(true);
  const unused = [...ENGLISH.keys()].filter((key) => !used.has(key) && !built.some((prefix) => key.startsWith(prefix)));
  expect(unused).toEqual([]);
});

test.each([
  [['zh-HK', 'en'], 'zh_TW'],
  [['zh-Hant-SG'], 'zh_TW'],
  [['zh-Hans'], 'zh_CN'],
  [['zh'], 'zh_CN'],
  [['fr', 'en-GB'], 'en'],
  [['fr'], 'en'],
  [[], 'en'],
] as const)('a browser that prefers %j gets %s', (preferred, language) => {
  expect(writtenIn('auto', preferred)).toBe(language);
  expect(writtenIn('zh_TW', preferred)).toBe('zh_TW');
});
