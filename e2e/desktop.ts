/* A screen that no person looks at, for what only a headed browser does: its own prompts, windows above windows, and input
   that comes from the window system instead of the debugging protocol. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';

/** An X server of our own on a free display, with a window manager so that dialogs get the keyboard. */
export class Desktop {
  readonly display: string;
  readonly #children: ChildProcess[];

  private constructor(display: string, children: ChildProcess[]) {
    this.display = display;
    this.#children = children;
  }

  static async start(): Promise<Desktop> {
    const server = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const display = await new Promise<string>((resolve, reject) => {
      server.stdout?.once('data', (chunk: Buffer) => resolve(`:${chunk.toString().trim()}`));
      server.once('exit', () => reject(new Error('Xvfb did not start')));
    });
    const manager = spawn('openbox', [], { env: { ...process.env, DISPLAY: display }, stdio: 'ignore' });
    return new Desktop(display, [manager, server]);
  }

  keys(...keys: string[]): void {
    execFileSync('xdotool', ['key', '--delay', '60', ...keys], { env: { ...process.env, DISPLAY: this.display } });
  }

  /** Moves the real pointer in one jump, as a page that guessed the place would have it. */
  jump(x: number, y: number): void {
    this.#xdotool('mousemove', `${Math.round(x)}`, `${Math.round(y)}`);
  }

  /** Moves the real pointer by small steps from where it is, as a hand does. */
  wander(steps = 12): void {
    for (let i = 0; i < steps; i++) this.#xdotool('mousemove_relative', '--', i % 2 === 0 ? '-9' : '8', '4');
  }

  press(): void {
    this.#xdotool('click', '1');
  }

  /** Names of the windows from the lowest to the one on top. */
  stack(): string[] {
    const line = execFileSync('xprop', ['-root', '_NET_CLIENT_LIST_STACKING'], { env: this.#env, encoding: 'utf8' });
    return (line.match(/0x[0-9a-f]+/g) ?? []).map((id) => {
      const name = execFileSync('xprop', ['-id', id, 'WM_NAME'], { env: this.#env, encoding: 'utf8' });
      return /"(.*)"/.exec(name)?.[1] ?? '';
    });
  }

  get #env(): Record<string, string | undefined> {
    return { ...process.env, DISPLAY: this.display };
  }

  #xdotool(...words: string[]): void {
    execFileSync('xdotool', words, { env: this.#env });
  }

  windows(): string[] {
    const ids = execFileSync('xdotool', ['search', '--onlyvisible', '--name', ''], {
      env: { ...process.env, DISPLAY: this.display },
      encoding: 'utf8',
    });
    return ids.trim().split('\n');
  }

  stop(): void {
    for (const child of this.#children) child.kill('SIGTERM');
  }
}
