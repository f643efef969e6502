/* The options page: every allowed site, the switches, language and theme, and where the connection stands. */
import { LANGUAGES, useWords } from '../../ui/i18n';
import { ask } from '../../ui/link';
import { Language, Theme } from '../../ui/messages';
import { mount, type Shown, StatePage } from '../../ui/page';
import { Clients, ConfirmingBanner, LinkLine } from '../../ui/parts/connection';
import { EventList } from '../../ui/parts/events';
import { KillSwitch } from '../../ui/parts/kill';
import { Paired } from '../../ui/parts/paired';
import { Screenshots } from '../../ui/parts/screenshots';
import { Sites } from '../../ui/parts/sites';

function Options({ state, refresh }: Shown) {
  const say = useWords();
  return (
    <main>
      <header>
        <img src="/icon/48.png" alt="" width="32" height="32" />
        <h1>{say('options.title')}</h1>
        <span className="quiet">{say('app.version', { version: state.version })}</span>
      </header>
      <ConfirmingBanner count={state.confirming} />
      <section>
        <h2>{say('options.state')}</h2>
        <LinkLine state={state} />
      </section>
      <KillSwitch kill={state.kill} refresh={refresh} />
      <Paired state={state} />
      <Clients clients={state.clients} />
      <Sites entries={state.entries} most={state.entries.length} />
      <Screenshots on={state.screenshots} refresh={refresh} />
      <EventList state={state} />
      <Appearance language={state.language} theme={state.theme} />
    </main>
  );
}

function Appearance({ language, theme }: { language: Language; theme: Theme }) {
  const say = useWords();
  return (
    <section>
      <h2>{say('options.appearance')}</h2>
      <div className="fields">
        <label>
          {say('options.language')}
          <select
            value={language}
            onChange={(e) => void ask({ ask: 'settings', language: Language.parse(e.target.value) })}
          >
            <option value="auto">{say('options.language_auto')}</option>
            {LANGUAGES.map((each) => (
              <option key={each.language} value={each.language} lang={each.tag}>
                {each.name}
              </option>
            ))}
          </select>
        </label>
        <label>
          {say('options.theme')}
          <select value={theme} onChange={(e) => void ask({ ask: 'settings', theme: Theme.parse(e.target.value) })}>
            {Theme.options.map((each) => (
              <option key={each} value={each}>
                {say(`options.theme_${each}`)}
              </option>
            ))}
          </select>
        </label>
      </div>
    </section>
  );
}

mount(<StatePage page={Options} />);
