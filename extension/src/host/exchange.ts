/* Asking the host something over the port, one question at a time on each lane, because an answer carries no number. Decides
   who gets an answer: the one that claimed the lane, within the deadline, and nobody afterwards. A lane whose deadline
   passed still owes an answer; until that came, or the port went, a new question could be given the old one's answer, so
   none is sent. What the host also says unasked (where the kill switch stands) owes nothing. Asks nothing before the host
   has spoken of the kill switch: a host that does not know these frames would end. */
import type { AuditReadResult, ClientListResult, FromExtension, KillStatusResult } from '../contract/frames';
import { EXCHANGE_MS } from '../contract/limits';
import { Refused } from '../gate/refused';
import type { Timer } from './calls';

export type Answers = {
  kill_engage: KillStatusResult;
  kill_status: KillStatusResult;
  client_list: ClientListResult;
  audit_read: AuditReadResult;
};
export type Lane = keyof Answers;
export type Asked<L extends Lane> = Extract<FromExtension, { type: L }>;
export type AnswerFrame = Answers[Lane];

type Claim = { words: string; answer: Promise<AnswerFrame>; end(how: AnswerFrame | Refused): void };
type Standing = { at: 'idle' } | { at: 'claimed'; claim: Claim } | { at: 'owed' };

const LANES: { readonly [L in Lane]: Answers[L]['type'] } = {
  kill_engage: 'kill_status_result',
  kill_status: 'kill_status_result',
  client_list: 'client_list_result',
  audit_read: 'audit_read_result',
};

const TOO_OLD =
  'The genkan program on this computer is older than this extension. Update it, then reload the extension.';
const BUSY = 'The genkan program has not answered the question before. Try again in a moment.';
const LATE = 'The genkan program did not answer in time.';
const GONE = 'The genkan program went away before it answered.';

export class Exchange {
  readonly #send: (frame: FromExtension) => void;
  readonly #timer: Timer;
  readonly #lanes: Record<Lane, Standing> = {
    kill_engage: { at: 'idle' },
    kill_status: { at: 'idle' },
    client_list: { at: 'idle' },
    audit_read: { at: 'idle' },
  };
  #phase: 'unopened' | 'open' | 'detached' = 'unopened';

  constructor(send: (frame: FromExtension) => void, timer: Timer) {
    this.#send = send;
    this.#timer = timer;
  }

  /** The host has spoken of the kill switch: it knows these frames. */
  open(): void {
    if (this.#phase === 'unopened') this.#phase = 'open';
  }

  /** The same question asked again while it is under way is the same question. */
  async ask<L extends Lane>(lane: L, question: Asked<L>): Promise<Answers[L]> {
    const answer = await this.#claim(lane, question);
    if (!answers(lane, answer)) throw new Refused('INTERNAL_ERROR');
    return answer;
  }

  /** Gives a frame to whoever waits for it. */
  route(frame: AnswerFrame): void {
    for (const lane of lanesOf(frame)) {
      const now = this.#lanes[lane];
      if (!settles(lane, frame)) continue;
      if (now.at === 'owed') this.#lanes[lane] = { at: 'idle' };
      if (now.at === 'claimed') now.claim.end(frame);
    }
  }

  /** The port is gone: nobody will answer. */
  detach(): void {
    this.#phase = 'detached';
    for (const now of Object.values(this.#lanes)) {
      if (now.at === 'claimed') now.claim.end(new Refused('CONNECTION_LOST', GONE));
    }
  }

  #claim<L extends Lane>(lane: L, question: Asked<L>): Promise<AnswerFrame> {
    const words = JSON.stringify(question);
    const now = this.#lanes[lane];
    if (now.at === 'claimed' && now.claim.words === words) return now.claim.answer;
    const why = this.#refusal(now);
    if (why !== null) return Promise.reject(why);
    const { promise, resolve, reject } = Promise.withResolvers<AnswerFrame>();
    const end = (how: AnswerFrame | Refused, after: Standing = { at: 'idle' }) => {
      stop();
      this.#lanes[lane] = after;
      if (how instanceof Refused) reject(how);
      else resolve(how);
    };
    const stop = this.#timer(EXCHANGE_MS, () =>
      end(new Refused('RESPONSE_TIMEOUT', LATE), UNASKED.includes(lane) ? { at: 'idle' } : { at: 'owed' }),
    );
    this.#lanes[lane] = { at: 'claimed', claim: { words, answer: promise, end } };
    this.#send(question);
    return promise;
  }

  #refusal(now: Standing): Refused | null {
    if (this.#phase === 'detached') return new Refused('CONNECTION_LOST', GONE);
    if (this.#phase === 'unopened') return new Refused('EXTENSION_NOT_READY', TOO_OLD);
    return now.at === 'idle' ? null : new Refused('EXTENSION_NOT_READY', BUSY);
  }
}

/** Lanes on which the host also speaks unasked. */
const UNASKED: readonly Lane[] = ['kill_engage'];

/** A word that the switch is off was said before the host heard of the engaging. One that nobody asked for says how it
    stood when it was written, not when the question came. */
function settles(lane: Lane, frame: AnswerFrame): boolean {
  if (frame.type !== 'kill_status_result') return true;
  return lane === 'kill_status' ? frame.asked === true : !frame.ok || frame.killed;
}

function lanesOf(frame: AnswerFrame): Lane[] {
  const all: Lane[] = ['kill_engage', 'kill_status', 'client_list', 'audit_read'];
  return all.filter((lane) => LANES[lane] === frame.type);
}

function answers<L extends Lane>(lane: L, frame: AnswerFrame): frame is Answers[L] {
  return frame.type === LANES[lane];
}
