/* Lists the sites the person allowed, each with a way to take it back. */
import type { Entry } from '../../gate/entry';
import { useWords } from '../i18n';
import { ask } from '../link';

export function Sites({ entries, most }: { entries: readonly Entry[]; most: number }) {
  const say = useWords();
  const newest = entries.toSorted((a, b) => b.since - a.since);
  return (
    <section>
      <h2>{say('sites.title')}</h2>
      {entries.length === 0 && <p className="quiet">{say('sites.none')}</p>}
      <ul className="rows" data-testid="sites">
        {newest.slice(0, most).map((entry) => (
          <li key={`${entry.scope} ${entry.site}`}>
            <span className="site">
              <bdi className="origin">{entry.site}</bdi>
              <span className="quiet">
                {say(`sites.${entry.scope}`)} ·{' '}
                {say('sites.since', { date: new Date(entry.since).toLocaleDateString(document.documentElement.lang) })}
              </span>
            </span>
            <button
              type="button"
              className="slight"
              aria-label={say('sites.remove', { site: entry.site })}
              onClick={() => void ask({ ask: 'site_remove', site: entry.site })}
            >
              {say('sites.remove_short')}
            </button>
          </li>
        ))}
      </ul>
      {entries.length > most && (
        <button type="button" className="slight wide" onClick={() => void chrome.runtime.openOptionsPage()}>
          {say('sites.all', { count: entries.length })}
        </button>
      )}
    </section>
  );
}
