/* Whose turn it is on a tab. Decides that calls of two clients never run on one tab at once: the first holds it until its
   calls there have ended, the others wait in order, each for a bounded time; a call that waited too long is refused with
   the holder's name. Calls of one client do not wait for each other, except behind somebody who came before. A call that
   was ended from outside keeps the tab only as long as an act of its may still run. Knows nothing about what calls do. */
import type { Caller } from '../contract/frames';
import { ACT_MS, CLIENT_NAME_CHARS_MAX, TAB_TURN_MS } from '../contract/limits';
import { Refused } from './refused';

/** Starts a timer and gives the function that stops it. */
type Timer = (milliseconds: number, ring: () => void) => () => void;
type Waiting = { caller: Caller; go(): void };
type Turn = { holder: Caller; calls: number; queue: Waiting[] };
/** Gives the tab back; a second time does nothing. */
export type Release = () => void;

export class Turns {
  readonly #tabs = new Map<number, Turn>();
  readonly #timer: Timer;

  constructor(timer: Timer) {
    this.#timer = timer;
  }

  /** At once where nobody else is there; else what to wait for. */
  take(tab: number, caller: Caller, signal: AbortSignal): Release | Promise<Release> {
    const turn = this.#tabs.get(tab);
    if (turn === undefined) {
      this.#tabs.set(tab, { holder: caller, calls: 1, queue: [] });
      return this.#release(tab, signal);
    }
    if (turn.holder.key === caller.key && turn.queue.length === 0) {
      turn.calls += 1;
      return this.#release(tab, signal);
    }
    return this.#wait(tab, turn, caller, signal);
  }

  async #wait(tab: number, turn: Turn, caller: Caller, signal: AbortSignal): Promise<Release> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { caller, go: resolve };
    const leave = (why: unknown) => {
      turn.queue = turn.queue.filter((each) => each !== waiting);
      reject(why);
    };
    const ended = () => leave(signal.reason);
    const stop = this.#timer(TAB_TURN_MS, () => leave(taken(tab, turn.holder, caller)));
    turn.queue.push(waiting);
    signal.addEventListener('abort', ended, { once: true });
    if (signal.aborted) ended();
    try {
      await promise;
    } finally {
      stop();
      signal.removeEventListener('abort', ended);
    }
    return this.#release(tab, signal);
  }

  #release(tab: number, signal: AbortSignal): Release {
    let held = true;
    let stop: () => void = () => undefined;
    const release = () => {
      if (!held) return;
      held = false;
      stop();
      signal.removeEventListener('abort', late);
      this.#next(tab);
    };
    const late = () => {
      stop = this.#timer(ACT_MS, release);
    };
    if (signal.aborted) late();
    else signal.addEventListener('abort', late, { once: true });
    return release;
  }

  #next(tab: number): void {
    const turn = this.#tabs.get(tab);
    if (turn === undefined) return;
    turn.calls -= 1;
    if (turn.calls > 0) return;
    const [first] = turn.queue;
    if (first === undefined) {
      this.#tabs.delete(tab);
      return;
    }
    // All that the next client asked for before anybody else came.
    const other = turn.queue.findIndex(({ caller }) => caller.key !== first.caller.key);
    const together = turn.queue.splice(0, other < 0 ? turn.queue.length : other);
    turn.holder = first.caller;
    turn.calls = together.length;
    for (const { go } of together) go();
  }
}

/** The name is the other client's own choice: short, on one line, in quotes. */
function taken(tab: number, holder: Caller, caller: Caller): Refused {
  const name = JSON.stringify(
    [...holder.name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')].slice(0, CLIENT_NAME_CHARS_MAX).join(''),
  );
  const who = holder.key === caller.key ? 'Another call of yours' : `Another program, which calls itself ${name},`;
  return new Refused(
    'BROKER_BUSY',
    `${who} is at work in tab ${tab} and did not finish within ${TAB_TURN_MS / 1_000} s, so nothing was done. Try again, or use another tab.`,
  );
}
