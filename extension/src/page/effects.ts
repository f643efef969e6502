// Watches what an act does to the document, for a short and bounded time: changes of the tree, the address, the focus, the
// field, the scroll position. Saying "nothing changed" matters most: an act that a site ignored must not look done.
// It does not know new tabs, dialogs that stop the page, or what happens after it stopped watching; the worker adds those.

import { EFFECTS_MS_MAX, FIRST_EFFECT_MS, QUIET_MS } from './bounds';
import { connected, focused, inside, treeOf } from './dom';
import { rawValue } from './fields';
import { describe } from './names';
import { pause } from './pause';
import type { Effects } from './protocol';
import { cover } from './target';

export class Watch {
  private readonly observer = new MutationObserver((records) => this.onChange(records));
  private readonly stop = new AbortController();
  private readonly before: Situation;
  private changes = 0;
  private lastChange = 0;
  private left = false;
  private navigated: Effects['navigated'];
  private download: string | undefined;
  private readonly warnings: string[] = [];

  /** `elsewhere`: the effect is expected outside of the document, and its absence here is no news. */
  constructor(
    private readonly target: Element,
    private readonly elsewhere = false,
  ) {
    const everything = { subtree: true, childList: true, attributes: true, characterData: true };
    this.observer.observe(document, everything);
    const tree = treeOf(target);
    if (tree instanceof ShadowRoot) this.observer.observe(tree, everything);
    const { signal } = this.stop;
    window.addEventListener('pagehide', () => this.leave(), { signal });
    window.navigation.addEventListener('navigate', (event) => this.onNavigate(event), { signal });
    this.before = situation(target);
  }

  warn(sentence: string): void {
    this.warnings.push(sentence);
  }

  /** Waits until the effects end or the bound is reached, and says what they were. */
  async settle(): Promise<Effects> {
    const start = performance.now();
    while (!this.settled(start)) await pause(4);
    this.onChange(this.observer.takeRecords());
    this.observer.disconnect();
    this.stop.abort();
    return this.report();
  }

  private settled(start: number): boolean {
    this.onChange(this.observer.takeRecords());
    const now = performance.now();
    if (this.left || now - start > EFFECTS_MS_MAX) return true;
    return this.changes > 0 ? now - Math.max(this.lastChange, start) >= QUIET_MS : now - start >= FIRST_EFFECT_MS;
  }

  private report(): Effects {
    const now = situation(this.target);
    const { before } = this;
    const moved = now.address !== before.address;
    const focus = now.focus !== before.focus && now.focus !== null ? now.focus : undefined;
    const elsewhere = focus !== undefined && !inside(this.target, focus) && !inside(focus, this.target);
    const changed =
      this.changes > 0 || moved || elsewhere || now.field !== before.field || now.scroll !== before.scroll || this.left;
    if (!changed && !this.elsewhere) this.warn(NO_EFFECT);
    const over = this.left ? undefined : cover(this.target);
    const navigated = this.navigated ?? (moved ? { url: now.address, sameDocument: true } : undefined);
    return {
      changed,
      warnings: this.warnings,
      ...(navigated && { navigated }),
      ...(this.download !== undefined && { download: this.download }),
      ...(focus && { focus: describe(focus) }),
      ...(over && { coveredBy: describe(over) }),
    };
  }

  private onChange(records: MutationRecord[]): void {
    const real = records.filter((r) => !(r.type === 'attributes' && r.attributeName?.startsWith('data-genkan-')));
    if (real.length === 0) return;
    this.changes += real.length;
    this.lastChange = performance.now();
  }

  private onNavigate(event: NavigateEvent): void {
    const { url, sameDocument } = event.destination;
    if (event.downloadRequest !== null) {
      this.download = event.downloadRequest === '' ? url.slice(0, 1_000) : event.downloadRequest.slice(0, 1_000);
      return;
    }
    this.navigated = { url: url.slice(0, 8_000), sameDocument };
    if (!sameDocument) this.leave();
  }

  private leave(): void {
    this.left = true;
  }
}

const NO_EFFECT =
  'No visible effect so far. The site may react later (page_wait_for), or ignore events that no person caused.';

interface Situation {
  address: string;
  focus: Element | null;
  field: string;
  scroll: string;
}

function situation(target: Element): Situation {
  const ticked = target instanceof HTMLInputElement ? `${target.checked}${target.indeterminate}` : '';
  const isField = /^(input|textarea|select)$/.test(target.localName);
  const value = isField && connected(target) ? rawValue(target) : '';
  return {
    address: location.href,
    focus: focused(),
    field: `${ticked}\n${value}`,
    scroll: `${window.scrollX} ${window.scrollY} ${target.scrollTop} ${target.scrollLeft}`,
  };
}
