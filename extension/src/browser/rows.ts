/* Every operation of the catalogue, with the gates it meets and what then does it. Decides nothing itself: the compiler
   refuses a catalogue row without an entry here. */
import type { Rows } from '../gate/dispatch';
import { originShown } from '../gate/origin';
import { click, fill, scroll, waitFor } from './acting';
import { capture } from './capture';
import { closeTab, focusTab, listTabs } from './handling';
import { navigate, open, reload, step } from './journeys';
import { cameByPost } from './posted';
import { snapshot, text } from './reading';
import { entries } from './sites';

export const rows: Rows = {
  tab_list: { on: 'browser', reads: true, act: async (call) => listTabs(call, await entries()) },
  tab_open: { on: 'browser', goesTo: ({ url }) => url, act: async (call) => open(call, await entries()) },
  tab_focus: {
    on: 'tab',
    page: 'any_site',
    plan: async (call, tab) => ({ act: async () => focusTab(call, tab, await entries()) }),
  },
  tab_close: { on: 'tab', page: 'any_site', plan: closeTab },
  page_navigate: {
    on: 'tab',
    page: 'approved_or_opened',
    goesTo: ({ url }) => url,
    plan: async (call, tab) => ({ act: async () => navigate(call, tab, await entries()) }),
  },
  page_back: {
    on: 'tab',
    page: 'approved_or_opened',
    plan: async (call, tab) => ({ act: async () => step(call, tab, await entries()) }),
  },
  page_forward: {
    on: 'tab',
    page: 'approved_or_opened',
    plan: async (call, tab) => ({ act: async () => step(call, tab, await entries()) }),
  },
  page_reload: {
    on: 'tab',
    page: 'approved_or_opened',
    plan: async (call, tab) => ({
      intended: { kind: cameByPost(tab.id) ? 'repost' : 'plain', origin: originShown(tab.url) },
      act: async () => reload(call, tab, await entries()),
    }),
  },
  page_snapshot: {
    on: 'tab',
    reads: true,
    page: 'approved',
    plan: async (call, tab) => ({ act: async () => snapshot(call, tab, await entries()) }),
  },
  page_text: {
    on: 'tab',
    reads: true,
    page: 'approved',
    plan: async (call, tab) => ({ act: async () => text(call, tab, await entries()) }),
  },
  page_click: { on: 'tab', page: 'approved', plan: async (call, tab) => click(call, tab, await entries()) },
  page_fill: { on: 'tab', page: 'approved', plan: async (call, tab) => fill(call, tab, await entries()) },
  page_scroll: {
    on: 'tab',
    page: 'approved',
    plan: async (call, tab) => ({ act: async () => scroll(call, tab, await entries()) }),
  },
  page_wait_for: {
    on: 'tab',
    reads: true,
    page: 'approved',
    plan: async (call, tab) => ({ act: async () => waitFor(call, tab, await entries()) }),
  },
  page_screenshot: {
    on: 'tab',
    reads: true,
    page: 'approved',
    plan: async (call, tab) => ({ act: async () => capture(call, tab, await entries()) }),
  },
};
