/* A throwaway home for one test: its own runtime, state and data folders, so that runs never meet each other
   or the person's own genkan. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '..');
export const BINARY = process.env['GENKAN_BINARY'] ?? path.join(ROOT, 'target/debug/genkan');
export const EXTENSION = path.join(ROOT, 'build/extension/chrome-mv3');

export class Home {
  readonly dir: string;
  /** What a process of this home sees; nothing of the caller's environment but PATH and the display. */
  readonly env: Record<string, string>;

  constructor(label = 'home') {
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), `genkan-${label}-`));
    const run = path.join(this.dir, 'run');
    fs.mkdirSync(run, { mode: 0o700 });
    this.env = {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: this.dir,
      XDG_RUNTIME_DIR: run,
      XDG_STATE_HOME: path.join(this.dir, 'state'),
      XDG_CONFIG_HOME: path.join(this.dir, 'config'),
      XDG_DATA_HOME: path.join(this.dir, 'data'),
      XDG_CACHE_HOME: path.join(this.dir, 'cache'),
      GENKAN_LOG: process.env['GENKAN_LOG'] ?? 'warn',
    };
    const display = process.env['DISPLAY'];
    if (display) this.env['DISPLAY'] = display;
  }

  path(...parts: string[]): string {
    return path.join(this.dir, ...parts);
  }

  remove(): void {
    fs.rmSync(this.dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Resolves when `probe` gives something other than undefined, null or false; fails with `what` after the bound. */
export async function until<T>(
  what: string,
  probe: () => Promise<T> | T,
  boundMs = 20_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const end = performance.now() + boundMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined && value !== null && value !== false) return value as NonNullable<Exclude<T, false>>;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) throw new Error(`waited ${boundMs} ms for ${what}${last ? `: ${String(last)}` : ''}`);
    await new Promise((resume) => setTimeout(resume, 25));
  }
}
