/* tab_list, tab_focus and tab_close. Decides what a list may tell of each tab, and when a close needs no yes: the client
   opened the tab and it never was in front of the person. */
import { RESULT_CHARS_MAX } from '../contract/limits';
import type { Entry } from '../gate/allowlist';
import type { Call, Plan, Tab } from '../gate/dispatch';
import type { PageResult } from '../gate/egress';
import { originShown } from '../gate/origin';
import { holding, untouched } from './clients';
import { all, look, matches, shown, type TabShown } from './tabs';
import { fromPage, own, shows } from './words';

const LIMIT_DEFAULT = 100;
/** Characters of a list as data, with room for what masks add. */
const DATA_CHARS = RESULT_CHARS_MAX * 0.8;

export async function listTabs(call: Call<'tab_list'>, entries: readonly Entry[]): Promise<PageResult> {
  const { query, limit = LIMIT_DEFAULT } = call.args;
  const { current } = await holding(call.caller);
  const fitting = (await all()).map((tab) => shown(tab, entries, current)).filter((tab) => matches(tab, query));
  const tabs = fitted(fitting.slice(0, limit));
  const more = fitting.length - tabs.length;
  return {
    blocks: [
      own(
        tabs.length === 0
          ? 'No tab fits.'
          : `${tabs.length} of ${fitting.length} tabs. Tabs without a title are not approved.`,
      ),
      ...(tabs.length === 0 ? [] : [fromPage('tabs', ...tabs.map(lineOf))]),
      ...(more > 0 ? [own(`${more} more are left out: narrow with \`query\` or raise \`limit\`.`)] : []),
    ],
    structured: { tabs, more },
  };
}

export async function focusTab(call: Call<'tab_focus'>, tab: Tab, entries: readonly Entry[]): Promise<PageResult> {
  await call.fresh();
  await chrome.tabs.update(tab.id, { active: true });
  await chrome.windows.update(tab.windowId, { focused: true });
  return { blocks: [own(`Tab ${tab.id} is in front and is your current tab.`), ...shows(await look(tab.id), entries)] };
}

export async function closeTab(call: Call<'tab_close'>, tab: Tab): Promise<Plan> {
  return {
    intended: { kind: 'close_tab', origin: originShown(tab.url) },
    waived: await untouched(call.caller, tab.id),
    act: async () => {
      await call.fresh();
      await chrome.tabs.remove(tab.id);
      return { blocks: [own(`Tab ${tab.id} is closed.`)] };
    },
  };
}

/** As many as a result can carry as data; without it the list would be none. */
function fitted(tabs: readonly TabShown[]): TabShown[] {
  let room = DATA_CHARS;
  return tabs.filter((tab) => {
    room -= JSON.stringify(tab).length + 1;
    return room >= 0;
  });
}

function lineOf(tab: TabShown): string {
  const marks = [tab.active ? 'in front' : '', 'current' in tab && tab.current ? 'current' : ''].filter(
    (mark) => mark !== '',
  );
  const state = marks.length === 0 ? '' : ` [${marks.join(', ')}]`;
  return 'url' in tab ? `${tab.id}${state} ${tab.title} — ${tab.url}` : `${tab.id}${state} ${tab.origin}`;
}
