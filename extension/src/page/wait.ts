// Waits until all conditions hold, or the time or the caller ends it. It looks again when the page changes and at a slow
// beat besides, and each look costs at most a share of the time between two: a huge page is not searched in a loop.
// It answers yes or no; it never tells text or values. Waits across a navigation are the worker's: this document ends.

import { WAIT_POLL_MS } from './bounds';
import { body, readyState } from './dom';
import { HiddenCount } from './hidden';
import type { ArgsOf, ResultOf } from './protocol';
import { Refused } from './refusal';
import { select } from './scope';
import { pointed } from './standin';
import { Prose } from './text';
import { walk } from './walk';
import { oneLine } from './words';

type Args = ArgsOf<'wait'>;
type Condition = [word: string, holds: () => boolean];

export async function waitFor(args: Args, signal: AbortSignal): Promise<ResultOf<'wait'>> {
  const start = performance.now();
  const quiet = new Quiet();
  const conditions = conditionsOf(args, quiet);
  try {
    for (;;) {
      if (signal.aborted) throw new Refused('CANCELLED', 'The call was cancelled.');
      const looked = performance.now();
      const unmet = conditions.filter(([, holds]) => !holds()).map(([word]) => word);
      const now = performance.now();
      const waitedMs = Math.round(now - start);
      if (unmet.length === 0 || waitedMs >= args.timeoutMs) return { met: unmet.length === 0, unmet, waitedMs };
      const rest = Math.max(1, args.timeoutMs - waitedMs);
      const least = Math.max(CHANGE_MS, (now - looked) * LOOK_SHARE);
      await quiet.nextLook(Math.min(rest, Math.max(WAIT_POLL_MS, least)), least, args.settledMs, signal);
    }
  } finally {
    quiet.end();
  }
}

function conditionsOf(args: Args, quiet: Quiet): Condition[] {
  const { selector, state, text, textGone, url, nav, settledMs } = args;
  const conditions: Condition[] = [];
  if (nav) conditions.push(['nav', () => readyState(document) === 'complete']);
  if (url !== undefined) conditions.push(['url', () => location.href.includes(url)]);
  if (settledMs !== undefined) conditions.push(['settledMs', () => quiet.since() >= settledMs]);
  if (selector !== undefined) conditions.push(['selector', () => selectorHolds(selector, state ?? 'visible')]);
  if (text !== undefined) conditions.push(['text', () => shows(text)]);
  if (textGone !== undefined) conditions.push(['textGone', () => !shows(textGone)]);
  return conditions;
}

function selectorHolds(selector: string, state: 'visible' | 'hidden' | 'attached' | 'detached'): boolean {
  const found = select(selector);
  if (state === 'attached') return found.length > 0;
  if (state === 'detached') return found.length === 0;
  const visible = found.slice(0, MATCHES_MAX).some((el) => pointed(el) !== undefined);
  return visible === (state === 'visible');
}

const MATCHES_MAX = 2_000;

/** Whether a line of visible text contains `wanted`, letter case aside. */
function shows(wanted: string): boolean {
  const root = body(document);
  const query = oneLine(wanted).toLowerCase();
  if (root === null || query === '') return false;
  let found = false;
  const lines = {
    add: () => {
      found = true;
      return false;
    },
  };
  const prose = new Prose('text', query, { roots: [root], modal: false }, lines, new HiddenCount(), new Set());
  walk(root, prose);
  prose.endLine();
  return found;
}

/** Knows when the document last changed. */
class Quiet {
  private last = performance.now();
  private wake: (() => void) | undefined;
  private readonly observer = new MutationObserver(() => {
    this.last = performance.now();
    this.wake?.();
  });

  constructor() {
    this.observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  }

  since(): number {
    return performance.now() - this.last;
  }

  end(): void {
    this.observer.disconnect();
  }

  /** Waits for `most` milliseconds; less if the page changes, but never so little that looking becomes all it does. */
  async nextLook(most: number, least: number, settledMs: number | undefined, signal: AbortSignal): Promise<void> {
    const due = settledMs === undefined ? most : Math.min(most, Math.max(5, settledMs - this.since()));
    await new Promise<void>((done) => {
      const timer = setTimeout(end, due);
      const change = settledMs === undefined ? () => setTimeout(end, least) : undefined;
      this.wake = change;
      signal.addEventListener('abort', end, { once: true });
      const release = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
      };
      function end() {
        release();
        done();
      }
    });
    this.wake = undefined;
  }
}

/** Milliseconds in which changes are gathered before the next look. */
const CHANGE_MS = 15;
/** The pause after a look, in multiples of what it cost. */
const LOOK_SHARE = 4;
