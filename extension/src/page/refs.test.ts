// Refs in real pages: one element, one ref, for as long as the document lives, whatever the page writes.

import { afterAll, expect, test } from 'vitest';
import { closeBrowser, open } from './testbed';

afterAll(closeBrowser);

const TWO = '<button id=a>A</button><button id=b>B</button>';

test('an_element_keeps_its_ref_and_a_ref_is_never_reused', async () => {
  const bed = await open(TWO);
  expect(await bed.lines()).toEqual(['button "A" [e1]', 'button "B" [e2]']);
  await bed.page.evaluate(
    "document.getElementById('a').remove(); document.body.append(Object.assign(document.createElement('button'), { textContent: 'C' }))",
  );
  expect(await bed.lines()).toEqual(['button "B" [e2]', 'button "C" [e3]']);
  expect(await bed.refusal('probe', { act: 'click', ref: 'e1' })).toMatch(/take a new snapshot/i);
});

test('t141_a_forged_or_moved_stamp_does_not_redirect_a_bound_ref', async () => {
  const bed = await open(TWO);
  await bed.lines();
  await bed.page.evaluate(`const [a, b] = [document.getElementById('a'), document.getElementById('b')];
    b.setAttribute('data-genkan-ref', a.getAttribute('data-genkan-ref')); a.removeAttribute('data-genkan-ref')`);
  expect((await bed.get('probe', { act: 'click', ref: 'e1' })).name).toBe('A');
  expect((await bed.get('probe', { act: 'click', ref: 'e2' })).name).toBe('B');
});

test('a_true_stamp_survives_a_fresh_script', async () => {
  const bed = await open(TWO);
  await bed.lines();
  await bed.renew();
  expect((await bed.get('probe', { act: 'click', ref: 'e2' })).name).toBe('B');
  await bed.page.evaluate(
    "document.body.prepend(Object.assign(document.createElement('button'), { textContent: 'New' }))",
  );
  expect(await bed.lines()).toEqual(['button "New" [e3]', 'button "A" [e1]', 'button "B" [e2]']);
});

test.each([
  [
    'duplicated',
    "const b = document.getElementById('b'); b.setAttribute('data-genkan-ref', document.getElementById('a').getAttribute('data-genkan-ref'))",
    /marks 2 elements/,
  ],
  ['copied with its element', "document.body.append(document.getElementById('a').cloneNode(true))", /marks 2 elements/],
  [
    'moved',
    "const a = document.getElementById('a'); document.getElementById('b').setAttribute('data-genkan-ref', a.getAttribute('data-genkan-ref')); a.remove()",
    /not what it was/,
  ],
  ['renamed', "document.getElementById('a').textContent = 'Z'", /not what it was/],
  [
    'of another document',
    "const a = document.getElementById('a'); a.setAttribute('data-genkan-ref', a.getAttribute('data-genkan-ref').replace(/\\.[^.]+\\./, '.other.'))",
    /not known/,
  ],
])('t141 a stamp that is %s is refused by a fresh script', async (_, change, why) => {
  const bed = await open(TWO);
  await bed.lines();
  await bed.page.evaluate(change);
  await bed.renew();
  expect(await bed.refusal('probe', { act: 'click', ref: 'e1' })).toMatch(why);
});

test('t141_invented_refs_are_refused', async () => {
  const bed = await open('<button data-genkan-ref="e1.x.y">A</button>');
  for (const ref of ['e1', 'e0', 'p4', 'f2:e1', '__proto__', 'e99999999']) {
    expect(await bed.refusal('probe', { act: 'click', ref })).toMatch(/snapshot/);
  }
});

test('t141_marks_of_a_page_do_not_use_up_the_numbers', async () => {
  const bed = await open('<html data-genkan-refs=999999999999><button>A</button>');
  expect(await bed.lines()).toEqual(['button "A" [e1000001]']);
});
