// Page text in its three formats, in real pages.

import { afterAll, expect, test } from 'vitest';
import { closeBrowser, open } from './testbed';

afterAll(closeBrowser);

const PAGE = `<h1>Title</h1><p>One <b>two</b>
  three<br>four</p><ul><li>first<li>second <a href="/x">link</a></ul><pre>a
  b</pre><table><tr><td>k</td><td>v</td></tr></table><label>Name <input value=Ann></label>
  <select><option>S<option selected>M</select><script>no()</script><a href="javascript:x()">bad</a><a href="/x">link</a>`;

test('text_is_what_a_reader_reads', async () => {
  const bed = await open(PAGE);
  expect((await bed.get('text', {})).lines).toEqual([
    'Title',
    'One two three',
    'four',
    'first',
    'second link',
    'a',
    '  b',
    'k v',
    'Name [Ann] [M] badlink',
  ]);
});

test('markdown_keeps_structure_and_addresses', async () => {
  const bed = await open(PAGE);
  expect((await bed.get('text', { format: 'markdown' })).lines).toEqual([
    '# Title',
    'One two three',
    'four',
    '- first',
    '- second [link](http://page.test/x)',
    '```',
    'a',
    '  b',
    '```',
    'k v',
    'Name [Ann] [M] bad[link](http://page.test/x)',
  ]);
});

test('links_are_listed_once_and_only_those_of_the_web', async () => {
  const bed = await open(PAGE);
  expect((await bed.get('text', { format: 'links' })).lines).toEqual(['link → http://page.test/x']);
});

test('query_and_within_narrow_the_text', async () => {
  const bed = await open(PAGE);
  expect((await bed.get('text', { query: 'TWO' })).lines).toEqual(['One two three']);
  expect((await bed.get('text', { within: 'ul' })).lines).toEqual(['first', 'second link']);
  expect((await bed.get('text', { query: 'absent' })).notes).toEqual(['No visible text contains this.']);
});

test('a_long_text_continues_by_cursor_without_loss', async () => {
  const words = Array.from({ length: 3_000 }, (_, i) => `w${i}`);
  const bed = await open(
    `<p>${words.slice(0, 2_000).join(' ')}</p>${words
      .slice(2_000)
      .map((w) => `<p>${w}</p>`)
      .join('')}`,
  );
  const read: string[] = [];
  let cursor: string | undefined;
  do {
    const part = await bed.get('text', { maxChars: 5_000, ...(cursor && { cursor }) });
    expect(part.lines.join('\n').length).toBeLessThanOrEqual(5_000);
    read.push(...part.lines);
    cursor = part.cursor;
  } while (cursor !== undefined);
  expect(read.join(' ').split(' ')).toEqual(words);
});

test('an_empty_page_and_a_canvas_are_explained', async () => {
  const bed = await open('<canvas></canvas>');
  expect((await bed.get('text', {})).notes.join(' ')).toMatch(/no visible text.*canvas/);
});

test('one_enormous_text_node_is_read_to_its_end', async () => {
  const bed = await open('<p></p>');
  await bed.page.evaluate(`document.querySelector('p').append('some words '.repeat(120000) + 'needle at the end'); 0`);
  const { lines } = await bed.get('text', { query: 'needle' });
  expect(lines.length).toBe(1);
  expect(lines[0]).toMatch(/some words needle at the end$/);
});

test('a_link_around_blocks_keeps_its_address', async () => {
  const bed = await open('<a href="/x"><div>Card</div><div>Price</div></a>');
  const lines = (await bed.get('text', { format: 'markdown' })).lines;
  expect(lines).toEqual(['Card', 'Price', '→ http://page.test/x']);
  expect((await bed.get('text', { format: 'links' })).lines).toEqual(['Card Price → http://page.test/x']);
});
