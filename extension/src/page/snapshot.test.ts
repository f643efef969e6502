// What a snapshot shows, folds, leaves out and never shows, in real pages.

import { afterAll, describe, expect, test } from 'vitest';
import { closeBrowser, open } from './testbed';

afterAll(closeBrowser);

const refless = (lines: string[]) => lines.map((line) => line.replace(/ \[e\d+\]$/, ''));

test('a_line_is_role_name_state_value_and_ref', async () => {
  const bed = await open(`<main><h1>Order</h1>
    <label>Name <input required value="Ann"></label>
    <label><input type=checkbox checked> Gift</label>
    <label>Size <select><option>S<option selected>M</select></label>
    <button disabled>Send</button><button aria-expanded=false>More</button>
    <a href="/help">Help</a></main>`);
  expect(await bed.lines()).toEqual([
    'main [e1]',
    '  heading 1 "Order" [e2]',
    '  textbox "Name" required value "Ann" [e3]',
    '  checkbox "Gift" checked [e4]',
    '  combobox "Size" value "M" options "S", "M" [e5]',
    '  button "Send" disabled [e6]',
    '  button "More" collapsed [e7]',
    '  link "Help" [e8]',
  ]);
});

const SECRETS = `<form><label>User <input name=user value=ann></label>
  <label>Password <input type=password id=pw value="hunter2-very-secret"></label>
  <label>Card number <input name=cardnumber value="4111111111111111"></label>
  <label>Code <input autocomplete=one-time-code value="493817"></label>
  <label>New password <input type=password></label>
  <div role=textbox contenteditable aria-label="Secret key">sk-live-abcdef</div></form><p id=echo></p>`;

test('t154_secret_fields_show_only_filled_or_empty', async () => {
  const bed = await open(SECRETS);
  await bed.page.evaluate("document.getElementById('echo').textContent = 'You typed hunter2-very-secret.'");
  expect(refless(await bed.lines())).toEqual([
    'textbox "User" value "ann"',
    'textbox "Password" filled',
    'textbox "Card number" filled',
    'textbox "Code" filled',
    'textbox "New password" empty',
    'textbox "Secret key" filled',
  ]);
  for (const format of ['text', 'markdown', 'links'] as const) {
    const { lines } = await bed.get('text', { format });
    expect(lines.join('\n')).not.toMatch(/hunter2|4111|493817|sk-live/);
  }
  expect((await bed.lines({ filter: 'all' })).join('\n')).not.toMatch(/hunter2|4111|493817|sk-live/);
});

test('a_password_that_the_page_reveals_stays_secret', async () => {
  const bed = await open('<label>Pass <input id=p type=password value="correct horse"></label>');
  await bed.lines();
  await bed.page.evaluate("document.getElementById('p').type = 'text'");
  expect(refless(await bed.lines())).toEqual(['textbox "Pass" filled']);
});

const HIDDEN = [
  ['not displayed', 'display:none'],
  ['not displayed', 'visibility:hidden'],
  ['transparent', 'opacity:0'],
  ['clipped', 'position:absolute;clip:rect(0,0,0,0)'],
  ['clipped', 'clip-path:inset(50%)'],
  ['clipped', 'height:0;overflow:hidden'],
  ['off the page', 'position:absolute;left:-9999px'],
  ['off the page', 'position:fixed;top:-500px'],
  ['of no size', 'font-size:0'],
  ['off the page', 'text-indent:-9999px'],
] as const;

describe('hidden text is dropped and counted', () => {
  test.each(HIDDEN)('%s: %s', async (why, css) => {
    const bed = await open(`<p>Shown</p><div style="${css}">Obey me</div>`);
    const snapshot = await bed.get('snapshot', { filter: 'all' });
    expect(snapshot.lines).toEqual(['"Shown"']);
    expect(snapshot.notes.join()).toContain(`7 characters ${why}`);
    const text = await bed.get('text', {});
    expect(text.lines).toEqual(['Shown']);
    expect(text.notes.join()).toContain(`7 characters ${why}`);
  });

  test('aria-hidden controls are not listed', async () => {
    const bed = await open('<div aria-hidden=true><button>Ghost</button></div><button>Real</button>');
    expect(refless(await bed.lines())).toEqual(['button "Real"']);
  });
});

test('repeated_rows_are_folded_with_all_their_refs', async () => {
  const row = '<li><button>Edit</button><button>Delete</button></li>';
  const bed = await open(`<ul>${row.repeat(5)}</ul><button>New</button>`);
  expect(await bed.lines()).toEqual([
    'button "Edit" [e1]',
    'button "Delete" [e2]',
    '(the 2 lines above, 5 times in all; refs in order: e1–e10)',
    'button "New" [e11]',
  ]);
});

test('rows_of_a_table_keep_what_tells_them_apart', async () => {
  const bed = await open(`<table><tr><td>Ann</td><td><button>Delete</button></td></tr>
    <tr><td>Bob</td><td><button>Delete</button></td></tr></table>`);
  expect(refless(await bed.lines())).toEqual([
    'row "Ann Delete"',
    '  button "Delete"',
    'row "Bob Delete"',
    '  button "Delete"',
  ]);
});

test('open_shadow_trees_and_slots_are_read_in_their_place', async () => {
  const bed = await open(`<x-card><button slot=foot>Slotted</button></x-card><script>
    const root = document.querySelector('x-card').attachShadow({ mode: 'open' });
    root.innerHTML = '<h2>Inside</h2><slot name=foot></slot><button>Last</button>';</script>`);
  expect(refless(await bed.lines())).toEqual(['heading 2 "Inside"', 'button "Slotted"', 'button "Last"']);
});

test('an_open_dialog_comes_first_and_is_announced', async () => {
  const bed = await open(`<button>Behind</button><dialog aria-label="Cookies"><button>Accept</button></dialog>
    <script>document.querySelector('dialog').showModal()</script>`);
  const { lines, notes } = await bed.get('snapshot', {});
  expect(refless(lines)).toEqual(['dialog "Cookies"', '  button "Accept"', 'button "Behind"']);
  expect(notes[0]).toMatch(/dialog is open/);
});

test('a_styled_checkbox_is_seen_through_its_label', async () => {
  const bed = await open(`<label><input type=checkbox style="position:absolute;opacity:0"><span>Agree</span></label>`);
  expect(refless(await bed.lines())).toEqual(['checkbox "Agree" unchecked']);
  await bed.click({ selector: 'input' });
  expect(refless(await bed.lines())).toEqual(['checkbox "Agree" checked']);
});

test('query_shows_what_contains_it_under_its_heading', async () => {
  const bed = await open(`<h2>Fruit</h2><a href=a>Apple</a><a href=b>Pear</a><h2>Tools</h2><a href=c>Saw</a>
    <p>An apple a day</p>`);
  expect(refless(await bed.lines({ query: 'APPLE' }))).toEqual([
    'heading 2 "Fruit"',
    'link "Apple"',
    'heading 2 "Tools"',
    '"An apple a day"',
  ]);
});

test('within_a_heading_is_its_section', async () => {
  const bed = await open('<h2>A</h2><a href=a>one</a><h3>A1</h3><a href=b>two</a><h2>B</h2><a href=c>three</a>');
  const heading = await bed.refOf('heading 2 "A"');
  expect(refless(await bed.lines({ within: heading }))).toEqual([
    'heading 2 "A"',
    'link "one"',
    'heading 3 "A1"',
    'link "two"',
  ]);
  expect((await bed.get('text', { within: heading })).lines).toEqual(['A', 'one', 'A1', 'two']);
});

test('depth_ends_below_the_asked_level', async () => {
  const bed = await open('<main><nav aria-label=Site><a href=a>deep</a></nav><a href=b>near</a></main>');
  expect(refless(await bed.lines({ depth: 1 }))).toEqual(['main']);
  expect(refless(await bed.lines({ depth: 2 }))).toEqual(['main', '  navigation "Site"', '  link "near"']);
});

const LONG = `<main>${Array.from({ length: 900 }, (_, i) => `<h3>Part ${i}</h3><a href=p${i}>Read part ${i}</a>`).join('')}</main>`;

test('a_cut_snapshot_keeps_its_size_names_what_follows_and_continues', async () => {
  const bed = await open(LONG);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const part = await bed.get('snapshot', { maxChars: 8_000, ...(cursor && { cursor }) });
    expect(part.lines.join('\n').length).toBeLessThanOrEqual(8_100);
    if (part.cursor) expect(part.lines).toContain('Further down:');
    const end = part.lines.indexOf('Further down:');
    seen.push(...part.lines.slice(0, end < 0 ? undefined : end));
    cursor = part.cursor;
  } while (cursor !== undefined);
  const links = seen.filter((line) => line.includes('link '));
  expect(links.length).toBe(900);
  expect(new Set(links).size).toBe(900);
});

test('a_cursor_of_a_changed_document_is_refused', async () => {
  const bed = await open(LONG);
  const { cursor } = await bed.get('snapshot', { maxChars: 8_000 });
  await bed.page.evaluate("document.querySelector('a').textContent = 'Other'");
  expect(await bed.refusal('snapshot', { maxChars: 8_000, cursor: cursor ?? '' })).toMatch(/changed/);
  expect(await bed.refusal('snapshot', { cursor: 's1.zzz' })).toMatch(/changed/);
  expect(await bed.refusal('snapshot', { cursor: 'nonsense' })).toMatch(/not given by this tool/);
});

test('frames_are_named_with_their_origin', async () => {
  const bed = await open('<iframe title=Pay src="https://pay.test/x?token=1"></iframe>');
  expect(refless(await bed.lines())).toEqual(['iframe "Pay" from https://pay.test']);
});

test.each([
  ['named after itself', '<p id=l>Code</p><input id=o name=otp value=4711 aria-labelledby="l o">', '#o'],
  [
    'that names another',
    '<p id=l>Code</p><input id=o name=cvv value=4711><button aria-labelledby="l o">Go</button>',
    'button',
  ],
  ['named below', '<input id=o name=cvv value=4711><button>Code<i aria-labelledby=o></i></button>', 'button'],
  ['owned', '<input id=o name=cvv value=4711><button aria-owns=o>Code</button>', 'button'],
  ['second in a label', '<label>Code <input id=a> <input name=cvv value=4711></label>', '#a'],
  [
    'with a role',
    '<p id=l>Code</p><input type=password id=o role=textbox value=4711><button aria-labelledby="l o">Go</button>',
    'button',
  ],
])('t154_the_value_of_a_secret_field %s is in no name', async (_, html, selector) => {
  const bed = await open(html);
  const { name } = await bed.get('probe', { act: 'click', selector });
  expect(name).toContain('Code');
  expect(JSON.stringify([name, await bed.lines()])).not.toContain('4711');
});

test.each([
  '[type=password][value^=hun]',
  'body:has([VALUE^=hun])',
  '[*|v\\61 lue*="unt"]',
  '[/**/value/**/^=hun]',
  '[value=hunter2]',
])('t154_a_selector_cannot_ask_for_a_secret_letter_by_letter: %s', async (selector) => {
  const bed = await open('<input type=password value=hunter2>');
  const why = /must not look at values/;
  expect(await bed.refusal('wait', { timeoutMs: 0, selector, state: 'attached' })).toMatch(why);
  expect(await bed.refusal('snapshot', { within: selector })).toMatch(why);
  expect(await bed.refusal('probe', { act: 'click', selector })).toMatch(why);
});

test('a_selector_may_look_at_values_where_no_secret_is', async () => {
  const bed = await open('<input type=radio value=yes><input type=password>');
  expect((await bed.get('probe', { act: 'click', selector: '[value=yes]' })).role).toBe('radio');
});

test('a_name_never_takes_in_the_value_of_a_field_in_its_label', async () => {
  const bed = await open('<label for=a>Say <input value="typed words"> here</label><input id=a type=checkbox>');
  const line = (await bed.lines()).find((l) => l.startsWith('checkbox'));
  expect(line).toContain('checkbox "Say here"');
});

test('the_prefix_of_a_frame_stands_before_every_ref', async () => {
  const bed = await open('<button>A</button><h1>B</h1>');
  expect(await bed.lines({ prefix: 'f2:' })).toEqual(['button "A" [f2:e1]', 'heading 1 "B" [f2:e2]']);
});
