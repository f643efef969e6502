/*
 * The switch for screenshots. A picture of a tab needs the browser's permission for all sites; the allowlist still
 * decides which are pictured. The worker hears of the wish first, because the browser's prompt may destroy this page.
 */
import { useWords } from '../i18n';
import { ask } from '../link';

export function Screenshots({ on, refresh }: { on: boolean; refresh: () => void }) {
  const say = useWords();
  const turn = async () => {
    const done = await ask({ ask: 'screenshots', on: !on });
    if (done.ok && done.permission !== undefined && done.settled !== true) {
      await chrome.permissions.request({ origins: [done.permission] }).catch(() => false);
    }
    refresh();
  };
  return (
    <section className="switch">
      <div>
        <h2 id="screenshots">{say('screenshots.title')}</h2>
        <p className="quiet" id="screenshots-hint">
          {on ? say('screenshots.hint') : `${say('screenshots.hint')} ${say('screenshots.hint_off')}`}
        </p>
      </div>
      <button
        type="button"
        role="switch"
        aria-checked={on}
        aria-labelledby="screenshots"
        aria-describedby="screenshots-hint"
        data-testid="screenshots"
        onClick={() => void turn()}
      />
    </section>
  );
}
