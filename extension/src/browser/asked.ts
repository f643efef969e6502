/* What the extension itself records: that a person was asked, and what they answered. Decides what may be in a record: kind,
   tool, client's name, kind of act, number of the call; never a site, a page's words or a value. The newest are kept in
   trusted storage, and each is reported to the host, whose log is the lasting one. An answer counts only once it is
   written down: a yes that cannot be recorded is none. */
import { z } from 'zod';
import { EXTENSION_AUDIT_KINDS, type ExtensionAuditKind } from '../contract/audit';
import { AUDIT_RING_MAX, AUDIT_TEXT_BYTES_MAX } from '../contract/limits';
import type { Answer } from '../gate/confirm';
import { type Asking, askPerson } from './confirm';
import { Stored, shaped } from './storage';

const Event = z.strictObject({
  ts_ms: z.int().nonnegative(),
  kind: z.enum(EXTENSION_AUDIT_KINDS),
  outcome: z.string(),
  tool: z.string(),
  name: z.string(),
  detail: z.string(),
  cid: z.string(),
});
export type Event = z.infer<typeof Event>;
type Report = (event: Omit<Event, 'ts_ms'>) => void;

const ring = new Stored(shaped('local', 'asked', z.array(Event), []));

/** The newest events, oldest first. */
export function asked(): Promise<readonly Event[]> {
  return ring.read();
}

/** Asks the person, with a record before and after. */
export function askedAndNoted(report: Report) {
  return async (asking: Asking & { id: number }, signal: AbortSignal): Promise<Answer> => {
    await note(asking, 'confirm_shown', 'shown', report);
    const answer = await askPerson(asking, signal);
    await note(asking, answer === 'allowed' ? 'confirm_allowed' : 'confirm_denied', answer, report);
    return answer;
  };
}

async function note(
  { id, op, caller, intended }: Asking & { id: number },
  kind: ExtensionAuditKind,
  outcome: Answer | 'shown',
  report: Report,
): Promise<void> {
  const event = { kind, outcome, tool: op, name: cut(caller.name), detail: intended.kind, cid: String(id) };
  await ring.change((now) => [...now.slice(1 - AUDIT_RING_MAX), { ts_ms: Date.now(), ...event }]);
  report(event);
}

/** No more bytes than the host takes, and never half a character. */
function cut(name: string): string {
  let text = '';
  let room = AUDIT_TEXT_BYTES_MAX;
  for (const character of name.toWellFormed()) {
    room -= new TextEncoder().encode(character).length;
    if (room < 0) break;
    text += character;
  }
  return text;
}
