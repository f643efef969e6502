/* Tabs that a page opens during an act, so that the act can tell of them. A page's new tab is made before it has anywhere to
   go; one that the person or an extension opens has its address from the start. The browser names the tab in front as the
   opener of either, so it is not asked. It judges none of them. */
import type { Tab } from '../gate/dispatch';
import { find } from './tabs';
import { pause } from './time';

/** Milliseconds to wait for a window that was announced. */
const ANNOUNCED_MS = 400;

export class Opened {
  readonly #ids: number[] = [];
  readonly #take: (tab: chrome.tabs.Tab) => void;

  constructor() {
    this.#take = ({ id, url, pendingUrl }) => {
      if (id !== undefined && !url && !pendingUrl) this.#ids.push(id);
    };
    chrome.tabs.onCreated.addListener(this.#take);
  }

  async all(announced: boolean, signal: AbortSignal): Promise<Tab[]> {
    for (let waited = 0; announced && this.#ids.length === 0 && waited < ANNOUNCED_MS; waited += 20)
      await pause(20, signal);
    const tabs = await Promise.all(this.#ids.map((id) => find(id)));
    return tabs.flatMap((tab) => tab ?? []);
  }

  stop(): void {
    chrome.tabs.onCreated.removeListener(this.#take);
  }
}
