/* Speed and size of the browser door, as ratios to the floor measured in the same run. Uses the release binary.
   Prints a table; a bound that is missed is marked and ends the run non-zero. */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { performance } from 'node:perf_hooks';

process.env['GENKAN_BINARY'] ??= path.resolve(import.meta.dirname, '../../target/release/genkan');
const { Browser, FLAGS } = await import('../browser.ts');
const { Client, textOf } = await import('../client.ts');
const { Home } = await import('../home.ts');
const { Site } = await import('../site.ts');
const { BareBrowser, socketEcho, tabList } = await import('./floor.ts');
const { median } = await import('./median.ts');

const DOCS =
  ['/usr/share/doc/python3.11/html', '/usr/share/doc/python3/html'].find((dir) => fs.existsSync(`${dir}/library`)) ??
  '';
const FORM = `<!doctype html><title>Form</title><h1>Order</h1><label>Name <input id=n></label><label>Email <input type=email></label>
<label>Size <select><option>S<option>M<option>L</select></label>
<button type=button onclick="document.getElementById('o').textContent = +document.getElementById('o').textContent + 1">Count</button><output id=o>0</output>`;

/** Pairs of floor and genkan. */
const TURNS = 9;

const rows: [string, string, string][] = [];
let missed = 0;
function row(what: string, value: string, bound = '', ok = true): void {
  if (!ok) missed += 1;
  rows.push([what, value, bound && `${ok ? '✔' : '✖'} ${bound}`]);
}

function doc(request: http.IncomingMessage, response: http.ServerResponse): void {
  const file = path.join(DOCS, path.normalize(new URL(request.url ?? '/', 'http://x').pathname));
  fs.readFile(file, (error, body) => {
    if (error) return response.writeHead(404).end();
    const type = file.endsWith('.css') ? 'text/css' : file.endsWith('.js') ? 'text/javascript' : 'text/html';
    response.writeHead(200, { 'content-type': type }).end(body);
  });
}

async function time(rounds: number, act: (i: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < rounds; i += 1) {
    const begun = performance.now();
    await act(i);
    times.push(performance.now() - begun);
  }
  return times;
}

function residentMb(pid: number | undefined): number {
  return Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** The native host of this home, found by its runtime folder in the environment. */
function hostPid(runtime: string): number | undefined {
  return fs
    .readdirSync('/proc')
    .map(Number)
    .find((pid) => {
      try {
        const command = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        return command.includes('--native-host') && fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes(runtime);
      } catch {
        return false;
      }
    });
}

const home = new Home('bench');
const site = await Site.start({ '/': FORM });
const docs = http.createServer(doc);
await new Promise<void>((ready) => docs.listen(0, '127.0.0.1', ready));
const docsUrl = `http://127.0.0.1:${(docs.address() as { port: number }).port}`;

console.log('measuring the floor …');
const socket = await socketEcho(home);
const bare = await BareBrowser.start(home, site.url(), ['--headless=new', ...FLAGS]);
const floor = await bare.measure();
row('floor: Unix socket echo', `${socket.toFixed(2)} ms`);
row('floor: native messaging echo', `${floor.echo.toFixed(2)} ms`);
row('floor: message to a content script', `${floor.content.toFixed(2)} ms`);

console.log('measuring genkan …');
const starts: number[] = [];
for (let i = 0; i < 10; i += 1) {
  const begun = performance.now();
  const client = await Client.start(home);
  const { result } = await client.request('tools/list');
  starts.push(performance.now() - begun);
  if (i === 0) {
    const bytes = JSON.stringify((result as { tools: unknown[] }).tools).length;
    row('16 definitions', `${bytes} bytes`, 'under 10,000', bytes < 10_000);
  }
  await client.stop();
}
row('start to tools/list', `${median(starts).toFixed(1)} ms`, 'under 50 ms', median(starts) < 50);

const browser = await Browser.start(home, { granted: ['http://127.0.0.1/*'] });
let client = await Client.start(home);
await client.text('tab_list');
const page = await browser.page(site.url());
await browser.approve(page);
await page.goto(`${docsUrl}/library/functions.html`);
await browser.approve(page);
await page.close();

await client.text('tab_open', { url: site.url() });
await client.stop();
// In turns: what else the machine does then falls on both.
const turns: { floor: number; median: number; p95: number }[] = [];
for (let i = 0; i < TURNS; i += 1) {
  const { tabs } = await bare.measure();
  turns.push({ floor: tabs, ...(await tabList(home)) });
}
await bare.stop();
const tabs = median(turns.map((turn) => turn.median));
const ratios = turns.map((turn) => turn.median / turn.floor).sort((a, b) => a - b);
row('floor: tab query by a bare host', `${median(turns.map((turn) => turn.floor)).toFixed(2)} ms`);
row(
  'tab_list, whole chain',
  `${tabs.toFixed(2)} ms (p95 ${median(turns.map((turn) => turn.p95)).toFixed(2)})`,
  `${median(ratios).toFixed(2)} × the bare tab query (${ratios.map((r) => r.toFixed(1)).join(' ')}), at most 3`,
  median(ratios) <= 3,
);
row('', '', `${(tabs / socket).toFixed(1)} × the socket echo`);

client = await Client.start(home);
await client.text('tab_open', { url: site.url() });
const snapshot = await client.text('page_snapshot');
const ref = (role: string) => new RegExp(`${role} .*?\\b(e\\d+)\\b`).exec(snapshot)?.[1] ?? '';
const clicks = await time(40, async () => await client.text('page_click', { ref: ref('button') }));
row(
  'page_click, effects reported',
  `${median(clicks).toFixed(1)} ms`,
  `${(median(clicks) / floor.content).toFixed(0)} × a bare message to the page`,
);
const fills = await time(40, async (i) => await client.text('page_fill', { ref: ref('textbox'), value: `Ada ${i}` }));
row('page_fill, read back', `${median(fills).toFixed(1)} ms`);

for (const [name, url, rounds] of [
  ['small', site.url(), 30],
  ['large', `${docsUrl}/library/functions.html`, 15],
  ['huge', `${docsUrl}/genindex-all.html`, 5],
] as const) {
  await client.text('page_navigate', { url });
  let size = 0;
  const times = await time(rounds, async () => {
    size = (await client.text('page_snapshot')).length;
  });
  row(
    `page_snapshot, ${name}`,
    `${median(times).toFixed(1)} ms, ${size} chars`,
    'at most 24,000 chars and its frame',
    size <= 25_000,
  );
}
const shown = textOf(await client.call('page_snapshot'));
fs.mkdirSync('build/bench', { recursive: true });
fs.writeFileSync('build/bench/snapshot-huge.txt', shown);

const server = residentMb(client.process.pid);
const host = residentMb(hostPid(home.env['XDG_RUNTIME_DIR'] ?? ''));
row('server resident', `${server.toFixed(1)} MB`, 'under 15 MB', server < 15);
row('native host resident', `${host.toFixed(1)} MB`, 'under 15 MB', host < 15);

await client.stop();
await browser.stop();
await site.stop();
docs.close();
home.remove();

console.log();
for (const [what, value, bound] of rows) console.log(`${what.padEnd(36)} ${value.padStart(26)}   ${bound}`);
if (missed > 0) console.log(`\n${missed} bound(s) missed`);
process.exit(missed === 0 ? 0 : 1);
