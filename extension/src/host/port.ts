/* The one port to the host program: opened, greeted, kept and opened again. Decides whether to connect at all (only under
   the pinned id), what a frame from the host sets going, and what the popup may say about the link. Refuses requests before
   the greeting and on versions that differ; a malformed word about the kill switch counts as no word at all. Knows no browser interface: the port, timers and identity are handed in. */
import type {
  BridgeReq,
  BridgeResp,
  Chunk,
  FromExtension,
  HostHello,
  HostStatusResult,
  KillStatusResult,
} from '../contract/frames';
import { PINNED_EXTENSION_ID } from '../contract/identity';
import { PORT_RETRY_MS } from '../contract/limits';
import { Refused } from '../gate/refused';
import { Calls, type Counts, type Serve, type Timer } from './calls';
import { Joiner } from './chunks';
import { type Answers, type Asked, Exchange, type Lane } from './exchange';
import { agrees, answerTo, type Self } from './hello';
import { type Heard, hear, hearJoined } from './intake';

export type ToHost = FromExtension | BridgeResp;

export type NativePort = {
  send(frame: ToHost): void;
  close(): void;
  onFrame(take: (raw: unknown) => void): void;
  /** The browser's own words about why, where it has any. */
  onClosed(take: (error: string | null) => void): void;
};

export type HostLink =
  | { phase: 'unpinned'; id: string }
  | { phase: 'closed'; error: string | null }
  | { phase: 'opening' }
  | { phase: 'greeted'; host: string; agrees: boolean; status: HostStatusResult | null };

export type HostState = { link: HostLink; calls: Counts };

export type Outside = {
  /** The id under which this extension runs. */
  id: string;
  connect(): NativePort;
  self(): Promise<Self>;
  serve: Serve;
  timer: Timer;
  /** What the host of the present port says of the kill switch; `unknown` when a port comes or goes. */
  kill: { hear(frame: KillStatusResult): void; unknown(): void };
  changed(): void;
};

export type AuditEvent = Omit<Extract<FromExtension, { type: 'audit_event' }>, 'type'>;

const MALFORMED = 'The browser received a malformed request from the genkan program and refused it.';
const NO_HOST = 'The genkan program does not run for this browser.';
const NO_CALLS: Counts = { running: 0, answered: 0, cancelled: 0, refused: 0 };

export class HostPort {
  readonly #outside: Outside;
  #link: HostLink = { phase: 'closed', error: null };
  #conversation: Conversation | null = null;

  constructor(outside: Outside) {
    this.#outside = outside;
    if (outside.id !== PINNED_EXTENSION_ID) this.#link = { phase: 'unpinned', id: outside.id };
  }

  get state(): HostState {
    return { link: this.#link, calls: this.#conversation?.counts ?? NO_CALLS };
  }

  /** Opens the port unless one is open. Called at start, by the alarm, and after each close. */
  ensure(): void {
    if (this.#conversation !== null || this.#link.phase === 'unpinned') return;
    const conversation = new Conversation(this.#outside, (link) => {
      if (this.#conversation === conversation) this.#become(link);
    });
    this.#conversation = conversation;
    this.#become({ phase: 'opening' });
    conversation.open((error) => {
      if (this.#conversation !== conversation) return;
      this.#conversation = null;
      this.#become({ phase: 'closed', error });
      this.#outside.timer(PORT_RETRY_MS, () => this.ensure());
    });
  }

  /** Asks the host where it stands; the answer changes the state. */
  refresh(): void {
    this.#conversation?.ask();
  }

  /** Asks the host; see the exchange. */
  async ask<L extends Lane>(lane: L, question: Asked<L>): Promise<Answers[L]> {
    if (this.#conversation === null) throw new Refused('NOT_CONNECTED', NO_HOST);
    return await this.#conversation.exchange.ask(lane, question);
  }

  /** Tells the host of an event; without a host that listens, only the extension keeps it. */
  report(event: AuditEvent): void {
    this.#conversation?.report(event);
  }

  /** Ends every running call with this reason. */
  stop(why: Refused): void {
    this.#conversation?.stop(why);
  }

  #become(link: HostLink): void {
    this.#link = link;
    this.#outside.changed();
  }
}

/** Everything that lives as long as one port. */
class Conversation {
  readonly #outside: Outside;
  readonly #show: (link: HostLink) => void;
  readonly #joiner = new Joiner();
  readonly #calls: Calls;
  readonly exchange: Exchange;
  #listens = false;
  #port: NativePort | null = null;
  #greeting: HostHello | null = null;
  #status: HostStatusResult | null = null;

  constructor(outside: Outside, show: (link: HostLink) => void) {
    this.#outside = outside;
    this.#show = show;
    this.#calls = new Calls((frame) => this.#port?.send(frame), outside.serve, outside.timer, outside.changed);
    this.exchange = new Exchange((frame) => this.#port?.send(frame), outside.timer);
  }

  get counts(): Counts {
    return this.#calls.counts;
  }

  open(closed: (error: string | null) => void): void {
    const port = this.#outside.connect();
    this.#port = port;
    this.#outside.kill.unknown();
    port.onFrame((raw) => this.#take(hear(raw)));
    port.onClosed((error) => {
      this.#port = null;
      this.#outside.kill.unknown();
      this.exchange.detach();
      this.#calls.drop();
      this.#joiner.clear();
      closed(error);
    });
  }

  ask(): void {
    if (this.#greeting !== null) this.#port?.send({ type: 'host_status' });
  }

  report(event: AuditEvent): void {
    if (this.#listens) this.#port?.send({ type: 'audit_event', ...event });
  }

  stop(why: Refused): void {
    this.#calls.stop(why);
  }

  #take(heard: Heard): void {
    switch (heard.kind) {
      case 'hello':
        void this.#greet(heard.frame);
        break;
      case 'status':
        this.#stand(heard.frame);
        break;
      case 'kill':
        this.#hearKill(heard.frame);
        break;
      case 'answer':
        this.exchange.route(heard.frame);
        break;
      case 'request':
        this.#request(heard.frame);
        break;
      case 'cancel':
        this.#joiner.drop(heard.id);
        this.#calls.cancel(heard.id);
        break;
      case 'chunk':
        this.#join(heard.frame);
        break;
      case 'refused':
        if (heard.id !== null) this.#calls.refuse(heard.id, new Refused('INTERNAL_ERROR', MALFORMED));
        break;
    }
  }

  async #greet(hello: HostHello): Promise<void> {
    if (this.#greeting !== null) return;
    this.#greeting = hello;
    const self = await this.#outside.self();
    this.#port?.send(answerTo(self));
    this.#tell();
  }

  #hearKill(frame: KillStatusResult): void {
    if (this.#greeting === null) return;
    this.#listens = true;
    this.exchange.open();
    // The mirror first: whoever waits for the answer finds it already in force.
    this.#outside.kill.hear(frame);
    this.exchange.route(frame);
  }

  #stand(status: HostStatusResult): void {
    const lost = this.#status?.link.state === 'attached' && status.link.state !== 'attached';
    if (lost) {
      this.#calls.drop();
      this.#joiner.clear();
    }
    this.#status = status;
    this.#tell();
  }

  #tell(): void {
    const hello = this.#greeting;
    if (hello === null || this.#port === null) return;
    this.#show({ phase: 'greeted', host: hello.host, agrees: agrees(hello), status: this.#status });
  }

  #request(frame: BridgeReq): void {
    const hello = this.#greeting;
    if (hello === null) this.#calls.refuse(frame.id, new Refused('EXTENSION_NOT_READY'));
    else if (!agrees(hello)) this.#calls.refuse(frame.id, new Refused('PROTOCOL_MISMATCH'));
    else void this.#calls.begin(frame);
  }

  #join(piece: Chunk): void {
    const joined = this.#joiner.add(piece);
    if (joined.state === 'more') return;
    if (joined.state === 'refused') {
      const why = joined.why === 'size' ? new Refused('PAYLOAD_TOO_LARGE') : new Refused('INTERNAL_ERROR', MALFORMED);
      this.#calls.refuse(piece.id, why);
      return;
    }
    const heard = hearJoined(joined.text);
    const fits = heard.kind === 'request' && heard.frame.id === piece.id;
    this.#take(fits ? heard : { kind: 'refused', id: piece.id });
  }
}
