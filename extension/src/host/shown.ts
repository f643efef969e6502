/* The link to the host, and what the host answered, in the words of the pages. Decides nothing; it keeps the browser's and
   the host's own sentences, and cuts them to what a page takes. */
import type { AuditReadResult, ClientListResult } from '../contract/frames';
import { Refused } from '../gate/refused';
import type { Events, EventView, Paired } from '../ui/messages';
import type { HostLink } from './port';

export type LinkShown = {
  link: { state: 'no_host' | 'starting' | 'waiting' | 'attached' | 'refused' | 'mismatch'; detail?: string };
  door: 'open' | 'paired' | null;
  label: string | null;
};

export function shownLink(link: HostLink): LinkShown {
  const nobody = { door: null, label: null };
  switch (link.phase) {
    case 'unpinned':
      return {
        ...nobody,
        link: {
          state: 'refused',
          detail: `The extension runs under the id ${link.id}, which is not the one the genkan program knows. Load the extension that genkan carries.`,
        },
      };
    case 'closed':
      return { ...nobody, link: { state: 'no_host', ...(link.error === null ? {} : { detail: link.error }) } };
    case 'opening':
      return { ...nobody, link: { state: 'starting' } };
    case 'greeted':
      return greeted(link);
  }
}

function greeted({ agrees, host, status }: Extract<HostLink, { phase: 'greeted' }>): LinkShown {
  const label = status?.label ?? null;
  if (!agrees) return { link: { state: 'mismatch', detail: `genkan ${host}` }, door: null, label };
  if (status === null) return { link: { state: 'starting' }, door: null, label };
  const { link } = status;
  switch (link.state) {
    case 'waiting':
      return { link: { state: 'waiting' }, door: null, label };
    case 'attached':
      return { link: { state: 'attached' }, door: link.door, label };
    case 'refused':
      return { link: { state: 'refused', detail: link.error.message }, door: null, label };
  }
}

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
