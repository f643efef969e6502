/*
 * The kill switch: one press stops everything, in every browser. Nothing here releases it; that needs the person at a
 * terminal, and the sentence says how. The press is shown as done at once: the worker engages before it asks anybody.
 */
import { useState } from 'react';
import { useWords } from '../i18n';
import { ask } from '../link';
import type { KillView, State } from '../messages';
import { oneLine } from '../shown';

export function KillSwitch({ kill, refresh }: { kill: State['kill']; refresh: () => void }) {
  const on = kill.state === 'killed' || (kill.state === 'untold' && kill.killed);
  return on ? <Stopped kill={kill} /> : <Engage told={kill.state === 'clear'} refresh={refresh} />;
}

function Engage({ told, refresh }: { told: boolean; refresh: () => void }) {
  const say = useWords();
  const [engaging, setEngaging] = useState(false);
  const engage = () => {
    setEngaging(true);
    // The worker tells all pages when it stands; its answer only says when the host knows, too.
    void ask({ ask: 'kill_engage' }).finally(refresh);
  };
  return (
    <section className="kill" aria-labelledby="kill">
      <div>
        <h2 id="kill">{say('kill.title')}</h2>
        <p className="quiet">{told ? say('kill.hint') : say('kill.untold')}</p>
      </div>
      <button type="button" className="stop" data-testid="kill-engage" disabled={engaging} onClick={engage}>
        {say('kill.engage')}
      </button>
    </section>
  );
}

function Stopped({ kill }: { kill: KillView }) {
  const say = useWords();
  const why = kill.state === 'killed' ? kill.why : 'untold';
  const words = kill.state === 'killed' ? (kill.warning ?? kill.sentence) : undefined;
  return (
    <section className="banner stopped" role="status" data-testid="killed">
      <strong>{say('kill.stopped')}</strong>
      <p>{say(`kill.why_${why}`)}</p>
      {words !== undefined && why !== 'rolled_back' && <p className="detail">{oneLine(words, 500)}</p>}
      {why !== 'damaged' && why !== 'rolled_back' && why !== 'storage' && (
        <p className="release">
          {say('kill.release')} <code>genkan unkill</code>
        </p>
      )}
    </section>
  );
}
