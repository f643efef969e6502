/* page_click, page_fill, page_scroll and page_wait_for. Decides in which document the act happens, what it would be before
   it happens, and what it led to: a page that came, tabs that opened, or a document that left before it could answer. An act
   is sent once and never again. The page itself refuses it if element or document are not those that were looked at. */
import { ACT_MS, WAIT_MS_DEFAULT } from '../contract/limits';
import type { Entry } from '../gate/allowlist';
import type { Call, Intended, Plan, Tab } from '../gate/dispatch';
import type { PageResult } from '../gate/egress';
import { Refused } from '../gate/refused';
import type { ArgsOf, Effects, Probe } from '../page/protocol';
import { ask, type Doc, Gone, have, holder, steady } from './documents';
import { Opened } from './opened';
import { notePost } from './posted';
import { splitRef } from './targets';
import { pause } from './time';
import { Commits, follow, type Landing } from './travel';
import { fromPage, landed, own } from './words';

type Acting = 'page_click' | 'page_fill' | 'page_scroll';
type Looked = { doc: Doc; probe: Probe };

export async function click(call: Call<'page_click'>, tab: Tab, entries: readonly Entry[]): Promise<Plan> {
  const { tabId: _, ref, selector, count, ...held } = call.args;
  const { doc, probe } = await lookAt(call, tab, entries, { act: 'click', ...held });
  const args = { token: probe.token, ...held, ...(count === undefined ? {} : { count }) };
  return {
    intended: intendedBy({ doc, probe }),
    act: () => act(call, tab, entries, { doc, probe }, () => have(doc, 'click', args, call.key, call)),
  };
}

export async function fill(call: Call<'page_fill'>, tab: Tab, entries: readonly Entry[]): Promise<Plan> {
  const { tabId: _, ref, selector, ...how } = call.args;
  const submit = how.submit === undefined ? {} : { submit: how.submit };
  const { doc, probe } = await lookAt(call, tab, entries, { act: 'fill', ...submit });
  const args = { token: probe.token, ...how };
  return {
    intended: intendedBy({ doc, probe }),
    act: () => act(call, tab, entries, { doc, probe }, () => have(doc, 'fill', args, call.key, call)),
  };
}

export async function scroll(call: Call<'page_scroll'>, tab: Tab, entries: readonly Entry[]): Promise<PageResult> {
  const { tabId: _, ref, ...how } = call.args;
  const target = ref === undefined ? { frame: 0 } : splitRef(ref);
  const args = { ...how, ...('ref' in target ? { ref: target.ref } : {}) };
  return await steady(tab.id, target.frame === 0 ? 'top' : 'all', entries, call.signal, async (found, turn) => {
    const doc = holder(found, target.frame);
    const effects = await have(doc, 'scroll', args, `${call.key}.${turn}`, call);
    const { top, height, view } = effects.scroll ?? {};
    const where = top !== undefined && `Now at ${round(top)} of ${round(height)} pixels; ${round(view)} are in view.`;
    const said = own(`Tab ${tab.id}: ${effects.changed ? 'scrolled' : 'nothing moved'}.`, where);
    return { blocks: effects.warnings.length === 0 ? [said] : [said, fromPage(doc.origin, ...warnings(effects))] };
  });
}

/** Waits through documents that come and go; the time is one for all of them. */
export async function waitFor(call: Call<'page_wait_for'>, tab: Tab, entries: readonly Entry[]): Promise<PageResult> {
  const { tabId: _, timeoutMs = WAIT_MS_DEFAULT, ...conditions } = call.args;
  const begun = performance.now();
  const spent = () => Math.round(performance.now() - begun);
  for (let turn = 0; ; turn += 1) {
    const left = Math.max(0, timeoutMs - spent());
    const key = `${call.key}.${turn}`;
    const reply = await steady(tab.id, 'top', entries, call.signal, (found) =>
      ask(holder(found, 0), 'wait', { ...conditions, timeoutMs: left }, key, call.signal),
    ).catch((error: unknown) => (error instanceof Gone ? undefined : Promise.reject(error)));
    if (reply?.met === true) return { blocks: [own(`Tab ${tab.id}: it holds, after ${spent()} ms.`)] };
    if (left === 0 || reply !== undefined)
      throw notMet(
        timeoutMs,
        Object.keys(conditions).filter((name) => reply?.unmet?.includes(name) !== false),
      );
    await pause(50, call.signal);
  }
}

function notMet(timeoutMs: number, unmet: readonly string[]): Refused {
  const what = unmet.length === 0 ? '' : ` (${unmet.join(', ')})`;
  return new Refused(
    'EXECUTION_FAILED',
    `It did not come to hold within ${timeoutMs} ms${what}. Read the page to see why.`,
  );
}

async function lookAt(
  call: Call<'page_click' | 'page_fill'>,
  tab: Tab,
  entries: readonly Entry[],
  how: ArgsOf<'probe'>,
): Promise<Looked> {
  const { ref, selector } = call.args;
  const target = ref === undefined ? { frame: 0 } : splitRef(ref);
  const at = 'ref' in target ? { ref: target.ref } : selector === undefined ? {} : { selector };
  return await steady(tab.id, target.frame === 0 ? 'top' : 'all', entries, call.signal, async (found, turn) => {
    const doc = holder(found, target.frame);
    return { doc, probe: await ask(doc, 'probe', { ...how, ...at }, `${call.key}.${turn}`, call.signal) };
  });
}

function intendedBy({ doc, probe }: Looked): Intended {
  const { kind, role, name, destination, twofold } = probe;
  return {
    kind,
    origin: doc.origin,
    role,
    name,
    ...(destination === undefined ? {} : { destination }),
    ...(twofold === undefined ? {} : { twofold }),
  };
}

async function act(
  call: Call<Acting>,
  tab: Tab,
  entries: readonly Entry[],
  { doc, probe }: Looked,
  send: () => Promise<Effects>,
): Promise<PageResult> {
  const commits = new Commits();
  const opened = new Opened();
  try {
    const effects = await send().catch(leftBehind);
    const left = effects === undefined || effects.navigated?.sameDocument === false;
    const away = commits.has(tab.id) || (left && doc.frame === 0);
    const landing = away ? await follow(tab.id, commits, entries, ACT_MS, call.signal) : undefined;
    if (probe.method === 'post' && landing?.tab.url === probe.destination) notePost(tab.id);
    const tabs = await opened.all(probe.kind === 'popup', call.signal);
    return { blocks: report(tab, doc, probe, effects, landing, tabs, entries) };
  } finally {
    commits.stop();
    opened.stop();
  }
}

/** A document that left after it was asked has acted; one that was never reached has not. */
function leftBehind(error: unknown): undefined {
  if (!(error instanceof Gone)) throw error;
  if (error.sent) return undefined;
  throw new Refused(
    'EXECUTION_FAILED',
    'The page went away before it could be asked, so nothing was done. Take a new snapshot.',
  );
}

function report(
  tab: Tab,
  doc: Doc,
  probe: Probe,
  effects: Effects | undefined,
  landing: Landing | undefined,
  tabs: readonly Tab[],
  entries: readonly Entry[],
): PageResult['blocks'] {
  const changed = effects === undefined || effects.changed || landing !== undefined || tabs.length > 0;
  return [
    own(
      `Tab ${tab.id}: done. changed: ${changed ? 'yes' : 'no, nothing visible changed'}.`,
      effects?.value !== undefined && `The field holds a value ${effects.value}.`,
      effects?.navigated?.sameDocument === true && 'The page moved to another address within itself.',
      effects === undefined && landing === undefined && 'The page left before it could report.',
    ),
    fromPage(
      doc.origin,
      `target: ${probe.role} ${JSON.stringify(probe.name)}`,
      effects?.navigated?.sameDocument === true ? `address: ${effects.navigated.url}` : undefined,
      effects?.focus === undefined ? undefined : `focus: ${effects.focus}`,
      effects?.coveredBy === undefined ? undefined : `covered by: ${effects.coveredBy}`,
      effects?.download === undefined ? undefined : `download: ${effects.download}`,
      ...warnings(effects),
    ),
    ...(landing === undefined ? [] : landed(landing, entries)),
    ...tabs.map((each) => own(`New tab ${each.id}. Name it in \`tabId\` to use it, if its site is approved.`)),
  ];
}

// Our script's own words, but a renderer that was taken over could put any there: they stay with the page.
const warnings = (effects: Effects | undefined): string[] =>
  (effects?.warnings ?? []).map((each) => `warning: ${each}`);

const round = (pixels: number | undefined): number => Math.round(pixels ?? 0);
