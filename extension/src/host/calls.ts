/* The calls that came over one port. Decides that a call id runs at most once, that a call ends by its deadline, and that
   nothing is answered once nobody waits. A port owns its calls: when it goes, they stop, and another worker's port never
   sees them, so that two live workers cannot run one act twice. Knows nothing about what a call does. */
import type { BridgeReq, BridgeResp, Outcome, ProgressState, Refusal } from '../contract/frames';
import { CALLS_MAX } from '../contract/limits';
import { Refused } from '../gate/refused';

export type Answer = { ok: true; data: Outcome } | { ok: false; error: Refusal };

/** Runs one call. It must settle soon after `signal` aborts; whose reason is the refusal to answer with. */
export type Serve = (
  request: BridgeReq,
  signal: AbortSignal,
  progress: (state: ProgressState) => void,
) => Promise<Answer>;

/** Starts a timer and gives the function that stops it. */
export type Timer = (milliseconds: number, ring: () => void) => () => void;

export type Counts = { running: number; answered: number; cancelled: number; refused: number };

const TOO_MANY = 'This browser already runs as many calls as it may. Wait for one to end.';
/** Ids arrive nearly in order: chunked frames and parallel writers may let a few overtake. Below this window they are replays. */
const ID_WINDOW = 4 * CALLS_MAX;

export class Calls {
  readonly #running = new Map<number, AbortController>();
  readonly #seen = new Set<number>();
  #highest = -1;
  #counts = { answered: 0, cancelled: 0, refused: 0 };

  constructor(
    readonly send: (frame: BridgeResp) => void,
    readonly serve: Serve,
    readonly timer: Timer,
    readonly changed: () => void,
  ) {}

  get counts(): Counts {
    return { running: this.#running.size, ...this.#counts };
  }

  async begin(request: BridgeReq): Promise<void> {
    const { id } = request;
    if (!this.#first(id)) {
      this.#note('refused');
      return;
    }
    if (this.#running.size >= CALLS_MAX) {
      this.refuse(id, new Refused('EXTENSION_NOT_READY', TOO_MANY));
      return;
    }
    const controller = new AbortController();
    this.#running.set(id, controller);
    this.changed();
    const stop = this.timer(request.deadline, () => controller.abort(new Refused('RESPONSE_TIMEOUT')));
    try {
      const answer = await this.serve(request, controller.signal, (state) => this.#progress(id, controller, state));
      if (this.#running.get(id) === controller) this.#answer(id, answer);
    } finally {
      stop();
      if (this.#running.get(id) === controller) this.#running.delete(id);
      this.changed();
    }
  }

  /** Answers a call that does not run. */
  refuse(id: number, why: Refused): void {
    this.send({ id, ok: false, error: { code: why.code, message: why.message } });
    this.#note('refused');
  }

  /** Nobody waits for it any more: it stops, and nothing is answered. */
  cancel(id: number): void {
    const controller = this.#running.get(id);
    if (controller === undefined) return;
    this.#running.delete(id);
    controller.abort(new Refused('CANCELLED'));
    this.#note('cancelled');
  }

  /** Every running call ends with this reason, and its client is told. */
  stop(why: Refused): void {
    for (const controller of this.#running.values()) controller.abort(why);
  }

  /** Every call stops: the port or the broker behind it is gone. The next broker counts its ids anew. */
  drop(): void {
    for (const id of [...this.#running.keys()]) this.cancel(id);
    this.#seen.clear();
    this.#highest = -1;
  }

  #first(id: number): boolean {
    if (id <= this.#highest - ID_WINDOW || this.#seen.has(id)) return false;
    this.#seen.add(id);
    this.#highest = Math.max(this.#highest, id);
    for (const old of this.#seen) if (old <= this.#highest - ID_WINDOW) this.#seen.delete(old);
    return true;
  }

  #answer(id: number, answer: Answer): void {
    this.#running.delete(id);
    this.send(answer.ok ? { id, ok: true, data: answer.data } : { id, ok: false, error: answer.error });
    this.#note('answered');
  }

  #progress(id: number, controller: AbortController, state: ProgressState): void {
    if (this.#running.get(id) === controller) this.send({ type: 'progress', id, state });
  }

  #note(what: 'answered' | 'cancelled' | 'refused'): void {
    this.#counts[what] += 1;
    this.changed();
  }
}
