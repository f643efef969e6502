/* Tabs that a page opens during an act, so that the act can tell of them. It judges none of them. */
import type { Tab } from '../gate/dispatch';
import { find } from './tabs';
import { pause } from './time';

/** Milliseconds to wait for a window that was announced. */
const ANNOUNCED_MS = 400;

export class Opened {
  readonly #ids: number[] = [];
  readonly #take: (tab: chrome.tabs.Tab) => void;

  constructor(opener: number) {
    this.#take = ({ id, openerTabId }) => {
      if (id !== undefined && openerTabId === opener) this.#ids.push(id);
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
