/* Reads what the host sends. Decides which of the known frames it is, by the generated validators alone; whatever fits
   none of them is refused, with the call's id where one can be read, so that its client gets an answer. */
import { BridgeReq, Cancel, Chunk, HostHello, HostStatusResult } from '../contract/frames';

export type Heard =
  | { kind: 'hello'; frame: HostHello }
  | { kind: 'status'; frame: HostStatusResult }
  | { kind: 'request'; frame: BridgeReq }
  | { kind: 'cancel'; id: number }
  | { kind: 'chunk'; frame: Chunk }
  | { kind: 'refused'; id: number | null };

export function hear(raw: unknown): Heard {
  switch (tagOf(raw)) {
    case 'host_hello': {
      const read = HostHello.safeParse(raw);
      return read.success ? { kind: 'hello', frame: read.data } : refused(raw);
    }
    case 'host_status_result': {
      const read = HostStatusResult.safeParse(raw);
      return read.success ? { kind: 'status', frame: read.data } : refused(raw);
    }
    case 'cancel': {
      const read = Cancel.safeParse(raw);
      return read.success ? { kind: 'cancel', id: read.data.id } : refused(raw);
    }
    case 'chunk': {
      const read = Chunk.safeParse(raw);
      return read.success ? { kind: 'chunk', frame: read.data } : refused(raw);
    }
    case undefined: {
      const read = BridgeReq.safeParse(raw);
      return read.success ? { kind: 'request', frame: read.data } : refused(raw);
    }
    default:
      return refused(raw);
  }
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
