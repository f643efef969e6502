/*
 * Decides what genkan's own pages and its worker may say to each other, and is parsed on both ends.
 * The pages ask, the worker answers; the worker tells all open pages when something changed, and they ask again.
 * It refuses every other shape. It does not know who sent a message: the worker judges that by the browser's sender.
 */
import { z } from 'zod';
import { PairedClient } from '../contract/frames';
import { ACT_KINDS } from '../gate/confirm';
import { Entry, Scope } from '../gate/entry';

const Text = z.string().max(2048);
const Site = z.string().min(1).max(512);
const TabId = z.number().int().nonnegative();

/** Languages that the pages are written in; `auto` follows the browser. */
export const Language = z.enum(['auto', 'en', 'zh_CN', 'zh_TW']);
export type Language = z.infer<typeof Language>;
export const Theme = z.enum(['auto', 'light', 'dark']);
export type Theme = z.infer<typeof Theme>;

/** Page → worker. Whatever changes something is believed only from the popup and the options page. */
export const Ask = z.discriminatedUnion('ask', [
  /** What there is to show. With a tab, what is known about its site too. */
  z.strictObject({ ask: z.literal('state'), tab: TabId.optional() }),
  /** Sent before `permissions.request`, because the browser's prompt may destroy the popup. */
  z.strictObject({ ask: z.literal('site_intend'), tab: TabId, shown: Site, scope: Scope }),
  /** The person does not want this site used: drops intents, approvals and the hint that a program asked for it. */
  z.strictObject({ ask: z.literal('site_deny'), tab: TabId, shown: Site }),
  z.strictObject({ ask: z.literal('site_remove'), site: Site }),
  /** On: sent before `permissions.request` for all sites; off: gives that permission back. */
  z.strictObject({ ask: z.literal('screenshots'), on: z.boolean() }),
  z.strictObject({ ask: z.literal('settings'), language: Language.optional(), theme: Theme.optional() }),
  /** Stops everything, in every browser. */
  z.strictObject({ ask: z.literal('kill_engage') }),
  /** The list of paired clients. */
  z.strictObject({ ask: z.literal('paired') }),
  /** The newest records. */
  z.strictObject({ ask: z.literal('events') }),
  /** Brings the open confirmation window to the front. */
  z.strictObject({ ask: z.literal('confirm_show') }),
]);
export type Ask = z.infer<typeof Ask>;

/** Worker → page, in answer to `paired`. */
export const Paired = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), enrolled: z.boolean(), clients: z.array(PairedClient) }),
  z.strictObject({ ok: z.literal(false), message: Text }),
]);
export type Paired = z.infer<typeof Paired>;

/** A record of what happened, as the host or, without one, the extension kept it. */
const EventView = z.strictObject({ ts_ms: z.int(), kind: Text, outcome: Text, tool: Text, detail: Text });
export type EventView = z.infer<typeof EventView>;

/** Worker → page, in answer to `events`; oldest first. `path`: where the host keeps all of them. */
export const Events = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), events: z.array(EventView), path: Text.nullable() }),
  z.strictObject({ ok: z.literal(false), message: Text }),
]);
export type Events = z.infer<typeof Events>;

/** Where the kill switch stands. `untold`: the host has not said; whether it was on when last heard of. */
export const KillView = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('clear') }),
  z.strictObject({ state: z.literal('untold'), killed: z.boolean() }),
  z.strictObject({
    state: z.literal('killed'),
    why: z.enum(['here', 'host', 'damaged', 'rolled_back', 'storage']),
    sentence: Text.optional(),
    warning: Text.optional(),
  }),
]);
export type KillView = z.infer<typeof KillView>;

/** Worker → page, in answer to everything that does or changes something. `permission` is what the popup must ask the browser for. */
export const Done = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), permission: z.string().optional(), settled: z.boolean().optional() }),
  z.strictObject({ ok: z.literal(false), message: Text }),
]);
export type Done = z.infer<typeof Done>;

/** Where the way to MCP clients stands. `detail` is the browser's or the host's own text. */
export const LinkView = z.strictObject({
  state: z.enum(['no_host', 'starting', 'waiting', 'attached', 'refused', 'mismatch']),
  detail: Text.optional(),
});

/** A program that acts or acted through this browser. */
export const ClientView = z.strictObject({
  name: Text,
  image: Text,
  verified: z.boolean(),
  /** Calls running now. */
  calls: z.number().int().nonnegative(),
  /** Tabs in this program's group. */
  tabs: z.number().int().nonnegative(),
});
export type ClientView = z.infer<typeof ClientView>;

/** The site of the tab that the popup was opened over. */
export const SiteView = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('web'),
    tab: TabId,
    origin: Site,
    /** The pattern that may be offered; null where none is safe. */
    pattern: Site.nullable(),
    /** The entry that covers it. */
    approved: Entry.nullable(),
    /** Name of the program that was refused here last. */
    wantedBy: Text.nullable(),
  }),
  z.strictObject({ kind: z.literal('unsupported'), reason: z.string().max(32) }),
]);

/** Everything that popup and options show. */
export const State = z.strictObject({
  link: LinkView,
  /** Who may enter; null while nothing is attached. */
  door: z.enum(['open', 'paired']).nullable(),
  label: Text.nullable(),
  kill: KillView,
  clients: z.array(ClientView).max(64),
  site: SiteView.nullable(),
  entries: z.array(Entry).max(4096),
  screenshots: z.boolean(),
  /** Questions that wait for the person, the open one included. */
  confirming: z.number().int().nonnegative(),
  language: Language,
  theme: Theme,
  version: Text,
});
export type State = z.infer<typeof State>;

/** Worker → all open pages. */
export const Tell = z.strictObject({ tell: z.literal('changed') });

/** What the confirmation window shows. Never the value that would be filled in. */
export const Question = z.strictObject({
  op: z.string().max(64),
  kind: z.enum(ACT_KINDS),
  /** Whether what is filled is sent as well, by the same act. */
  sends: z.boolean(),
  /** Of the document in which the act happens. */
  origin: z.string().max(512),
  client: z.strictObject({ name: Text, image: Text, verified: z.boolean() }),
  /** The element's role and accessible name, as the page gave them; null for acts on a whole tab. */
  element: z.strictObject({ role: z.string().max(128), name: z.string().max(10_000) }).nullable(),
  /** Where a link or form leads. */
  destination: z.string().max(8192).nullable(),
  /** Milliseconds until no answer counts as no. */
  leftMs: z.number().int().positive(),
});
export type Question = z.infer<typeof Question>;

/** Confirmation window → worker, over the port that only this window holds. */
export const ConfirmSays = z.discriminatedUnion('say', [
  z.strictObject({ say: z.literal('ready'), id: z.string().max(64) }),
  z.strictObject({ say: z.literal('allowed'), id: z.string().max(64) }),
  z.strictObject({ say: z.literal('denied'), id: z.string().max(64) }),
]);
export type ConfirmSays = z.infer<typeof ConfirmSays>;

/** Worker → confirmation window. */
export const ConfirmHears = z.discriminatedUnion('hear', [
  z.strictObject({ hear: z.literal('question'), question: Question, language: Language, theme: Theme }),
  z.strictObject({ hear: z.literal('over') }),
]);
export type ConfirmHears = z.infer<typeof ConfirmHears>;

/** Name of the port between the confirmation window and the worker. */
export const CONFIRM_PORT = 'confirm';
