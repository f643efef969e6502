// A large and a huge page of real documentation: the default snapshot stays in its size and is of use. Prints what reading
// costs; asserts no time. The pages come from Debian's python3-doc; where that is not installed, it says so and ends.

import { existsSync, readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { expect, test } from 'vitest';
import { bedOn } from './testbed';

const DOCS = ['/usr/share/doc/python3.11/html', '/usr/share/doc/python3/html'].find((dir) =>
  existsSync(`${dir}/library`),
);
const ROUNDS = 9;

test.skipIf(DOCS === undefined).each([
  ['library/functions.html', 'heading 1 "Built-in Functions"', 'link "abs()"'],
  ['genindex-all.html', 'heading 1 "Index"', 'heading 2 "Z"'],
])('the_default_snapshot_of_%s_is_small_and_useful', async (path, heading, signpost) => {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  try {
    const page = await browser.newPage();
    await page.route('http://docs.test/**', (route) => {
      const file = `${DOCS}${new URL(route.request().url()).pathname}`;
      return existsSync(file) ? route.fulfill({ path: file }) : route.fulfill({ status: 404 });
    });
    await page.goto(`http://docs.test/${path}`);
    const bed = await bedOn(page);
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const start = performance.now();
      await bed.get('snapshot', {});
      times.push(performance.now() - start);
    }
    const text = (await bed.lines()).join('\n');
    const bytes = readFileSync(`${DOCS}/${path}`).length;
    const [first = 0] = times;
    const median = times.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0;
    console.warn(
      `${path}: ${bytes} bytes, snapshot ${text.length} characters, first ${first.toFixed(0)} ms, median ${median.toFixed(0)} ms`,
    );
    expect(text.length).toBeLessThanOrEqual(24_000);
    expect(text.match(/^main /m)).not.toBeNull();
    expect(text).toContain('navigation "related navigation"');
    expect(text).toContain(heading);
    expect(text).toContain(signpost);
  } finally {
    await browser.close();
  }
});

test.runIf(DOCS === undefined)('python3_doc_is_not_installed', () => {
  console.warn('python3-doc is not installed: its pages were not read');
});
