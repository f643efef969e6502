/* The newest records of what happened, newest first. The host keeps all of them; without a host those of this browser are
   shown. It shows names as they were recorded and decides nothing. */
import { EXTENSION_AUDIT_KINDS, HOST_AUDIT_KINDS } from '../../contract/audit';
import { useWords } from '../i18n';
import { useEvents } from '../link';
import type { EventView, State } from '../messages';
import { oneLine } from '../shown';

const KINDS: readonly string[] = [...HOST_AUDIT_KINDS, ...EXTENSION_AUDIT_KINDS];

export function EventList({ state }: { state: State }) {
  const say = useWords();
  const events = useEvents(state);
  if (events === undefined) return null;
  return (
    <section data-testid="events">
      <h2>{say('events.title')}</h2>
      {!events.ok && <p className="quiet">{oneLine(events.message, 500) || say('events.unknown')}</p>}
      {events.ok && events.events.length === 0 && <p className="quiet">{say('events.none')}</p>}
      {events.ok && (
        <>
          <ol className="events">
            {events.events.toReversed().map((event, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: records have no name, and the list is only ever replaced whole.
              <Row key={at} event={event} />
            ))}
          </ol>
          <p className="quiet">
            {events.path === null ? say('events.own') : say('events.all')}{' '}
            {events.path !== null && <code>{oneLine(events.path, 300)}</code>}
          </p>
        </>
      )}
    </section>
  );
}

function Row({ event }: { event: EventView }) {
  const say = useWords();
  const when = new Date(event.ts_ms);
  const what = KINDS.includes(event.kind) ? say(`event.${event.kind}`) : oneLine(event.kind, 40);
  const about = [event.tool, event.outcome, event.detail].filter((text) => text !== '').join(' · ');
  return (
    <li>
      <time dateTime={Number.isNaN(when.getTime()) ? undefined : when.toISOString()}>
        {when.toLocaleString(document.documentElement.lang, { dateStyle: 'short', timeStyle: 'medium' })}
      </time>
      <span>{what}</span>
      <bdi className="quiet">{oneLine(about, 200)}</bdi>
    </li>
  );
}
