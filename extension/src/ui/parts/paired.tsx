/* The programs that may enter at all, and how to close the door while there is no such list. It changes nothing: pairing and
   revoking are done at a terminal. */
import type { PairedClient } from '../../contract/frames';
import { useWords } from '../i18n';
import { usePaired } from '../link';
import type { State } from '../messages';
import { oneLine } from '../shown';

export function Paired({ state }: { state: State }) {
  const say = useWords();
  const list = usePaired(state);
  if (list === undefined) return null;
  return (
    <section data-testid="paired">
      <h2>{say('paired.title')}</h2>
      {!list.ok && <p className="quiet">{oneLine(list.message, 500) || say('paired.unknown')}</p>}
      {list.ok && !list.enrolled && <OpenDoor />}
      {list.ok && list.enrolled && (
        <>
          <p className="quiet">{list.clients.length === 0 ? say('paired.nobody') : say('paired.hint')}</p>
          <ul className="rows">
            {list.clients.map((client) => (
              <li key={client.name}>
                <Entry client={client} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function OpenDoor() {
  const say = useWords();
  return (
    <div className="banner warn" data-testid="door-open">
      <strong>{say('door.open')}</strong>
      <p>{say('door.open_hint')}</p>
      <p>{say('paired.close')}</p>
      <code>genkan pair-client --name NAME --exec PATH</code>
    </div>
  );
}

function Entry({ client }: { client: PairedClient }) {
  const say = useWords();
  const scripts = client.any_script ? say('paired.any_script') : undefined;
  return (
    <span className="client">
      <span>
        <bdi>{oneLine(client.name, 60)}</bdi>{' '}
        {client.paused && <span className="tag warn">{say('paired.paused')}</span>}
        {scripts !== undefined && <span className="tag warn">{scripts}</span>}
      </span>
      <code>
        <bdi>{oneLine(client.image, 160) || say('clients.image_unknown')}</bdi>
      </code>
      {client.script !== undefined && (
        <code>
          <bdi>{oneLine(client.script, 160)}</bdi>
        </code>
      )}
      <span className="quiet">
        {say(`paired.by_${client.anchor}`)} ·{' '}
        {say('paired.since', { date: new Date(client.paired_ms).toLocaleDateString(document.documentElement.lang) })}
      </span>
    </span>
  );
}
