/* The kill switch in this browser: a mirror of the host's latch, kept in trusted storage so that it outlives the worker.
   Decides whether any call may run now: only while the host of this very connection has said that the switch is off, in an
   epoch no lower than the highest seen. Everything else refuses: nothing said yet, a damaged record, storage that cannot be
   read or written, an older record put back. It engages at once, in memory, before anything is awaited; and what the person
   engaged here holds until a host has taken it over, so that a word from before cannot release it. Only the host's word
   "killed: false" releases. For an act that is not enough: host, browser and pipe may have stood still since that word, so
   an act begins only within a moment of asking. Knows no browser interface: storage, the host and the running calls are handed in. */
import { z } from 'zod';
import { ERROR_SPECS } from '../contract/errors';
import type { KillStatusResult } from '../contract/frames';
import { ACT_FRESH_MS } from '../contract/limits';
import { Refused } from '../gate/refused';

const Kept = z.strictObject({
  version: z.literal(1),
  killed: z.boolean(),
  /** Engaged here, and no host has it on its disk yet. */
  pending: z.boolean(),
  /** The highest epoch seen. */
  epoch: z.int().nonnegative(),
  /** The epoch of the last engagement seen. */
  engaged: z.int().nonnegative(),
});
export type Kept = z.infer<typeof Kept>;

export type Outside = {
  load(): Promise<unknown>;
  save(kept: Kept): Promise<void>;
  /** Ends every running call with this reason, before it returns. */
  stop(why: Refused): void;
  /** Resolves when no page can act any more on what was sent before. */
  quiet(): Promise<void>;
  /** Asks the host to engage. */
  tell(): Promise<KillStatusResult>;
  /** Asks the host where it stands. The answer is heard before this resolves. */
  ask(): Promise<KillStatusResult>;
  /** Milliseconds since 1970. */
  now(): number;
  changed(): void;
};

/** Why calls are refused; `sentence` where the host or the browser said more. */
export type Why = 'here' | 'host' | 'damaged' | 'rolled_back' | 'storage';
export type KillView =
  | { state: 'clear' }
  | { state: 'untold'; killed: boolean }
  | { state: 'killed'; why: Why; sentence?: string; warning?: string };

const UNTOLD = 'The genkan program has not said yet whether the kill switch is off, so nothing runs. Try again.';
/** Nothing is known, so nothing runs until the host has spoken. */
const UNKNOWN: Kept = { version: 1, killed: true, pending: false, epoch: 0, engaged: 0 };

export class KillMirror {
  readonly #outside: Outside;
  #kept: Kept = UNKNOWN;
  #view: KillView = { state: 'untold', killed: false };
  readonly #loading: Promise<void>;
  /** The newest word; an older one that is still being written down no longer counts. */
  #word = 0;
  #settling: Promise<void> | null = null;
  #writing: Promise<unknown> = Promise.resolve();
  /** What is in storage is older than what is in memory. */
  #unsaved = false;
  /** When the host was asked last, of those times that it said the switch is off. */
  #asked = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;

  constructor(outside: Outside) {
    this.#outside = outside;
    this.#loading = this.#load();
  }

  get view(): KillView {
    return this.#view;
  }

  /** Whether it is on, or was when last heard of. */
  get killed(): boolean {
    return this.#view.state === 'killed' || (this.#view.state === 'untold' && this.#view.killed);
  }

  /** Throws while nothing may run. Gives nothing where calls run at once, else what to wait for. */
  pass(): Promise<void> | undefined {
    if (this.#view.state === 'clear') return undefined;
    if (this.#settling === null) throw refusalOf(this.#view);
    return this.#settling.then(() => {
      if (this.#view.state !== 'clear') throw refusalOf(this.#view);
    });
  }

  /** Until when an act may begin; asks the host unless that was done a moment ago. Throws while nothing may run. */
  async fresh(signal: AbortSignal): Promise<number> {
    for (;;) {
      await this.pass();
      signal.throwIfAborted();
      const since = this.#outside.now() - this.#asked;
      // A clock that was set back makes no question younger.
      if (since >= 0 && since <= ACT_FRESH_MS) return this.#asked + ACT_FRESH_MS;
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = null;
      });
      await this.#asking;
    }
  }

  /** The port came or went: what the host before it said is over. */
  unknown(): void {
    this.#word += 1;
    this.#settling = null;
    if (this.#view.state !== 'untold') this.#become({ state: 'untold', killed: this.#view.state === 'killed' });
  }

  hear(frame: KillStatusResult): void {
    const word = ++this.#word;
    this.#settling = null;
    if (!frame.ok) this.#engage({ state: 'killed', why: 'damaged', sentence: frame.error.message });
    else if (frame.killed) this.#engage({ state: 'killed', why: 'host', ...warningOf(frame) });
    const settling = this.#loading.then(() => (frame.ok ? this.#settle(frame, word) : undefined));
    if (!frame.ok || frame.killed) return;
    this.#settling = settling.finally(() => {
      if (this.#word === word) this.#settling = null;
    });
  }

  /** The person engages it: in memory first, then in storage, then at the host. Fails with what could not be done; it holds
      in any case. */
  async engage(): Promise<void> {
    this.#word += 1;
    this.#settling = null;
    this.#engage({ state: 'killed', why: 'here' });
    await this.#loading;
    const [stored] = await Promise.allSettled([this.#keep({ ...this.#kept, killed: true, pending: true })]);
    const [answer] = await Promise.all([this.#outside.tell(), this.#outside.quiet()]);
    if (!answer.ok) throw new Refused(answer.error.code, answer.error.message);
    if (stored.status === 'rejected') throw new Refused('INTERNAL_ERROR', SENTENCES.storage);
  }

  /** Asks again for what no host has taken over yet. */
  async again(): Promise<void> {
    if (this.#kept.pending) await this.#outside.tell().catch(() => undefined);
  }

  /** The time of the question counts: whatever holds up the answer makes it older, never younger. */
  async #ask(): Promise<void> {
    const asked = this.#outside.now();
    const word = await this.#outside.ask();
    if (word.ok && !word.killed) this.#asked = asked;
  }

  async #load(): Promise<void> {
    const raw = await this.#outside.load().catch(() => 'unread');
    const read = Kept.safeParse(raw);
    if (read.success) this.#kept = read.data;
    // A record that was never there is no sign of anything; one that cannot be read is.
    const killed = read.success ? read.data.killed : raw !== undefined;
    if (this.#view.state === 'untold') this.#become({ state: 'untold', killed });
  }

  /** Writes a word down and, where it releases, lets calls run: only then, and only if no newer word came. */
  async #settle(said: Known, word: number): Promise<void> {
    const before = this.#kept;
    if (said.epoch < before.epoch) {
      const sentence = `${said.epoch} < ${before.epoch}`;
      if (this.#word === word) this.#engage({ state: 'killed', why: 'rolled_back', sentence });
      return;
    }
    if (said.engaged > before.engaged) this.#outside.stop(refusalOf(KILLED));
    const { killed, epoch, engaged } = said;
    const pending = before.pending && !(killed && said.warning === undefined);
    const kept: Kept = { version: 1, killed: killed || pending, pending, epoch, engaged };
    const saved = same(kept, before) && !this.#unsaved ? true : await this.#keep(kept).then(yes, no);
    if (killed || this.#word !== word) return;
    if (pending) {
      this.#engage({ state: 'killed', why: 'here' });
      // The answer is the host's next word. Without one, the next alarm or port asks again.
      await this.again();
    } else this.#become(saved ? { state: 'clear' } : { state: 'killed', why: 'storage' });
  }

  #engage(view: KillView): void {
    this.#become(view);
    this.#outside.stop(refusalOf(view));
  }

  /** In memory at once, on disk in the order of the words. */
  #keep(kept: Kept): Promise<void> {
    this.#kept = kept;
    this.#unsaved = true;
    const written = this.#writing.then(() => this.#outside.save(kept));
    this.#writing = written.then(
      () => {
        if (this.#kept === kept) this.#unsaved = false;
      },
      () => undefined,
    );
    return written;
  }

  #become(view: KillView): void {
    this.#view = view;
    if (view.state !== 'clear') this.#asked = Number.NEGATIVE_INFINITY;
    this.#outside.changed();
  }
}

type Known = Extract<KillStatusResult, { ok: true }>;

const yes = () => true;
const no = () => false;

function same(a: Kept, b: Kept): boolean {
  return a.killed === b.killed && a.pending === b.pending && a.epoch === b.epoch && a.engaged === b.engaged;
}

const KILLED: KillView = { state: 'killed', why: 'host' };

function warningOf({ warning }: { warning?: string }): { warning?: string } {
  return warning === undefined ? {} : { warning };
}

const SENTENCES: Record<Why, string> = {
  here: 'The person engaged the kill switch in this browser. Only the person can release it, with `genkan unkill`.',
  host: ERROR_SPECS.BRIDGE_KILLED.message,
  damaged: ERROR_SPECS.BRIDGE_KILLED.message,
  rolled_back:
    'The trust record on this computer is older than one this browser has seen, so it counts as the kill switch being on. The person should run `genkan recover-trust`, or remove and load the extension if they replaced the record themselves.',
  storage:
    'The browser could not store where the kill switch stands, so it counts as on. The person should free disk space and reload the extension.',
};

function refusalOf(view: KillView): Refused {
  if (view.state !== 'killed') return new Refused('EXTENSION_NOT_READY', UNTOLD);
  return new Refused('BRIDGE_KILLED', view.why === 'damaged' ? view.sentence : SENTENCES[view.why]);
}
