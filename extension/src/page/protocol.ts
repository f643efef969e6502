// What the worker and a document's content script say to each other. Both ends check what they receive: the worker
// because a renderer may be taken over, the script because two releases may meet in one document.
// It does not know tabs, frames, approvals or confirmations; the worker decides those before it asks.

import { anything, exactly, flag, integer, list, number, type Of, record, text, word } from './shape';

const SHORT = text(256);
const ADDRESS = text(8_192);
const SELECTOR = text(2_048);
const NAME = text(32_768);
const AT_REF = { ref: text(64) };
const AT_SELECTOR = { selector: SELECTOR };
const CUT = { within: SELECTOR, query: SHORT, maxChars: integer(200, 45_000), cursor: text(64) };
const CHECK_BUTTON = word('left', 'middle', 'right');
const CHECK_MODIFIER = word('Alt', 'Control', 'Meta', 'Shift');

/** Arguments of each operation. A `ref` here is the document's own: the worker takes a frame's prefix off. */
export const ARGS = {
  /** `prefix` is put before every ref in the lines, for example `f2:`. */
  snapshot: record({}, { ...CUT, filter: word('interactive', 'all'), depth: integer(1, 64), prefix: text(16) }),
  text: record({}, { ...CUT, format: word('text', 'markdown', 'links') }),
  /** Looks at a target before an act and says what the act would be; the act then takes the token. */
  probe: record(
    { act: word('click', 'fill') },
    {
      ...AT_REF,
      ...AT_SELECTOR,
      button: CHECK_BUTTON,
      modifiers: list(CHECK_MODIFIER, 4),
      submit: flag,
    },
  ),
  click: record({ token: SHORT }, { button: CHECK_BUTTON, count: integer(1, 3), modifiers: list(CHECK_MODIFIER, 4) }),
  fill: record({ token: SHORT, value: text(4 * 1_048_576) }, { mode: word('replace', 'append'), submit: flag }),
  scroll: record({}, { ...AT_REF, direction: word('up', 'down', 'top', 'bottom'), pixels: integer(1, 100_000) }),
  wait: record(
    { timeoutMs: integer(0, 50_000) },
    {
      selector: SELECTOR,
      state: word('visible', 'hidden', 'attached', 'detached'),
      text: text(1_024),
      textGone: text(1_024),
      url: ADDRESS,
      nav: flag,
      settledMs: integer(50, 10_000),
    },
  ),
  /** Brings an element into view and measures it, for a picture of it. */
  rect: record({ ref: text(64) }, {}),
  /** Ends the call of that id in this document. */
  abort: record({ of: SHORT }, {}),
};

export type Op = keyof typeof ARGS;
export type ArgsOf<O extends Op> = Of<(typeof ARGS)[O]>;

const RECT = record({ x: number, y: number, width: number, height: number }, {});

/** What an act would be, as far as the document tells. Everything but `plain` is for the person to decide. */
export const ACT_KINDS = [
  'plain',
  'submit',
  'link',
  'download',
  'popup',
  'file_chooser',
  'credential',
  'payment',
] as const;
export type ActKind = (typeof ACT_KINDS)[number];

const READING = record(
  {
    /** Page text, one line each; credential fields are already `filled` or `empty`. */
    lines: list(NAME, 20_000),
    /** Our own words: what was left out, and why. */
    notes: list(text(1_024), 64),
  },
  {
    /** Continues after the last line; refused once the document changed before it. */
    cursor: text(64),
  },
);

const EFFECTS = record(
  { changed: flag, warnings: list(text(1_024), 16) },
  {
    /** Where the document went or is about to go. */
    navigated: record({ url: ADDRESS, sameDocument: flag }, {}),
    /** The file a started download would have; page text. */
    download: text(1_024),
    /** Role and name of the element that holds the focus now, if that changed; page text. */
    focus: NAME,
    /** What lies over the target now; page text. */
    coveredBy: NAME,
    /** fill: whether the field holds what was given. The value itself never travels back. */
    value: word('as given', 'different'),
    /** scroll: pixels from the top, in all, and in view. */
    scroll: record({ top: number, height: number, view: number }, {}),
  },
);

/** Results of each operation. */
export const RESULTS = {
  snapshot: READING,
  text: READING,
  probe: record(
    {
      token: SHORT,
      epoch: SHORT,
      role: SHORT,
      name: NAME,
      kind: word(...ACT_KINDS),
      rect: RECT,
    },
    {
      /** Where a link leads or a form goes. */
      destination: ADDRESS,
      /** How a form is sent. */
      method: word('get', 'post', 'dialog'),
      /** The act is of two kinds at once, such as a password that is filled and sent. */
      twofold: exactly(true),
    },
  ),
  click: EFFECTS,
  fill: EFFECTS,
  scroll: EFFECTS,
  wait: record({ met: flag, unmet: list(SHORT, 8), waitedMs: number }, {}),
  /** In CSS pixels of the document's own view. */
  rect: record({ rect: RECT, view: record({ width: number, height: number, scale: number }, {}) }, {}),
  abort: record({}, {}),
};

export type ResultOf<O extends Op> = Of<(typeof RESULTS)[O]>;
export type Reading = ResultOf<'snapshot'>;
export type Effects = ResultOf<'click'>;
export type Probe = ResultOf<'probe'>;
export type Rect = Of<typeof RECT>;

/** `until`: when an act may begin at the latest, in milliseconds since 1970. A document that was busy could otherwise act
    on what nobody wants any more. */
export type Request = { [O in Op]: { genkan: 1; call: string; op: O; args: ArgsOf<O>; until?: number } }[Op];

const CHECK_CODE = word('INVALID_ARGUMENT', 'EXECUTION_FAILED', 'CANCELLED', 'PAYLOAD_TOO_LARGE');
/** The codes a document may answer with. `CANCELLED` of an act: it came too late and was not done. */
export type PageCode = Of<typeof CHECK_CODE>;
const CHECK_REFUSAL = record({ code: CHECK_CODE, message: text(65_536) }, {});
export type PageRefusal = Of<typeof CHECK_REFUSAL>;

export type Reply<O extends Op> = { ok: true; data: ResultOf<O> } | { ok: false; error: PageRefusal };

const CHECK_OP = word('snapshot', 'text', 'probe', 'click', 'fill', 'scroll', 'wait', 'rect', 'abort');
const CHECK_ENVELOPE = record({ genkan: exactly(1), call: SHORT, op: CHECK_OP, args: anything }, { until: number });

/** A request if it is one of this protocol; what belongs to others, or to another release, is not. */
export function readRequest(message: unknown): Request | undefined {
  if (!CHECK_ENVELOPE(message)) return undefined;
  const { genkan, call, op, args, until } = message;
  const candidate = { genkan, call, op, args, ...(until === undefined ? {} : { until }) };
  return isRequest(candidate) ? candidate : undefined;
}

function isRequest(value: { genkan: 1; call: string; op: Op; args: unknown }): value is Request {
  return ARGS[value.op](value.args);
}

/** The reply of a document to `op`; `undefined` if it does not keep to the protocol. */
export function readReply<O extends Op>(op: O, message: unknown): Reply<O> | undefined {
  if (CHECK_FAILED(message)) return message;
  if (!CHECK_DONE(message)) return undefined;
  const { data } = message;
  return isResult(op, data) ? { ok: true, data } : undefined;
}

const CHECK_FAILED = record({ ok: exactly(false), error: CHECK_REFUSAL }, {});
const CHECK_DONE = record({ ok: exactly(true), data: anything }, {});

function isResult<O extends Op>(op: O, data: unknown): data is ResultOf<O> {
  return RESULTS[op](data);
}
