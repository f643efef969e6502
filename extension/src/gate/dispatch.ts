/* The order of gates for one call: the kill switch, known operation, fitting arguments, a tab, its turn there, a kind of page we act on, an approved site,
   the browser's own permission, an approved destination, the person's yes where the act needs one, the act, and the one way
   out. Decides only the order, and which gates an operation meets; each gate is judged elsewhere, and what reaches the
   browser is handed in. An operation without a row cannot run. */
import type { BridgeReq, Caller, Outcome, ProgressState, Refusal } from '../contract/frames';
import type { ArgsOf, Op } from '../contract/ops';
import { approves, type Entry, permissionFor } from './allowlist';
import { specOf, understood } from './catalogue';
import {
  type Act,
  type ActKind,
  afterAllowed,
  afterNavigation,
  type Grace,
  mustAsk,
  refusalOf,
  type Answer as Verdict,
} from './confirm';
import { egress, egressRefusal, type PageResult, type Refusing } from './egress';
import { classify, type UnsupportedReason } from './origin';
import { Refused } from './refused';
import type { Turns } from './turns';

/** A tab as the browser reports it, at the moment a gate looks. `assumed`: nobody named it, it is what the person sees. */
export type Tab = { id: number; windowId: number; url: string; title: string; active: boolean; assumed?: true };

export type Call<O extends Op> = {
  id: number;
  key: string;
  op: O;
  args: ArgsOf<O>;
  caller: Caller;
  signal: AbortSignal;
  /** Until when an act may begin, in milliseconds since 1970; whoever acts asks right before. Throws while nothing may run. */
  fresh(): Promise<number>;
};

/** What an act would do, found out before it happens. `origin` is that of the document it happens in. */
export type Intended = {
  kind: ActKind;
  origin: string;
  role?: string;
  name?: string;
  destination?: string;
  /** The act is of a second kind as well: a yes to either kind alone does not cover it. */
  twofold?: true;
};

/** What must hold for the page that a tab shows: any site; an approved one; or that the client opened the tab itself. */
export type PageRule = 'any_site' | 'approved' | 'approved_or_opened';

/** `reads`: it changes nothing, so it needs no word from the host but the last. */
export type BrowserRow<O extends Op> = {
  on: 'browser';
  reads?: true;
  goesTo?(args: ArgsOf<O>): string;
  act(call: Call<O>): Promise<PageResult>;
};

export type TabRow<O extends Op> = {
  on: 'tab';
  reads?: true;
  page: PageRule;
  goesTo?(args: ArgsOf<O>): string;
  /** Looks before the act: what it would be, and how it is then done. */
  plan(call: Call<O>, tab: Tab): Promise<Plan>;
};

export type Plan = {
  /** Required where the catalogue may ask the person. */
  intended?: Intended;
  /** Whether this one act needs no yes although its kind does. */
  waived?: boolean;
  act(): Promise<PageResult>;
};

export type Rows = { readonly [O in Op]: BrowserRow<O> | TabRow<O> };

export type Question = { id: number; op: Op; caller: Caller; tab: Tab; intended: Intended };

export type World = {
  /** Unguessable; names one call towards the pages it reaches. */
  key(): string;
  /** The named tab, or the client's current one. */
  tab(call: Pick<Call<Op>, 'caller' | 'signal'>, id: number | undefined): Promise<Tab>;
  /** The call goes to this tab, which is the client's current one from now on. */
  took(caller: Caller, tab: Tab): Promise<void>;
  /** A client was refused for want of this approval. */
  wanted(caller: Caller, origin: string): void;
  opened(caller: Caller, tab: number): Promise<boolean>;
  entries(): Promise<readonly Entry[]>;
  holds(permission: string): Promise<boolean>;
  ask(question: Question, signal: AbortSignal): Promise<Verdict>;
  now(): number;
};

export type Answer = { ok: true; data: Outcome } | { ok: false; error: Refusal };

/** The first gate of all. */
export type Latch = {
  /** Throws while the kill switch is on or unknown; nothing to wait for while it is off. */
  pass(): Promise<void> | undefined;
  /** Until when an act may begin, by a word of the host that is not older than a moment. */
  fresh(signal: AbortSignal): Promise<number>;
};

export class Gates {
  readonly #world: World;
  readonly #rows: Rows;
  readonly #latch: Latch;
  readonly #turns: Turns;
  #graces: readonly Grace[] = [];

  constructor(world: World, rows: Rows, latch: Latch, turns: Turns) {
    this.#world = world;
    this.#rows = rows;
    this.#latch = latch;
    this.#turns = turns;
  }

  async serve(request: BridgeReq, signal: AbortSignal, progress: (state: ProgressState) => void): Promise<Answer> {
    try {
      const told = this.#latch.pass();
      if (told !== undefined) await told;
      signal.throwIfAborted();
      const { op, args } = understood(request);
      const fresh = () => this.#latch.fresh(signal);
      const call = { id: request.id, key: this.#world.key(), op, args, caller: request.caller, signal, fresh };
      const result = await untilAborted(this.#pass(call, progress), signal);
      return { ok: true, data: egress(result) };
    } catch (thrown) {
      return { ok: false, error: egressRefusal(refusalFor(thrown, signal)) };
    }
  }

  /** A tab shows another page now, or none. */
  moved(tab: number, url: string | undefined): void {
    this.#graces = afterNavigation(this.#graces, tab, url);
  }

  /** The kill switch is on: no yes from before it covers anything after it. */
  stopped(): void {
    this.#graces = [];
  }

  async #pass<O extends Op>(call: Call<O>, progress: (state: ProgressState) => void): Promise<PageResult> {
    const row: BrowserRow<O> | TabRow<O> = this.#rows[call.op];
    if (row.on === 'browser') {
      await this.#mayGo(call, row.goesTo?.(call.args));
      await mayBegin(call, row);
      return await row.act(call);
    }
    const tab = await this.#world.tab(call, 'tabId' in call.args ? call.args.tabId : undefined);
    await this.#mayTouch(call, row.page, tab);
    const turn = this.#turns.take(tab.id, call.caller, call.signal);
    const waited = typeof turn !== 'function';
    const release = waited ? await turn : turn;
    try {
      return await this.#act(call, row, waited ? await this.#again(call, row.page, tab) : tab, progress);
    } finally {
      release();
    }
  }

  /** Whoever had the tab before may have led it elsewhere, or closed it. */
  async #again(call: Call<Op>, rule: PageRule, tab: Tab): Promise<Tab> {
    const now = { ...tab, ...(await this.#world.tab(call, tab.id)) };
    await this.#mayTouch(call, rule, now);
    return now;
  }

  async #act<O extends Op>(
    call: Call<O>,
    row: TabRow<O>,
    tab: Tab,
    progress: (state: ProgressState) => void,
  ): Promise<PageResult> {
    await this.#mayGo(call, row.goesTo?.(call.args));
    await this.#world.took(call.caller, tab);
    const plan = await row.plan(call, tab);
    refuseReach(plan.intended?.destination);
    const allowed = plan.waived === true ? null : await this.#confirm(call, tab, row.page, plan.intended, progress);
    await mayBegin(call, row);
    const result = await plan.act();
    // Only now: a yes whose element or page was gone by then approved nothing, so it covers nothing either.
    if (allowed !== null) await this.#cover(call, tab, allowed);
    return tab.assumed === true ? { ...result, blocks: [{ kind: 'own', text: ASSUMED }, ...result.blocks] } : result;
  }

  async #mayTouch(call: Call<Op>, rule: PageRule, tab: Tab): Promise<void> {
    const site = classify(tab.url);
    const forgiven = site.kind === 'web' || !NEVER_REACHED.includes(site.reason);
    if (rule === 'approved_or_opened' && forgiven && (await this.#world.opened(call.caller, tab.id))) return;
    if (site.kind !== 'web') throw unsupported(site.reason);
    if (rule === 'any_site') return;
    if (!approves(await this.#world.entries(), tab.url)) throw this.#notAllowed(call, site.origin);
    if (specOf(call.op).permission !== 'scripting') return;
    if (!(await this.#world.holds(permissionFor(site.origin)))) throw new Refused('HOST_PERMISSION_MISSING');
  }

  async #mayGo(call: Call<Op>, url: string | undefined): Promise<void> {
    if (url === undefined) return;
    const site = classify(url);
    if (site.kind !== 'web') throw unsupported(site.reason);
    if (!approves(await this.#world.entries(), url)) throw this.#notAllowed(call, site.origin);
  }

  /** The act that the person allowed just now; null where nobody had to be asked, or where the yes covers that one call. */
  async #confirm(
    call: Call<Op>,
    tab: Tab,
    page: PageRule,
    intended: Intended | undefined,
    progress: (state: ProgressState) => void,
  ): Promise<Act | null> {
    const rule = intended?.twofold === true ? 'every_call' : specOf(call.op).confirm;
    if (intended === undefined) {
      if (rule === 'none') return null;
      throw new Error(`${call.op} may need a yes, but its plan does not say what it would do`);
    }
    const act: Act = { caller: call.caller.key, tab: tab.id, origin: intended.origin, kind: intended.kind };
    if (!mustAsk(rule, act, this.#graces, this.#world.now())) return null;
    progress('confirming');
    const verdict = await this.#world.ask(
      { id: call.id, op: call.op, caller: call.caller, tab, intended },
      call.signal,
    );
    const code = refusalOf(verdict);
    if (code === 'EXECUTION_FAILED') throw voided();
    if (code !== null) throw new Refused(code);
    // The person took time: approvals, permissions and the page itself may be others now.
    const after = await this.#world.tab(call, tab.id);
    if (classify(tab.url).kind === 'web' && originOf(after) !== originOf(tab)) throw voided();
    await this.#mayTouch(call, page, after);
    // The act may be in a frame, whose site is another than the tab's.
    if (page === 'approved' && !approves(await this.#world.entries(), intended.origin)) throw voided();
    progress('acting');
    return intended.twofold === true ? null : act;
  }

  /** The yes covers further acts of its kind, unless its own act led the tab to another site or closed it. */
  async #cover(call: Call<Op>, tab: Tab, allowed: Act): Promise<void> {
    const shown = await this.#world.tab(call, tab.id).catch(() => null);
    if (call.signal.aborted || shown === null || originOf(shown) !== originOf(tab)) return;
    this.#graces = afterAllowed(specOf(call.op).confirm, allowed, this.#graces, this.#world.now());
  }

  #notAllowed(call: Call<Op>, origin: string): Refused {
    this.#world.wanted(call.caller, origin);
    return notAllowed(origin);
  }
}

async function mayBegin(call: Call<Op>, { reads }: { reads?: true }): Promise<void> {
  if (reads === undefined) await call.fresh();
  call.signal.throwIfAborted();
}

/** A page out of reach, in a person's words. */
export function unsupported(reason: UnsupportedReason): Refused {
  return new Refused('UNSUPPORTED_PAGE', OUT_OF_REACH[reason]);
}

export function notAllowed(origin: string): Refused {
  return new Refused(
    'SITE_NOT_ALLOWED',
    `${origin} is not approved. Ask the person to open it, press the genkan icon and allow the site.`,
  );
}

/** Settles as `work` does, or as soon as the call ends. Work that goes on afterwards answers nobody. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = Promise.withResolvers<never>();
  const end = () => ended.reject(signal.reason);
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work, ended.promise]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

const ASSUMED =
  'No tab was named and you had none: this is the tab in front of the person, and your current tab from now on.';

const OUT_OF_REACH: Record<UnsupportedReason, string> = {
  malformed: 'This is no complete http or https address. Give one such as https://example.com/.',
  browser_page: 'This is a page of the browser itself; genkan never acts on those. Open a site with tab_open.',
  extension_page: 'This is a page of an extension; genkan never acts on those. Open a site with tab_open.',
  store: 'This is an extension store; genkan never acts there.',
  own_page: "This is one of genkan's own pages, where only the person decides; genkan never acts there.",
  no_origin: 'genkan acts on http and https pages only. Open a site with tab_open.',
};

/** Pages that nothing reaches: not a click, not a client in a tab of its own. Others are left to the page: a `javascript:` link goes nowhere. */
const NEVER_REACHED: readonly UnsupportedReason[] = ['browser_page', 'extension_page', 'store', 'own_page'];

function refuseReach(destination: string | undefined): void {
  if (destination === undefined) return;
  const site = classify(destination);
  if (site.kind === 'unsupported' && NEVER_REACHED.includes(site.reason)) throw unsupported(site.reason);
}

function originOf(tab: Tab): string {
  const site = classify(tab.url);
  return site.kind === 'web' ? site.origin : '';
}

function voided(): Refused {
  return new Refused(
    'EXECUTION_FAILED',
    'The page changed while the person was asked, so nothing was done. Read the page again before you repeat this.',
  );
}

function refusalFor(thrown: unknown, signal: AbortSignal): Refusing {
  const cause: unknown = signal.aborted ? signal.reason : thrown;
  if (cause instanceof Refused) {
    const { code, message, page } = cause;
    return page === undefined ? { code, message } : { code, message, page };
  }
  // Its text may hold page content or addresses; the person finds it in the worker's console.
  console.error('genkan: a call failed inside', cause);
  const plain = new Refused('INTERNAL_ERROR');
  return { code: plain.code, message: plain.message };
}
