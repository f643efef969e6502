/* What the host answered about clients and records, as the options page takes it. Decides nothing but what is shown while
   there is no host: this browser's own records. */
import type { AuditReadResult, ClientListResult } from '../contract/frames';
import { Refused } from '../gate/refused';
import type { Events, EventView, Paired } from '../ui/messages';

/** Characters of a text that a page gets. */
const TEXT_MAX = 2_048;

export async function shownList(asked: Promise<ClientListResult>): Promise<Paired> {
  const answer = await asked.catch(failed);
  if (!answer.ok) return { ok: false, message: answer.error.message.slice(0, TEXT_MAX) };
  return { ok: true, enrolled: answer.enrolled, clients: answer.clients };
}

type Own = { ts_ms: number; kind: string; outcome: string; tool: string; detail: string };

/** The host's records; while there is no host, those that the extension kept itself. */
export async function shownEvents(asked: Promise<AuditReadResult>, own: readonly Own[]): Promise<Events> {
  const answer = await asked.catch(failed);
  if (answer.ok) {
    const events = answer.entries.map((entry): EventView => {
      const { ts_ms, event_kind: kind, code, outcome = '', tool = '', detail = '' } = entry;
      return cut({ ts_ms, kind, outcome: code ?? outcome, tool, detail });
    });
    return { ok: true, events, path: answer.path.slice(0, TEXT_MAX) };
  }
  if (answer.error.code !== 'NOT_CONNECTED') return { ok: false, message: answer.error.message.slice(0, TEXT_MAX) };
  return {
    ok: true,
    events: own.map(({ ts_ms, kind, outcome, tool, detail }) => cut({ ts_ms, kind, outcome, tool, detail })),
    path: null,
  };
}

function cut(event: EventView): EventView {
  const { ts_ms, kind, outcome, tool, detail } = event;
  const short = (text: string) => text.slice(0, TEXT_MAX);
  return { ts_ms, kind: short(kind), outcome: short(outcome), tool: short(tool), detail: short(detail) };
}

function failed(why: unknown) {
  const { code, message } = why instanceof Refused ? why : new Refused('INTERNAL_ERROR');
  return { ok: false, error: { code, message } } as const;
}
