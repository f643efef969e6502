// Answers the worker's requests in this document. It refuses to act twice for one call, whoever asks: two workers may be
// alive at once. It refuses to act on a request that lay waiting while the document was busy: everything may be stopped since. It decides nothing about approval; it is only ever asked after the worker decided.

import { CALLS_MAX } from './bounds';
import { click } from './click';
import { intoView, rect } from './dom';
import { fill } from './fill';
import { probe } from './probe';
import type { Op, PageRefusal, Reply, Request, ResultOf } from './protocol';
import { elementOf } from './refs';
import { failed, Refused } from './refusal';
import { scroll } from './scroll';
import { snapshot } from './snapshot';
import { pageText } from './text';
import { unseenBecause } from './visibility';
import { waitFor } from './wait';

const acted = new Set<string>();
const running = new Map<string, AbortController>();

/** The reply to one request; never throws. */
export async function answer(request: Request): Promise<Reply<Op>> {
  try {
    return { ok: true, data: await run(request) };
  } catch (error) {
    return { ok: false, error: refusalOf(error) };
  } finally {
    running.delete(request.call);
  }
}

function run(request: Request): ResultOf<Op> | Promise<ResultOf<Op>> {
  switch (request.op) {
    case 'snapshot':
      return snapshot(request.args);
    case 'text':
      return pageText(request.args);
    case 'probe':
      return probe(request.args);
    case 'click':
      return once(request, () => click(request.args));
    case 'fill':
      return once(request, () => fill(request.args));
    case 'scroll':
      return once(request, () => scroll(request.args));
    case 'wait':
      return waitFor(request.args, signalOf(request.call));
    case 'rect':
      return measure(request.args.ref);
    case 'abort':
      running.get(request.args.of)?.abort();
      return {};
  }
}

function once<T>({ call, until }: Request, act: () => Promise<T>): Promise<T> {
  if (until === undefined || Date.now() > until) throw new Refused('CANCELLED', 'The page was busy for too long.');
  if (acted.has(call)) throw failed('This call was carried out already.');
  const [oldest] = acted;
  if (acted.size >= CALLS_MAX && oldest !== undefined) acted.delete(oldest);
  acted.add(call);
  return act();
}

function signalOf(call: string): AbortSignal {
  const controller = new AbortController();
  running.set(call, controller);
  return controller.signal;
}

function measure(ref: string): ResultOf<'rect'> {
  const el = elementOf(ref);
  const why = unseenBecause(el);
  if (why !== undefined) throw failed(`${ref} is not visible (${why}).`);
  intoView(el);
  const { x, y, width, height } = rect(el);
  const view = { width: window.innerWidth, height: window.innerHeight, scale: window.devicePixelRatio };
  return { rect: { x, y, width, height }, view };
}

/** What went wrong, without a stack: an unknown fault is the page's to cause, and its text is not ours. */
function refusalOf(error: unknown): PageRefusal {
  if (error instanceof Refused) return { code: error.code, message: error.message };
  return { code: 'EXECUTION_FAILED', message: 'The page could not be read or acted on: an unexpected fault in it.' };
}
