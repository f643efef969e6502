import { expect, test, vi } from 'vitest';
import { fakeBrowser } from 'wxt/testing/fake-browser';

const ID = 'fhfbdalnecakiolkelkaididjlheojno';
const OWN = `chrome-extension://${ID}`;
const listeners: ((
  message: unknown,
  sender: chrome.runtime.MessageSender,
  reply: (answer: unknown) => void,
) => boolean)[] = [];

vi.stubGlobal('chrome', {
  ...fakeBrowser,
  runtime: {
    id: ID,
    getURL: (path: string) => `${OWN}/${path.replace(/^\//, '')}`,
    onMessage: { addListener: (hear: (typeof listeners)[number]) => listeners.push(hear) },
  },
});
const { answerPages, isOwnPage } = await import('./pages');

const popup = { id: ID, origin: OWN, url: `${OWN}/popup.html` };
const tab = { id: 3 } as chrome.tabs.Tab;

test.each([
  ['the popup', popup],
  ['the options page in a tab', { id: ID, origin: OWN, url: `${OWN}/options.html#clients`, tab, frameId: 0 }],
])('%s is believed', (_, sender) => expect(isOwnPage(sender)).toBe(true));

test.each([
  [
    'a content script in a site',
    { id: ID, origin: 'https://good.example', url: 'https://good.example/popup.html', tab, frameId: 0 },
  ],
  [
    'a content script whose site spells our address',
    { id: ID, origin: 'https://evil.example', url: `https://evil.example/${OWN}/popup.html`, tab },
  ],
  ['a sender whose address is ours and whose origin is not', { ...popup, origin: 'https://evil.example', tab }],
  ['a sender whose origin is ours and whose address is not', { ...popup, url: 'https://evil.example/popup.html' }],
  [
    'a page of another extension',
    {
      id: 'a'.repeat(32),
      origin: `chrome-extension://${'a'.repeat(32)}`,
      url: `chrome-extension://${'a'.repeat(32)}/popup.html`,
    },
  ],
  ['another extension that names our page', { ...popup, id: 'a'.repeat(32) }],
  ['our page inside a frame', { ...popup, tab, frameId: 4 }],
  ['the confirmation window', { id: ID, origin: OWN, url: `${OWN}/confirm.html?id=1`, tab, frameId: 0 }],
  ['a page of ours that does not exist', { id: ID, origin: OWN, url: `${OWN}/popup.html/../x.html` }],
  ['our own sandboxed document', { ...popup, origin: 'null' }],
  ['a sender without an address', { id: ID }],
])('t126_%s_is_not_believed', (_, sender) => expect(isOwnPage(sender)).toBe(false));

test('t126_what_a_message_says_about_its_sender_counts_for_nothing', () => {
  const state = vi.fn(async () => ({}));
  const engage = vi.fn(async () => undefined);
  answerPages({
    state,
    engage,
    paired: async () => ({ ok: false, message: '' }),
    events: async () => ({ ok: false, message: '' }),
    changed: () => undefined,
  });
  const forged = { ask: 'state', sender: popup, url: popup.url };
  const stranger = { id: ID, origin: 'https://evil.example', url: 'https://evil.example/', tab, frameId: 0 };
  for (const hear of listeners) {
    expect(hear({ ask: 'state' }, stranger, () => undefined)).toBe(false);
    expect(hear(forged, stranger, () => undefined)).toBe(false);
    expect(hear(forged, popup, () => undefined)).toBe(false);
    expect(
      hear({ ask: 'site_intend', tab: 1, shown: 'https://evil.example', scope: 'exact' }, stranger, () => undefined),
    ).toBe(false);
    expect(hear({ ask: 'state' }, popup, () => undefined)).toBe(true);
  }
  expect(state).toHaveBeenCalledTimes(1);
});
