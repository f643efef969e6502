/* A browser that is only a script: it starts the genuine host as a browser does and answers every call itself, late, out of
   order or not at all. Each answer repeats what the call carried, so whoever receives it can tell whether it is theirs. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { BINARY, type Home } from '../home.ts';
import type { Random } from './random.ts';

type Request = { id: number; op: string; args: Record<string, unknown>; caller: { key: string } };

export class ScriptedBrowser {
  /** How often each text arrived to be filled in, by all lives of this browser. */
  readonly effects = new Map<string, number>();
  readonly #home: Home;
  readonly #random: Random;
  #host: ChildProcessWithoutNullStreams;
  #stopped = false;

  constructor(home: Home, random: Random) {
    this.#home = home;
    this.#random = random;
    this.#host = this.#start();
  }

  get pid(): number | undefined {
    return this.#host.pid;
  }

  stop(): void {
    this.#stopped = true;
    this.#host.stdin.end();
  }

  #start(): ChildProcessWithoutNullStreams {
    const host = spawn(BINARY, ['--native-host', '--label', 'scripted'], { env: this.#home.env, stdio: 'pipe' });
    let rest = Buffer.alloc(0);
    host.stdout.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32LE(0)) {
        const end = 4 + rest.readUInt32LE(0);
        this.#take(host, JSON.parse(rest.subarray(4, end).toString()) as Record<string, unknown>);
        rest = rest.subarray(end);
      }
    });
    host.stderr.resume();
    host.stdin.on('error', () => {});
    host.once('exit', () => {
      if (!this.#stopped) setTimeout(() => (this.#host = this.#start()), 200 + this.#random.below(800));
    });
    return host;
  }

  #say(host: ChildProcessWithoutNullStreams, frame: unknown): void {
    if (host.stdin.destroyed || host.exitCode !== null) return;
    const body = Buffer.from(JSON.stringify(frame));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(body.length);
    host.stdin.write(Buffer.concat([length, body]));
  }

  #take(host: ChildProcessWithoutNullStreams, frame: Record<string, unknown>): void {
    if (frame['type'] === 'host_hello') {
      this.#say(host, {
        type: 'extension_hello',
        bridge: frame['bridge'],
        extension: '0.1.0',
        instance: '5c'.repeat(16),
        capabilities: ['tab_control', 'page_snapshot', 'page_interact', 'page_read'],
      });
    }
    if (typeof frame['op'] === 'string') this.#answer(host, frame as unknown as Request);
  }

  #answer(host: ChildProcessWithoutNullStreams, request: Request): void {
    const { id, op, args } = request;
    if (op === 'page_fill') {
      const value = String(args['value']);
      this.effects.set(value, (this.effects.get(value) ?? 0) + 1);
    }
    if (this.#random.chance(1, 50)) return;
    const text = `scripted ${op} ${JSON.stringify(args)}`;
    const answer = this.#random.chance(1, 10)
      ? { id, ok: false, error: { code: 'EXECUTION_FAILED', message: text } }
      : { id, ok: true, data: op === 'tab_list' ? { text, structured: { tabs: [] } } : { text } };
    setTimeout(() => {
      this.#say(host, answer);
      // Said twice at times: the second must reach nobody.
      if (this.#random.chance(1, 20)) this.#say(host, answer);
    }, this.#random.below(60));
  }
}
