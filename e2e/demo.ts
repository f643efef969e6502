/* The main job, watched: an MCP client drives a real Chromium through the real host and the built extension.
   Prints a transcript and saves screenshots under build/demo. Ends non-zero if any step does not do what it says. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { answer, Browser } from './browser.ts';
import { Client, type ToolResult, textOf } from './client.ts';
import { Home, ROOT, until } from './home.ts';
import { Site } from './site.ts';

const SHOP = `<!doctype html><html lang="en"><title>Tea house</title>
<style>body{font:16px system-ui;max-width:36rem;margin:2rem auto}label{display:block;margin:.5rem 0}</style>
<h1>Tea house</h1>
<nav><a href="/about">About us</a></nav>
<p>Today: gyokuro, 30 g. Your session key is sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c.</p>
<form action="/order" method="post">
  <label>Name <input name="name"></label>
  <label>Bags <select name="bags"><option>1<option>2<option>3</select></label>
  <button type="button" id="count" onclick="document.getElementById('n').textContent = +document.getElementById('n').textContent + 1">Add one more</button>
  <output id="n">1</output>
  <button>Order</button>
</form></html>`;

const shots = path.join(ROOT, 'build/demo');
fs.mkdirSync(shots, { recursive: true });
let step = 0;

function say(text: string): void {
  step += 1;
  console.log(`\n\x1b[1m${step}. ${text}\x1b[0m`);
}

function show(text: string, lines = 14): void {
  const all = text.split('\n');
  for (const line of all.slice(0, lines)) console.log(`   │ ${line.slice(0, 140)}`);
  if (all.length > lines) console.log(`   │ … ${all.length - lines} more lines`);
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<ToolResult> {
  console.log(`   → ${name} ${JSON.stringify(args)}`);
  const result = await client.call(name, args);
  const image = result.content.find((block) => block.type === 'image');
  show(image ? `${image.mimeType}, ${Math.round((image.data?.length ?? 0) * 0.75)} bytes` : textOf(result));
  return result;
}

function refOf(snapshot: string, role: string, name: string): string {
  const line = snapshot.split('\n').find((each) => each.includes(role) && each.includes(name));
  const ref = line && /\b((?:f\d+:)?e\d+)\b/.exec(line)?.[1];
  assert.ok(ref, `the snapshot lists ${role} "${name}"`);
  return ref;
}

const home = new Home('demo');
const site = await Site.start({
  '/': SHOP,
  '/about': '<!doctype html><title>About</title><h1>About us</h1><p>A small house.',
  '/order': '<!doctype html><title>Thank you</title><h1>Thank you</h1><p>The order is on its way.',
});
let browser: Browser | undefined;
let second: Client | undefined;
let client: Client | undefined;
try {
  say('A real Chromium starts with the genkan extension; the browser starts the native host.');
  browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
  const tab = await browser.page(site.url());

  say('An MCP client starts `genkan` and asks what is there.');
  client = await Client.start(home);
  await call(client, 'list_browsers');
  await call(client, 'tab_list');

  say('The site is not approved, so the door stays shut.');
  const refused = await call(client, 'page_text');
  assert.match(textOf(refused), /SITE_NOT_ALLOWED/);

  say('The person opens the genkan popup on that tab and allows the site.');
  const popup = await browser.popup(tab);
  await until('the popup to load', () => popup.has('site-allow'));
  await popup.screenshot(path.join(shots, '1-popup.png'));
  await popup.click('site-allow');
  await until('the approval', () => popup.has('site-deny'));
  await popup.screenshot(path.join(shots, '2-popup-approved.png'));
  await popup.close();

  say('The client opens the page in its own tab and reads it. The key in the page text is masked.');
  await call(client, 'tab_open', { url: site.url() });
  const text = textOf(await call(client, 'page_text'));
  assert.match(text, /gyokuro/);
  assert.doesNotMatch(text, /4f9a8b7c6d5e/);

  say('It takes a snapshot, fills a field and presses a harmless button.');
  const snapshot = textOf(await call(client, 'page_snapshot'));
  await call(client, 'page_fill', { ref: refOf(snapshot, 'textbox', 'Name'), value: 'Sen no Rikyū' });
  await call(client, 'page_click', { ref: refOf(snapshot, 'button', 'Add one more') });

  say('It presses Order. That submits a form, so the person is asked in a window no page can reach; they refuse.');
  const order = refOf(snapshot, 'button', 'Order');
  const denied = call(client, 'page_click', { ref: order });
  const first = await browser.confirmation();
  await first.getByTestId('confirm-detail').waitFor();
  await first.screenshot({ path: path.join(shots, '3-confirm.png') });
  await answer(first, 'confirm-deny');
  assert.match(textOf(await denied), /USER_DENIED/);
  assert.ok(!site.hits.some((hit) => hit.startsWith('POST')), 'nothing was sent');

  say('The client asks again; this time the person allows it, and the form is sent.');
  const allowed = call(client, 'page_click', { ref: order });
  await answer(await browser.confirmation(), 'confirm-allow');
  await allowed;
  await until('the order to arrive', () => site.hits.some((hit) => hit.startsWith('POST')));
  await call(client, 'page_text');

  say('A second client comes: its server relays to the first one, and both work in the same browser, each in its tab.');
  second = await Client.start(home);
  await call(second, 'tab_open', { url: site.url('/about') });
  assert.match(textOf(await call(second, 'page_text')), /A small house/);
  assert.match(textOf(await call(client, 'page_text')), /on its way/);

  say('The first client is killed outright. The second takes the door over within its next call.');
  client.process.kill('SIGKILL');
  assert.match(textOf(await call(second, 'page_text')), /A small house/);

  say('The person presses the kill switch in the popup: everything stops, and nothing but a terminal brings it back.');
  const last = await browser.popup(tab);
  await until('the switch', () => last.has('kill-engage'));
  await last.click('kill-engage');
  await until('everything to be stopped', () => last.has('killed'));
  await last.screenshot(path.join(shots, '4-stopped.png'));
  await last.close();
  assert.match(textOf(await call(second, 'page_text')), /BRIDGE_KILLED/);

  console.log(`\nThe main job works. Screenshots: ${path.relative(ROOT, shots)}/`);
} finally {
  await second?.stop();
  await client?.stop();
  await browser?.stop();
  await site.stop();
  home.remove();
}
