/* The floor under every figure: what a bare Unix socket, a bare native messaging host and a bare extension cost in this run. */
import { execFile, execFileSync, fork } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { type BrowserContext, chromium, type Worker } from 'playwright-core';
import { BINARY, type Home, until } from '../home.ts';
import { median } from './median.ts';

const HERE = path.join(import.meta.dirname, 'floor');

export type Floor = { echo: number; tabs: number; content: number };

/** Milliseconds of one 200-byte line to another process and back. */
export async function socketEcho(home: Home, rounds = 500): Promise<number> {
  const address = home.path('echo.sock');
  const server = fork(path.join(HERE, 'echo.ts'), [address], { stdio: 'ignore' });
  await new Promise((ready) => server.once('message', ready));
  const socket = net.connect(address);
  const line = `${'x'.repeat(199)}\n`;
  const times: number[] = [];
  for (let i = 0; i < rounds; i += 1) {
    const begun = performance.now();
    socket.write(line);
    await new Promise((back) => socket.once('data', back));
    times.push(performance.now() - begun);
  }
  socket.destroy();
  server.kill('SIGTERM');
  return median(times);
}

function compiled(home: Home, name: string): string {
  const program = home.path(`floor-${name}`);
  execFileSync('cc', ['-O2', '-o', program, path.join(HERE, `${name}.c`)]);
  return program;
}

/** Median and 95th percentile in milliseconds of one `tab_list`, of a server of its own, as a bare client has them. */
export async function tabList(home: Home): Promise<{ median: number; p95: number }> {
  const client = compiled(home, 'client');
  const { stdout } = await promisify(execFile)(client, [BINARY], { env: home.env });
  const [, middle, p95] = stdout.trim().split(' ');
  return { median: Number(middle), p95: Number(p95) };
}

/** A browser whose extension does nothing but answer a bare host. It stays open, so that genkan and its floor can take turns. */
export class BareBrowser {
  readonly #context: BrowserContext;
  readonly #worker: Worker;
  readonly #results: string;

  private constructor(context: BrowserContext, worker: Worker, results: string) {
    this.#context = context;
    this.#worker = worker;
    this.#results = results;
  }

  static async start(home: Home, pageUrl: string, args: string[]): Promise<BareBrowser> {
    const host = compiled(home, 'host');
    const results = home.path('floor.txt');
    const wrapper = home.path('floor.sh');
    fs.writeFileSync(wrapper, `#!/bin/sh\nexec ${host} ${results}\n`, { mode: 0o755 });
    const profile = home.path('floor-profile');
    const manifests = path.join(profile, 'NativeMessagingHosts');
    fs.mkdirSync(manifests, { recursive: true });
    const extension = path.join(HERE, 'extension');
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      headless: false,
      env: home.env,
      args: [...args, `--disable-extensions-except=${extension}`, `--load-extension=${extension}`],
    });
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'));
    const manifest = {
      name: 'floor',
      description: 'floor',
      path: wrapper,
      type: 'stdio',
      allowed_origins: [`chrome-extension://${new URL(worker.url()).hostname}/`],
    };
    fs.writeFileSync(path.join(manifests, 'floor.json'), JSON.stringify(manifest));
    // Beside the first tab, as in the profile that genkan is measured in: the same query, the same two tabs.
    const page = await context.newPage();
    await page.goto(pageUrl);
    return new BareBrowser(context, worker, results);
  }

  /** Medians of the bare host's round trips, measured inside the host. */
  async measure(): Promise<Floor> {
    fs.rmSync(this.#results, { force: true });
    await this.#worker.evaluate(async () => await (globalThis as unknown as { go(): Promise<void> }).go());
    const rows = await until('the bare host to finish', () => {
      const text = fs.existsSync(this.#results) ? fs.readFileSync(this.#results, 'utf8') : '';
      return text.includes('done') && text;
    });
    const of = (name: string) => Number(new RegExp(`^${name} ([\\d.]+)`, 'm').exec(rows)?.[1]);
    return { echo: of('echo'), tabs: of('tabs'), content: of('content') };
  }

  async stop(): Promise<void> {
    await this.#context.close();
  }
}
