/* The soak: many clients, two real Chromiums with the built extension and a scripted one, random calls and cancels while
   any process of genkan is killed or told to end at any time. The pages count what really happened.
   Decides: no answer reaches another client, no act happens twice, whatever was answered as done was done, no call
   outlives its deadline, no process grows. `SEED` chooses the run, `SECONDS` its length. */
import fs from 'node:fs';
import type http from 'node:http';
import path from 'node:path';
import { Browser } from '../browser.ts';
import { BINARY, Home } from '../home.ts';
import { Site } from '../site.ts';
import { Random } from './random.ts';
import { ScriptedBrowser } from './scripted.ts';
import { DEADLINE_MS, SoakClient, Tally } from './worker.ts';

const seed = Number(process.env['SEED'] ?? 1);
const seconds = Number(process.env['SECONDS'] ?? 600);
const clientCount = Number(process.env['CLIENTS'] ?? 20);
const RESIDENT_MB_MAX = 15;

const PAGE = `<!doctype html><meta charset="utf-8"><title>Soak</title><p id="whose"></p><input id="field">
<script>
document.getElementById('whose').textContent = location.search.slice(1);
document.getElementById('field').addEventListener('input', (event) => {
  navigator.sendBeacon('/effect', event.target.value);
});
</script>`;

const random = new Random(seed);
const tally = new Tally();
const effects = new Map<string, number>();
const home = new Home('soak');
const site = await Site.start({
  '/': PAGE,
  '/effect': (request: http.IncomingMessage, response: http.ServerResponse) => {
    let value = '';
    request.on('data', (chunk: Buffer) => {
      value += chunk.toString();
    });
    request.on('end', () => {
      effects.set(value, (effects.get(value) ?? 0) + 1);
      response.writeHead(204).end();
    });
  },
});

/** Processes of this run that execute genkan, by the kernel's word. */
function genkans(): { pid: number; role: 'server' | 'host' }[] {
  const found: { pid: number; role: 'server' | 'host' }[] = [];
  for (const name of fs.readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    try {
      if (fs.readlinkSync(`/proc/${pid}/exe`) !== BINARY) continue;
      if (!fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`XDG_RUNTIME_DIR=${home.env['XDG_RUNTIME_DIR']}`))
        continue;
      const host = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--native-host');
      found.push({ pid, role: host ? 'host' : 'server' });
    } catch {
      // It ended meanwhile.
    }
  }
  return found;
}

function residentMb(pid: number): number {
  try {
    const line = /VmRSS:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
    return Number(line?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

function broker(): number | undefined {
  try {
    const text = fs.readFileSync(path.join(home.env['XDG_RUNTIME_DIR'] ?? '', 'genkan/run.lock'), 'utf8');
    return (JSON.parse(text) as { pid: number }).pid;
  } catch {
    return undefined;
  }
}

async function killWorker(browser: Browser): Promise<void> {
  const page = browser.context.pages()[0];
  if (!page) return;
  const session = await browser.context.newCDPSession(page);
  const { targetInfos } = await session.send('Target.getTargets');
  const worker = targetInfos.find((info) => info.type === 'service_worker' && info.url.includes(browser.id));
  if (worker) await session.send('Target.closeTarget', { targetId: worker.targetId });
  await session.detach();
}

const kills = { brokers: 0, servers: 0, hosts: 0, workers: 0, polite: 0 };

/** One misfortune. Only processes of this run, by pid. */
async function misfortune(browsers: Browser[]): Promise<void> {
  const kind = random.below(10);
  if (kind === 0) {
    const browser = random.of(browsers);
    if (browser) await killWorker(browser);
    kills.workers += 1;
    return;
  }
  const all = genkans();
  const wanted = kind < 4 ? all.find(({ pid }) => pid === broker()) : random.of(all);
  if (!wanted) return;
  const polite = random.chance(1, 2);
  try {
    process.kill(wanted.pid, polite ? 'SIGTERM' : 'SIGKILL');
  } catch {
    return;
  }
  if (polite) kills.polite += 1;
  if (wanted.pid === broker()) kills.brokers += 1;
  else if (wanted.role === 'host') kills.hosts += 1;
  else kills.servers += 1;
}

function judge(scripted: ScriptedBrowser): void {
  const happened = new Map([...effects, ...scripted.effects].map(([value]) => [value, 0]));
  for (const counted of [effects, scripted.effects]) {
    for (const [value, times] of counted) happened.set(value, (happened.get(value) ?? 0) + times);
  }
  for (const [value, times] of happened) {
    if (times > 1) tally.fault(`${value} was filled in ${times} times`);
    if (!tally.sent.has(value)) tally.fault(`${value} was filled in and nobody sent it`);
  }
  for (const value of tally.filled) {
    if (!happened.has(value)) tally.fault(`${value} was answered as filled in and never was`);
  }
}

console.log(`soak: seed ${seed}, ${seconds} s, ${clientCount} clients, 2 browsers and a scripted one`);
const browsers = [
  await Browser.start(home, { granted: ['http://127.0.0.1/*'], profile: 'one' }),
  await Browser.start(home, { granted: ['http://127.0.0.1/*'], profile: 'two' }),
];
const scripted = new ScriptedBrowser(home, random);
let peak = 0;
try {
  for (const browser of browsers) await browser.approve(await browser.page(site.url()));
  const names = await names3();
  const clients = Array.from(
    { length: clientCount },
    (_, number) => new SoakClient(home, new Random(seed * 1_000 + number), tally, number, names, site.url()),
  );
  const running = clients.map((client) => client.run());
  const end = performance.now() + seconds * 1_000;
  let told = performance.now();
  while (performance.now() < end) {
    await new Promise((resume) => setTimeout(resume, 500 + random.below(2_500)));
    for (const { pid } of genkans()) peak = Math.max(peak, residentMb(pid));
    await misfortune(browsers).catch(() => {});
    if (performance.now() - told > 30_000) {
      told = performance.now();
      console.log(`  ${tally.calls} calls, ${tally.faults.length} faults, ${JSON.stringify(kills)}`);
    }
  }
  for (const client of clients) client.stop();
  await Promise.race([Promise.all(running), new Promise((resume) => setTimeout(resume, DEADLINE_MS))]);
  await new Promise((resume) => setTimeout(resume, 1_000));
  judge(scripted);
} finally {
  scripted.stop();
  for (const browser of browsers) await browser.stop().catch(() => {});
  await site.stop();
  home.remove();
}
if (peak > RESIDENT_MB_MAX) tally.fault(`a process grew to ${peak.toFixed(1)} MB`);

const refusals = [...tally.refusals.values()]
  .sort((a, b) => b.count - a.count)
  .map(({ count, first }) => `\n  ${String(count).padStart(5)} × such as ${first.slice(0, 200)}`);
console.log(
  `calls        ${tally.calls} (${tally.answered} answered, ${tally.cancelled} cancelled, ${tally.lost} lost with their server)`,
);
console.log(`refusals     ${refusals.join('') || 'none'}`);
console.log(
  `acts         ${tally.sent.size} sent, ${tally.filled.size} answered as done, ${effects.size + scripted.effects.size} happened`,
);
console.log(`ended        ${JSON.stringify(kills)}, ${tally.restarts} server lives`);
console.log(`slowest      ${(tally.slowest / 1000).toFixed(1)} s`);
console.log(`resident     ${peak.toFixed(1)} MB at most`);
console.log(tally.faults.length === 0 ? 'soak: 0 faults' : `soak: ${tally.faults.length} faults`);
process.exit(tally.faults.length === 0 ? 0 : 1);

/** How the three browsers are named, once all are there. */
async function names3(): Promise<string[]> {
  const { Client } = await import('../client.ts');
  const client = await Client.start(home);
  try {
    for (;;) {
      const { structuredContent } = await client.call('list_browsers');
      const rows = (structuredContent?.['browsers'] ?? []) as { browser: string }[];
      if (rows.length === 3) return rows.map((row) => row.browser);
      await new Promise((resume) => setTimeout(resume, 200));
    }
  } finally {
    await client.stop();
  }
}
