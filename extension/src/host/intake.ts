/* Reads what the host sends. Decides which of the known frames it is, by the generated validators alone; whatever fits
   none of them is refused, with the call's id where one can be read, so that its client gets an answer. */
import type { ZodType } from 'zod';
import {
  AuditReadResult,
  BridgeReq,
  Cancel,
  Chunk,
  ClientListResult,
  HostHello,
  HostStatusResult,
  KillStatusResult,
} from '../contract/frames';

export type Heard =
  | { kind: 'hello'; frame: HostHello }
  | { kind: 'status'; frame: HostStatusResult }
  | { kind: 'kill'; frame: KillStatusResult }
  | { kind: 'answer'; frame: ClientListResult | AuditReadResult }
  | { kind: 'request'; frame: BridgeReq }
  | { kind: 'cancel'; id: number }
  | { kind: 'chunk'; frame: Chunk }
  | { kind: 'refused'; id: number | null };

type Reader = (raw: unknown) => Heard | null;

function frame<T>(shape: ZodType<T>, heard: (frame: T) => Heard): Reader {
  return (raw) => {
    const read = shape.safeParse(raw);
    return read.success ? heard(read.data) : null;
  };
}

const READERS: ReadonlyMap<unknown, Reader> = new Map<unknown, Reader>([
  ['host_hello', frame(HostHello, (frame) => ({ kind: 'hello', frame }))],
  ['host_status_result', frame(HostStatusResult, (frame) => ({ kind: 'status', frame }))],
  ['kill_status_result', frame(KillStatusResult, (frame) => ({ kind: 'kill', frame }))],
  ['client_list_result', frame(ClientListResult, (frame) => ({ kind: 'answer', frame }))],
  ['audit_read_result', frame(AuditReadResult, (frame) => ({ kind: 'answer', frame }))],
  ['cancel', frame(Cancel, ({ id }) => ({ kind: 'cancel', id }))],
  ['chunk', frame(Chunk, (frame) => ({ kind: 'chunk', frame }))],
  [undefined, frame(BridgeReq, (frame) => ({ kind: 'request', frame }))],
]);

export function hear(raw: unknown): Heard {
  return READERS.get(tagOf(raw))?.(raw) ?? refused(raw);
}

/** A frame that arrived in pieces: only a request may, so that pieces cannot carry what the host itself must say. */
export function hearJoined(text: string): Heard {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return { kind: 'refused', id: null };
  }
  const heard = hear(raw);
  return heard.kind === 'request' ? heard : refused(raw);
}

function tagOf(raw: unknown): unknown {
  return typeof raw === 'object' && raw !== null && 'type' in raw ? raw.type : undefined;
}

function refused(raw: unknown): Heard {
  const id = typeof raw === 'object' && raw !== null && 'id' in raw ? raw.id : null;
  return { kind: 'refused', id: Number.isSafeInteger(id) && typeof id === 'number' && id >= 0 ? id : null };
}
