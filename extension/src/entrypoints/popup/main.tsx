/* The toolbar popup: this site and the person's choice about it, who acts, and what is allowed. */
import { useWords } from '../../ui/i18n';
import { mount, type Shown, StatePage } from '../../ui/page';
import { Clients, ConfirmingBanner, DoorBanner, LinkLine } from '../../ui/parts/connection';
import { KillSwitch } from '../../ui/parts/kill';
import { Screenshots } from '../../ui/parts/screenshots';
import { Site } from '../../ui/parts/site';
import { Sites } from '../../ui/parts/sites';

const SITES_SHOWN = 3;

function Popup({ state, refresh }: Shown) {
  const say = useWords();
  return (
    <main>
      <header>
        <img src="/icon/32.png" alt="" width="20" height="20" />
        <h1>{say('app.name')}</h1>
        <button type="button" className="slight" onClick={() => void chrome.runtime.openOptionsPage()}>
          {say('app.options')}
        </button>
      </header>
      <LinkLine state={state} />
      <KillSwitch kill={state.kill} refresh={refresh} />
      <ConfirmingBanner count={state.confirming} />
      <Site site={state.site} refresh={refresh} />
      <DoorBanner door={state.door} />
      <Clients clients={state.clients} />
      <Sites entries={state.entries} most={SITES_SHOWN} />
      <Screenshots on={state.screenshots} refresh={refresh} />
    </main>
  );
}

const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
mount(<StatePage tab={tab?.id} page={Popup} />);
