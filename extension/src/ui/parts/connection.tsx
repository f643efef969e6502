/* Shows where the way to programs stands, who may enter, who acts, and whether a question waits. It decides nothing. */
import type { ReactNode } from 'react';
import { useWords } from '../i18n';
import { ask } from '../link';
import type { ClientView, State } from '../messages';
import { oneLine } from '../shown';

export function LinkLine({ state: { link, label } }: { state: State }) {
  const say = useWords();
  const attached = link.state === 'attached' && label !== null;
  const tone =
    link.state === 'attached' ? 'good' : link.state === 'waiting' || link.state === 'starting' ? 'calm' : 'bad';
  return (
    <div className="link" role="status">
      <p className={`dot ${tone}`}>
        {attached ? say('link.attached_as', { label: oneLine(label, 40) }) : say(`link.${link.state}`)}
      </p>
      {link.state === 'no_host' && <p className="quiet">{say('link.no_host_hint')}</p>}
      {link.state === 'mismatch' && <p className="quiet">{say('link.mismatch_hint')}</p>}
      {link.detail !== undefined && (
        <p className="quiet detail">{say('link.detail', { detail: oneLine(link.detail, 300) })}</p>
      )}
    </div>
  );
}

export function DoorBanner({ door }: { door: State['door'] }) {
  const say = useWords();
  if (door !== 'open') return null;
  return (
    <section className="banner warn" data-testid="door-open">
      <strong>{say('door.open')}</strong>
      <p>{say('door.open_hint')}</p>
    </section>
  );
}

export function ConfirmingBanner({ count }: { count: number }) {
  const say = useWords();
  if (count === 0) return null;
  return (
    <section className="banner ask" data-testid="confirming">
      <strong>{count === 1 ? say('confirming.one') : say('confirming.many', { count })}</strong>
      <button type="button" onClick={() => void ask({ ask: 'confirm_show' })}>
        {say('confirming.show')}
      </button>
    </section>
  );
}

export function Clients({ clients }: { clients: readonly ClientView[] }) {
  const say = useWords();
  return (
    <section>
      <h2>{say('clients.title')}</h2>
      {clients.length === 0 && <p className="quiet">{say('clients.none')}</p>}
      <ul className="rows">
        {clients.map((client) => (
          <li key={`${client.name}\0${client.image}`}>
            <ClientName client={client}>
              <span className="quiet">
                {client.calls > 0 ? say('clients.working') : say('clients.idle')} ·{' '}
                {say('clients.tabs', { count: client.tabs })}
              </span>
            </ClientName>
          </li>
        ))}
      </ul>
    </section>
  );
}

type Named = Pick<ClientView, 'name' | 'image' | 'verified'>;

/** What a program calls itself, and the file it runs from: the only part that it does not choose. */
export function ClientName({ client, children }: { client: Named; children?: ReactNode }) {
  const say = useWords();
  return (
    <span className="client">
      <span>
        <bdi>{oneLine(client.name, 60) || say('clients.unnamed')}</bdi>{' '}
        <span className={client.verified ? 'tag good' : 'tag warn'}>
          {client.verified ? say('clients.verified') : say('clients.unverified')}
        </span>
      </span>
      <code>
        <bdi>{oneLine(client.image, 160) || say('clients.image_unknown')}</bdi>
      </code>
      {children}
    </span>
  );
}
