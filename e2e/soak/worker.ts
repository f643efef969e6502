/* One MCP client of the soak: random calls, cancels and restarts of its own server, and a judgement of every answer. */
import { Client, type Content, textOf } from '../client.ts';
import type { Home } from '../home.ts';
import type { Random } from './random.ts';

/** What the whole run counts. */
export class Tally {
  calls = 0;
  answered = 0;
  cancelled = 0;
  lost = 0;
  restarts = 0;
  slowest = 0;
  readonly refusals = new Map<string, { count: number; first: string }>();
  readonly faults: string[] = [];
  /** Texts that an answer said were filled in. */
  readonly filled = new Set<string>();
  /** Texts that were sent to be filled in. */
  readonly sent = new Set<string>();

  fault(what: string): void {
    this.faults.push(what);
    console.log(`✖ ${what}`);
  }
}

/** The longest that any call may take: the budget without progress, and time for a machine under load. */
export const DEADLINE_MS = 55_000 + 20_000;
/** Marks in pages and values: `soak-<client>-<number>.` */
const MARK = /soak-(\d+)-\d+\./g;

export class SoakClient {
  readonly #home: Home;
  readonly #random: Random;
  readonly #tally: Tally;
  readonly #number: number;
  readonly #browsers: string[];
  readonly #page: string;
  #client: Client | undefined;
  #marks = 0;
  #stopping = false;

  constructor(home: Home, random: Random, tally: Tally, number: number, browsers: string[], page: string) {
    this.#home = home;
    this.#random = random;
    this.#tally = tally;
    this.#number = number;
    this.#browsers = browsers;
    this.#page = `${page}?soak-${number}-0.`;
  }

  get pid(): number | undefined {
    return this.#client?.process.pid;
  }

  stop(): void {
    this.#stopping = true;
  }

  /** Calls until it is stopped. Its server may be killed at any time; then it starts another. */
  async run(): Promise<void> {
    while (!this.#stopping) {
      const era = this.#random.chance(1, 2) ? 'modern' : 'legacy';
      try {
        this.#client = await Client.start(this.#home, era);
        this.#client.process.stdin.on('error', () => {});
        await this.#life(this.#client, this.#random.of(this.#browsers) ?? '');
        await this.#client.stop();
      } catch {
        // Its server was killed, which is the point; what it owed is judged by the effects.
        this.#tally.lost += 1;
      }
      this.#tally.restarts += 1;
    }
  }

  async #life(client: Client, browser: string): Promise<void> {
    const scripted = browser === 'scripted';
    // Without a tab of its own it would share the one in front with others.
    const opened = scripted ? '' : await this.#call(client, 'tab_open', { browser, url: this.#page });
    if (opened === undefined) return;
    const calls = 5 + this.#random.below(40);
    for (let i = 0; i < calls && !this.#stopping; i += 1) {
      await this.#step(client, browser);
      await new Promise((resume) => setTimeout(resume, this.#random.below(120)));
    }
    const tabId = Number(/Tab (\d+)/.exec(opened)?.[1]);
    if (!scripted) await this.#call(client, 'tab_close', { browser, tabId });
  }

  async #step(client: Client, browser: string): Promise<void> {
    const kind = this.#random.below(10);
    if (kind < 4) {
      const value = `soak-${this.#number}-${++this.#marks}.`;
      this.#tally.sent.add(value);
      const text = await this.#call(client, 'page_fill', { browser, selector: '#field', value });
      if (text !== undefined) this.#tally.filled.add(value);
    } else if (kind < 6) {
      const text = await this.#call(client, 'page_text', { browser });
      if (text !== undefined && browser !== 'scripted' && !text.includes(`soak-${this.#number}-0.`)) {
        this.#tally.fault(`client ${this.#number} read another page: ${text.slice(0, 200)}`);
      }
    } else if (kind < 8) {
      await this.#call(client, 'tab_list', { browser });
    } else if (kind < 9) {
      await this.#call(client, 'list_browsers', {});
    } else {
      await this.#cancelled(client, browser);
    }
  }

  /** The text of a success; undefined for a refusal. */
  async #call(client: Client, name: string, args: Record<string, unknown>): Promise<string | undefined> {
    this.#tally.calls += 1;
    const begun = performance.now();
    const hang = setTimeout(
      () => this.#tally.fault(`${name} of client ${this.#number} hung past its deadline`),
      DEADLINE_MS,
    );
    try {
      const { answer } = client.send('tools/call', { name, arguments: args });
      const line = await answer;
      this.#tally.answered += 1;
      this.#tally.slowest = Math.max(this.#tally.slowest, performance.now() - begun);
      const result = line.result as { content: Content[]; isError?: boolean } | undefined;
      if (!result) throw new Error(`${name}: ${JSON.stringify(line.error)}`);
      const text = textOf(result);
      this.#own(name, text);
      if (!result.isError) return text;
      const code = text.split(':')[0] ?? '';
      const refused = this.#tally.refusals.get(code) ?? { count: 0, first: text };
      this.#tally.refusals.set(code, { ...refused, count: refused.count + 1 });
      return undefined;
    } finally {
      clearTimeout(hang);
    }
  }

  /** Whatever carries a mark carries ours. A list of tabs shows everybody's addresses, by design. */
  #own(name: string, text: string): void {
    if (name === 'tab_list') return;
    for (const [, owner] of text.matchAll(MARK)) {
      if (Number(owner) !== this.#number) {
        this.#tally.fault(
          `client ${this.#number} received an answer of client ${owner}: ${name} ${text.slice(0, 200)}`,
        );
      }
    }
  }

  async #cancelled(client: Client, browser: string): Promise<void> {
    this.#tally.calls += 1;
    const args = { browser, text: `never-${this.#number}`, timeoutMs: 30_000 };
    const { id, answer } = client.send('tools/call', { name: 'page_wait_for', arguments: args });
    await new Promise((resume) => setTimeout(resume, this.#random.below(200)));
    client.notify('notifications/cancelled', { requestId: id });
    this.#tally.cancelled += 1;
    const late = Promise.race([
      answer.then(() => true).catch(() => false),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 300)),
    ]);
    // It may have been answered, and refused, before the cancellation arrived; both are fine, a fault is not.
    await late;
  }
}
