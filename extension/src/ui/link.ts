/*
 * The pages' way to the worker: asks, and hears when something changed. Answers are parsed like anything from outside;
 * an answer that does not fit is no answer.
 */
import { useCallback, useEffect, useState } from 'react';
import { type Ask, Done, State, Tell } from './messages';

export async function ask(message: Exclude<Ask, { ask: 'state' }>): Promise<Done> {
  const answer: unknown = await chrome.runtime.sendMessage(message).catch(() => null);
  const done = Done.safeParse(answer);
  return done.success ? done.data : { ok: false, message: '' };
}

async function stateOf(tab: number | undefined): Promise<State | null> {
  const message: Ask = tab === undefined ? { ask: 'state' } : { ask: 'state', tab };
  const answer: unknown = await chrome.runtime.sendMessage(message).catch(() => null);
  return State.safeParse(answer).data ?? null;
}

/** `undefined` until the first answer, `null` while the worker does not answer. */
export function useWorkerState(tab: number | undefined): [State | null | undefined, () => void] {
  const [state, setState] = useState<State | null | undefined>(undefined);
  const refresh = useCallback(() => void stateOf(tab).then(setState), [tab]);
  useEffect(() => {
    refresh();
    const hear = (message: unknown) => {
      if (Tell.safeParse(message).success) refresh();
    };
    chrome.runtime.onMessage.addListener(hear);
    return () => chrome.runtime.onMessage.removeListener(hear);
  }, [refresh]);
  return [state, refresh];
}
