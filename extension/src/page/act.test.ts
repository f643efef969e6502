// Clicking and filling in real pages: what reaches the page, what is refused, and what is reported.

import { afterAll, describe, expect, test } from 'vitest';
import { closeBrowser, HOME, open } from './testbed';

afterAll(closeBrowser);

const LOG = `<script>window.log = []; for (const type of ['pointerdown','mousedown','focusin','pointerup','mouseup','click','auxclick','dblclick','contextmenu','beforeinput','input','change','keydown'])
  document.addEventListener(type, (e) => log.push(type + (e.detail > 1 ? e.detail : '')), true)</script>`;

describe('click', () => {
  test('the_events_come_in_the_order_of_a_real_pointer', async () => {
    const bed = await open(`<button>Go</button>${LOG}`);
    await bed.click({ selector: 'button' });
    expect(await bed.page.evaluate('log')).toEqual([
      'pointerdown',
      'mousedown',
      'focusin',
      'pointerup',
      'mouseup',
      'click',
    ]);
  });

  test('count_button_and_modifiers_reach_the_page', async () => {
    const bed = await open(
      `<button>Go</button>${LOG}<script>addEventListener('click', (e) => window.keys = [e.ctrlKey, e.shiftKey])</script>`,
    );
    await bed.click({ selector: 'button' }, { count: 2, modifiers: ['Shift', 'Control'] });
    expect(await bed.page.evaluate('log')).toEqual(expect.arrayContaining(['click', 'click2', 'dblclick2']));
    expect(await bed.page.evaluate('keys')).toEqual([true, true]);
    await bed.page.evaluate('log.length = 0');
    await bed.click({ selector: 'button' }, { button: 'right' });
    expect(await bed.page.evaluate('log')).toEqual([
      'pointerdown',
      'mousedown',
      'contextmenu',
      'pointerup',
      'mouseup',
      'auxclick',
    ]);
  });

  test('what_changed_is_reported', async () => {
    const bed = await open(`<button onclick="this.textContent = 'Done'">Go</button>`);
    expect(await bed.click({ selector: 'button' })).toEqual({ changed: true, warnings: [], focus: 'button "Done"' });
  });

  test('a_click_that_the_site_ignores_says_so', async () => {
    const bed = await open('<button onclick="if (event.isTrusted) this.remove()">Go</button>');
    const effects = await bed.click({ selector: 'button' });
    expect(effects.changed).toBe(false);
    expect(effects.warnings.join()).toMatch(/No visible effect/);
  });

  test('a_link_that_is_followed_is_reported_before_the_document_goes', async () => {
    const bed = await open('<a href="/next">Next</a>');
    const { navigated } = await bed.click({ selector: 'a' });
    expect(navigated).toEqual({ url: `${HOME}next`, sameDocument: false });
    await bed.page.waitForURL(`${HOME}next`);
  });

  test('a_move_within_the_document_is_reported', async () => {
    const bed = await open(`<button onclick="history.pushState(0, '', '/two')">Go</button>`);
    expect((await bed.click({ selector: 'button' })).navigated).toEqual({ url: `${HOME}two`, sameDocument: true });
  });

  test('what_comes_to_lie_over_the_target_is_named', async () => {
    const bed = await open(`<button onclick="document.querySelector('dialog').showModal()">Go</button>
      <dialog aria-label="Sure?" style="width:100%;height:100%;max-width:none;max-height:none">?</dialog>`);
    expect((await bed.click({ selector: 'button' })).coveredBy).toBe('dialog "Sure?"');
  });

  test.each([
    ['hidden', '<button style="visibility:hidden">Go</button>', /none of them is visible/],
    ['disabled', '<button disabled>Go</button>', /button "Go" is disabled/],
    ['disabled by its fieldset', '<fieldset disabled><button>Go</button></fieldset>', /is disabled/],
    ['inert', '<div inert><button>Go</button></div>', /is disabled/],
    ['absent', '<p>', /Nothing on the page matches/],
    ['several', '<button>A</button><button>B</button>', /matches 2 visible elements/],
    ['covered', '<button>Go</button><div id=veil style="position:fixed;inset:0"></div>', /is covered by div#veil/],
  ])('a target that is %s is refused', async (_, html, why) => {
    const bed = await open(html);
    expect(await bed.refusal('probe', { act: 'click', selector: 'button' })).toMatch(why);
  });

  test('an_element_below_the_fold_is_brought_into_view', async () => {
    const bed = await open(`<div style="height:5000px"></div><button onclick="this.textContent = 'Done'">Go</button>`);
    expect((await bed.click({ selector: 'button' })).changed).toBe(true);
  });

  test('T072 an act that lay waiting while the page was busy is not done, and can be asked for again', async () => {
    const bed = await open(`<button onclick="window.presses = (window.presses ?? 0) + 1">Go</button>`);
    const { token } = await bed.get('probe', { act: 'click', selector: 'button' });
    for (const until of [Date.now() - 1, null]) {
      expect(await bed.ask('click', { token }, 'late', until)).toMatchObject({
        ok: false,
        error: { code: 'CANCELLED' },
      });
    }
    expect(await bed.page.evaluate('window.presses')).toBeUndefined();
    expect(await bed.ask('click', { token }, 'late')).toMatchObject({ ok: true });
    expect(await bed.page.evaluate('window.presses')).toBe(1);
  });

  test('a_call_id_acts_once', async () => {
    const bed = await open(`<button onclick="this.textContent += '!'">Go</button>`);
    const first = await bed.get('probe', { act: 'click', selector: 'button' });
    await bed.ask('click', { token: first.token }, 'same');
    const second = await bed.get('probe', { act: 'click', selector: 'button' });
    expect(await bed.ask('click', { token: second.token }, 'same')).toMatchObject({ ok: false });
    expect(await bed.refusal('click', { token: first.token })).toMatch(/done already/);
    expect(await bed.page.textContent('button')).toBe('Go!');
  });
});

describe('risk', () => {
  test.each([
    ['<button>x</button>', 'plain', undefined],
    ['<form action="/pay" method=post><button>x</button></form>', 'submit', `${HOME}pay`],
    ['<form action="/pay"><button formaction="/other">x</button></form>', 'submit', `${HOME}other`],
    ['<form><button type=button>x</button></form>', 'plain', undefined],
    ['<form action="/pay"><button><b role=none>x</b></button></form>', 'submit', `${HOME}pay`],
    ['<form id=f action="/far"></form><button form=f>x</button>', 'submit', `${HOME}far`],
    [
      '<form action="/l"><label class=button for=s>x</label><input id=s type=submit hidden></form>',
      'submit',
      `${HOME}l`,
    ],
    ['<a class=button href="/a"><span>x</span></a>', 'link', `${HOME}a`],
    ['<a class=button href="#part">x</a>', 'plain', undefined],
    ['<a class=button href="javascript:void 0">x</a>', 'plain', undefined],
    ['<a class=button href="/f.zip" download>x</a>', 'download', `${HOME}f.zip`],
    ['<a class=button href="/a" target=_blank>x</a>', 'popup', `${HOME}a`],
    ['<base target=_blank><a class=button href="/a">x</a>', 'popup', `${HOME}a`],
    ['<a href="/a"><button type=button>x</button></a>', 'link', `${HOME}a`],
    ['<a class=button role=button href="/a">x</a>', 'link', `${HOME}a`],
    ['<button type=button onclick="window.open(\'/w\')">x</button>', 'popup', undefined],
    ['<input class=button type=file>', 'file_chooser', undefined],
    ['<label class=button>x<input type=file hidden></label>', 'file_chooser', undefined],
    ['<form><button formmethod=dialog>x</button></form>', 'plain', undefined],
    ['<form action="/l"><b class=button onclick="document.forms[0].submit()">x</b></form>', 'submit', `${HOME}l`],
    ['<b class=button onmousedown="window.open(\'/w\')">x</b>', 'popup', undefined],
    // A label's click rises again from its control.
    ['<label class=button for=t>x</label> <a href="/a"><textarea id=t></textarea></a>', 'link', `${HOME}a`],
    [
      '<form action="/l"><label class=button for=m>x</label> <label for=s><meter id=m></meter></label><input id=s type=submit hidden></form>',
      'submit',
      `${HOME}l`,
    ],
    [
      '<svg class=button width=90 height=90><a xlink:href="/a"><rect width=90 height=90 /></a></svg>',
      'link',
      `${HOME}a`,
    ],
  ])('%s is %s', async (html, kind, destination) => {
    const bed = await open(html);
    const probe = await bed.get('probe', { act: 'click', selector: 'button, .button' });
    expect([probe.kind, probe.destination]).toEqual([kind, destination]);
  });

  test.each([
    ['prefixed by its own name', "setAttributeNS('http://www.w3.org/1999/xlink', 'q:href', '/a')"],
    ['behind another of the name', "setAttributeNS('urn:x', 'href', '#here'); a.setAttributeNS(null, 'href', '/a')"],
  ])('t138_a_link_whose_address_is %s is a link', async (_, given) => {
    const bed = await open(`<svg width=90 height=90><a><rect width=90 height=90 /></a></svg>
      <script>const a = document.querySelector('a'); a.${given}</script>`);
    const { kind, destination } = await bed.get('probe', { act: 'click', selector: 'rect' });
    expect([kind, destination]).toEqual(['link', `${HOME}a`]);
  });

  test.each([
    ['<form action="/s"><button class=tick role=switch aria-checked=false>x</button></form>', 'submit', `${HOME}s`],
    ['<a class=tick role=checkbox aria-checked=false href="/a">x</a>', 'link', `${HOME}a`],
    [
      '<input class=tick id=c type=checkbox style="opacity:0;position:absolute"><label for=c><a href="/a">I agree</a></label>',
      'link',
      `${HOME}a`,
    ],
    ['<a href="/a"><input class=tick type=checkbox></a>', 'link', `${HOME}a`],
    ['<label><input class=tick type=checkbox> I agree</label>', 'plain', undefined],
    ['<form action="/s"><input class=tick type=checkbox onclick="this.form.submit()"></form>', 'submit', `${HOME}s`],
  ])('filling %s is the press that it takes: %s', async (html, kind, destination) => {
    const bed = await open(html);
    const probe = await bed.get('probe', { act: 'fill', selector: '.tick' });
    expect([probe.kind, probe.destination]).toEqual([kind, destination]);
  });

  test.each([
    ['<form action="/s"><select class=it onchange="this.form.submit()"><option>a<option>b</select></form>', 'submit'],
    ['<form action="/s" onchange="this.requestSubmit()"><input class=it></form>', 'submit'],
    ['<form action="/s" onsubmit="send.submit(this)"><input class=it></form>', 'plain'],
    ['<input class=it oninput="window.open(this.value)">', 'popup'],
  ])('filling what its markup sends away is no plain act: %s', async (html, kind) => {
    const bed = await open(html);
    expect((await bed.get('probe', { act: 'fill', selector: '.it' })).kind).toBe(kind);
  });

  test('t138_enter_goes_where_the_button_it_presses_says', async () => {
    const bed = await open(
      '<form action="/safe"><input name=a><button formaction="/other" formmethod=post>Go</button></form>',
    );
    const probe = () => bed.get('probe', { act: 'fill', selector: 'input', submit: true });
    const { token, kind, destination, method } = await probe();
    expect([kind, destination, method]).toEqual(['submit', `${HOME}other`, 'post']);
    await bed.page.evaluate("document.querySelector('button').formAction = '/evil'");
    expect(await bed.refusal('fill', { token, value: 'x', submit: true })).toMatch(/changed its meaning/);
  });

  test('t138_a_form_that_the_filling_itself_points_elsewhere_is_not_sent', async () => {
    const bed = await open('<form action="/safe"><input name=a oninput="form.action = `/evil`"></form>');
    const { warnings } = await bed.fill({ selector: 'input' }, 'x', { submit: true });
    expect(warnings.join()).toMatch(/was not sent/);
    expect(bed.page.url()).toBe(HOME);
  });

  test('filling_and_sending_a_secret_is_two_kinds_at_once', async () => {
    const bed = await open('<form><input type=password></form>');
    const twofold = async (submit: boolean) =>
      (await bed.get('probe', { act: 'fill', selector: 'input', submit })).twofold;
    expect([await twofold(false), await twofold(true)]).toEqual([undefined, true]);
  });

  test('t154_an_editor_found_inside_the_named_element_keeps_its_secrecy', async () => {
    const bed = await open('<div id=box><p>x</p><div contenteditable aria-label="PIN">1</div></div>');
    expect((await bed.get('probe', { act: 'fill', selector: '#box' })).kind).toBe('credential');
  });

  test('a_modifier_or_the_middle_button_makes_a_link_a_new_window', async () => {
    const bed = await open('<a href="/a">x</a>');
    expect((await bed.get('probe', { act: 'click', selector: 'a', button: 'middle' })).kind).toBe('popup');
    expect((await bed.get('probe', { act: 'click', selector: 'a', modifiers: ['Control'] })).kind).toBe('popup');
  });

  test.each([
    ['<input type=password>', 'credential'],
    ['<input autocomplete="section-a one-time-code">', 'credential'],
    ['<input autocomplete=cc-number>', 'payment'],
    ['<label>Security code <input></label>', 'credential'],
    ['<label>CVV <input></label>', 'payment'],
    ['<label>City <input></label>', 'plain'],
  ])('t154 filling %s is %s', async (html, kind) => {
    const bed = await open(html);
    expect((await bed.get('probe', { act: 'fill', selector: 'input' })).kind).toBe(kind);
  });

  test('t154_a_hidden_field_is_out_of_reach', async () => {
    const bed = await open(
      '<input type=hidden name=amount value=1><input name=trap style="position:absolute;left:-9999px">',
    );
    expect(await bed.refusal('probe', { act: 'fill', selector: '[name=amount]' })).toMatch(/visible/);
    expect(await bed.refusal('probe', { act: 'fill', selector: '[name=trap]' })).toMatch(/visible/);
  });
});

describe('between look and act', () => {
  const PAGE = '<form action="/safe"><a id=x href="/a">Go</a><button>Send</button></form>';
  test.each([
    [
      't137_a_replaced_element',
      "document.querySelector('#x').outerHTML = '<a id=x href=/a>Go</a>'",
      /removed or replaced/,
    ],
    ['t137_a_removed_element', "document.querySelector('#x').remove()", /removed or replaced/],
    ['t138_another_destination', "document.querySelector('#x').href = '/evil'", /changed its meaning/],
    ['t138_another_name', "document.querySelector('#x').textContent = 'Delete all'", /changed its meaning/],
    ['t138_another_role', "document.querySelector('#x').setAttribute('role', 'button')", /changed its meaning/],
    ['t138_a_download', "document.querySelector('#x').download = 'x'", /changed its meaning/],
    [
      't138_a_cover',
      "document.body.insertAdjacentHTML('beforeend', '<div id=v style=\"position:fixed;inset:0\"></div>')",
      /covered by div#v/,
    ],
    ['t138_hiding', "document.querySelector('#x').style.opacity = 0", /not visible/],
    [
      't138_shrinking',
      "document.querySelector('#x').style.cssText = 'position:absolute;clip-path:inset(100%)'",
      /not visible/,
    ],
  ])('%s is refused', async (_, change, why) => {
    const bed = await open(PAGE);
    const { token } = await bed.get('probe', { act: 'click', selector: '#x' });
    await bed.page.evaluate(change);
    expect(await bed.refusal('click', { token })).toMatch(why);
  });

  test('t138_a_move_into_a_submit_button_is_refused', async () => {
    const bed = await open('<form action="/pay"><b tabindex=0>Go</b><button></button></form>');
    const { token, kind } = await bed.get('probe', { act: 'click', selector: 'b' });
    expect(kind).toBe('plain');
    await bed.page.evaluate("document.querySelector('button').append(document.querySelector('b'))");
    expect(await bed.refusal('click', { token })).toMatch(/changed its meaning/);
  });

  test('t138_the_second_click_of_two_does_not_press_what_the_first_made_a_submit_button', async () => {
    const bed = await open(`<form action="/sent"><button type=button>Delete</button></form><script>
      document.querySelector('button').onclick = (e) => { if (e.target.type === 'button') { e.preventDefault(); e.target.type = 'submit'; } }
    </script>`);
    const { warnings } = await bed.click({ selector: 'button' }, { count: 2 });
    expect(warnings.join()).toMatch(/became another thing/);
    expect(bed.page.url()).toBe(HOME);
  });

  test('t138_a_target_that_becomes_a_link_under_the_pointer_is_not_clicked', async () => {
    const bed = await open(`<a id=x role=button tabindex=0 onpointerdown="this.href = '/a'">Go</a>`);
    const { warnings } = await bed.click({ selector: '#x' });
    expect(warnings.join()).toMatch(/became another thing/);
    expect(bed.page.url()).toBe(HOME);
  });

  test('t138_a_form_that_goes_elsewhere_is_refused', async () => {
    const bed = await open(PAGE);
    const { token } = await bed.get('probe', { act: 'click', selector: 'button' });
    await bed.page.evaluate("document.querySelector('form').setAttribute('action', '/evil')");
    expect(await bed.refusal('click', { token })).toMatch(/changed its meaning/);
  });

  test('an_element_that_only_moved_is_clicked_where_it_is', async () => {
    const bed = await open(`<button onclick="this.textContent = 'Done'">Go</button>`);
    const { token } = await bed.get('probe', { act: 'click', selector: 'button' });
    await bed.page.evaluate("document.querySelector('button').style.marginTop = '300px'");
    expect((await bed.get('click', { token })).changed).toBe(true);
  });

  test('a_token_of_another_document_or_act_is_refused', async () => {
    const bed = await open(PAGE);
    const { token } = await bed.get('probe', { act: 'click', selector: '#x' });
    expect(await bed.refusal('click', { token, modifiers: ['Control'] })).toMatch(/not the one that was looked at/);
    const again = await bed.get('probe', { act: 'click', selector: '#x' });
    await bed.renew();
    expect(await bed.refusal('click', { token: again.token })).toMatch(/another page or done already/);
  });
});

describe('fill', () => {
  test('a_text_field_gets_value_and_events', async () => {
    const bed = await open(`<input value=old>${LOG}`);
    expect(await bed.fill({ selector: 'input' }, 'new')).toMatchObject({ changed: true, value: 'as given' });
    expect(await bed.page.inputValue('input')).toBe('new');
    expect(await bed.page.evaluate('log')).toEqual(['focusin', 'beforeinput', 'input', 'change']);
    await bed.fill({ selector: 'input' }, '!', { mode: 'append' });
    expect(await bed.page.inputValue('input')).toBe('new!');
  });

  test('a_value_that_the_site_undoes_is_different', async () => {
    const bed = await open(`<input oninput="this.value = this.value.toUpperCase()">`);
    const effects = await bed.fill({ selector: 'input' }, 'quiet');
    expect(effects.value).toBe('different');
    expect(JSON.stringify(effects)).not.toMatch(/quiet/i);
  });

  test('t154_a_filled_secret_comes_back_nowhere', async () => {
    const bed = await open('<input type=password aria-label=Password>');
    expect(JSON.stringify(await bed.fill({ selector: 'input' }, 'hunter2-very-secret'))).not.toContain('hunter2');
    expect((await bed.lines()).join()).toContain('filled');
    expect((await bed.lines()).join()).not.toContain('hunter2');
  });

  test('a_list_takes_value_then_exact_label', async () => {
    const bed = await open('<select><option value=s>Small<option value=l>Large</select>');
    await bed.fill({ selector: 'select' }, 'Large');
    expect(await bed.page.inputValue('select')).toBe('l');
    await bed.fill({ selector: 'select' }, 's');
    expect(await bed.page.inputValue('select')).toBe('s');
    await expect(bed.fill({ selector: 'select' }, 'Huge')).rejects.toThrow(/It has: "Small", "Large"/);
  });

  test('checkbox_radio_and_switch_take_true_or_false', async () => {
    const bed = await open(`<input type=checkbox id=c><input type=radio name=r id=r><div role=switch tabindex=0
      aria-checked=false id=s onclick="this.setAttribute('aria-checked', 'true')">Wi-Fi</div>`);
    expect((await bed.fill({ selector: '#c' }, 'true')).value).toBe('as given');
    expect((await bed.fill({ selector: '#c' }, 'true')).value).toBe('as given');
    expect(await bed.page.isChecked('#c')).toBe(true);
    expect((await bed.fill({ selector: '#r' }, 'true')).value).toBe('as given');
    await expect(bed.fill({ selector: '#r' }, 'false')).rejects.toThrow(/choosing another/);
    expect((await bed.fill({ selector: '#s' }, 'true')).value).toBe('as given');
    await expect(bed.fill({ selector: '#c' }, 'yes')).rejects.toThrow(/true or false/);
  });

  test('an_editor_is_written_through_the_editing_command', async () => {
    const bed = await open(`<div contenteditable aria-label=Body>old <b>text</b></div>${LOG}`);
    expect((await bed.fill({ selector: 'div' }, 'new text')).value).toBe('as given');
    expect(await bed.page.textContent('div')).toBe('new text');
    expect(await bed.page.evaluate('log')).toEqual(expect.arrayContaining(['beforeinput', 'input']));
    expect((await bed.fill({ selector: 'div' }, ' more', { mode: 'append' })).value).toBe('as given');
    expect(await bed.page.textContent('div')).toBe('new text more');
  });

  test('an_editor_with_a_model_of_its_own_takes_the_text', async () => {
    const bed =
      await open(`<div contenteditable>old</div><script>document.querySelector('div').addEventListener('beforeinput', (e) => {
      e.preventDefault(); const { data } = e; setTimeout(() => { e.target.textContent = data; }, 10); })</script>`);
    expect((await bed.fill({ selector: 'div' }, 'new')).value).toBe('as given');
    expect(await bed.page.textContent('div')).toBe('new');
  });

  test('an_editor_that_refuses_the_text_is_different', async () => {
    const bed = await open('<div contenteditable onbeforeinput="return false">old</div>');
    expect((await bed.fill({ selector: 'div' }, 'new')).value).toBe('different');
  });

  test.each([
    ['<input readonly>', /read-only/],
    ['<input maxlength=3>', /at most 3 characters/],
    ['<input type=file>', /upload tool/],
    ['<input type=submit>', /use page_click/],
    ['<p>text</p>', /not a field/],
  ])('%s is not filled', async (html, why) => {
    const bed = await open(html);
    await expect(bed.fill({ selector: 'input, p' }, 'four')).rejects.toThrow(why);
  });

  test('submit_presses_the_default_button_once', async () => {
    const bed = await open(`<form onsubmit="this.title += 's'; return false" action="/to"><input><button
      onclick="this.form.title += 'b'">Go</button></form>`);
    const probe = await bed.get('probe', { act: 'fill', selector: 'input', submit: true });
    expect([probe.kind, probe.destination]).toEqual(['submit', `${HOME}to`]);
    await bed.fill({ selector: 'input' }, 'x', { submit: true });
    expect(await bed.page.getAttribute('form', 'title')).toBe('bs');
  });
});

test('scrolling_says_where_it_led', async () => {
  const bed = await open(
    '<div style="height:5000px"></div><div id=box style="height:100px;overflow:auto"><button>a</button><div style="height:900px"></div></div>',
  );
  expect(await bed.get('scroll', { direction: 'down', pixels: 300 })).toMatchObject({
    changed: true,
    scroll: { top: 300, view: 720 },
  });
  const ref = await bed.refOf('button "a"');
  expect(await bed.get('scroll', { ref, direction: 'bottom' })).toMatchObject({ changed: true, scroll: { top: 821 } });
  await bed.get('scroll', { ref });
  expect((await bed.get('rect', { ref })).rect.width).toBeGreaterThan(0);
});
