/*
 * The site of the tab in front, and the person's choice about it. What is shown here is what an approval is bound to: the
 * worker hears tab, origin and scope before the browser asks, and later approves only if the tab still shows that origin.
 */
import { useState } from 'react';
import type { Scope } from '../../gate/entry';
import { useWords } from '../i18n';
import { ask } from '../link';
import type { State } from '../messages';
import { isInternational, oneLine } from '../shown';

type SiteView = NonNullable<State['site']>;
type Web = Extract<SiteView, { kind: 'web' }>;

export function Site({ site, refresh }: { site: State['site']; refresh: () => void }) {
  const say = useWords();
  if (site === null) return <p className="quiet">{say('site.none')}</p>;
  if (site.kind === 'web') return <WebSite site={site} refresh={refresh} />;
  return (
    <section className="card">
      <h2>{say('unsupported.title')}</h2>
      <p>{say(`unsupported.${site.reason}`)}</p>
    </section>
  );
}

function WebSite({ site, refresh }: { site: Web; refresh: () => void }) {
  const say = useWords();
  return (
    <section className="card" aria-labelledby="this-site">
      <h2 id="this-site">{say('site.title')}</h2>
      <p className="origin large">
        <bdi>{site.origin}</bdi>
      </p>
      {isInternational(site.origin) && <p className="quiet">{say('site.international')}</p>}
      {site.approved === null ? (
        <Choice site={site} refresh={refresh} />
      ) : (
        <Approved site={site} approved={site.approved} refresh={refresh} />
      )}
    </section>
  );
}

/** What the worker may answer instead, as sentences. */
const WHY_NOT: Record<string, string> = { moved: 'site.moved', no_pattern: 'site.no_pattern' };

function Choice({ site, refresh }: { site: Web; refresh: () => void }) {
  const say = useWords();
  const [note, setNote] = useState('');
  const allow = async (scope: Scope) => {
    const done = await ask({ ask: 'site_intend', tab: site.tab, shown: site.origin, scope });
    if (!done.ok) setNote(say(WHY_NOT[done.message] ?? 'app.unreachable'));
    else if (done.permission !== undefined && done.settled !== true) {
      setNote(say('site.ask_browser'));
      const given = await chrome.permissions.request({ origins: [done.permission] }).catch(() => false);
      setNote(given ? '' : say('site.refused_by_browser'));
    }
    refresh();
  };
  return (
    <>
      <p className={site.wantedBy === null ? 'quiet' : 'wanted'}>
        {site.wantedBy === null
          ? say('site.not_approved')
          : say('site.wanted', { name: oneLine(site.wantedBy, 60) || say('clients.unnamed') })}
      </p>
      <div className="choices">
        <button type="button" className="main" data-testid="site-allow" onClick={() => void allow('exact')}>
          {say('site.allow')}
        </button>
        <button type="button" data-testid="site-allow-session" onClick={() => void allow('session')}>
          {say('site.allow_session')}
        </button>
        {site.pattern !== null && (
          <button
            type="button"
            data-testid="site-allow-pattern"
            title={say('site.allow_pattern_hint', { domain: site.pattern.replace(/^.*\*\./, '') })}
            onClick={() => void allow('pattern')}
          >
            {say('site.allow_pattern', { pattern: site.pattern })}
          </button>
        )}
      </div>
      <p className="quiet" role="status">
        {note}
      </p>
    </>
  );
}

function Approved({
  site,
  approved,
  refresh,
}: {
  site: Web;
  approved: NonNullable<Web['approved']>;
  refresh: () => void;
}) {
  const say = useWords();
  const deny = () => ask({ ask: 'site_deny', tab: site.tab, shown: site.origin }).then(refresh);
  return (
    <>
      <p className="approved">
        {say(`site.approved_${approved.scope}`, approved.scope === 'pattern' ? { pattern: approved.site } : {})}
      </p>
      <div className="choices">
        <button type="button" data-testid="site-deny" onClick={() => void deny()}>
          {say('site.deny')}
        </button>
      </div>
    </>
  );
}
