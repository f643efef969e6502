/*
 * The pages' way to the worker: asks, and hears when something changed. Answers are parsed like anything from outside;
 * an answer that does not fit is no answer.
 */
import { useCallback, useEffect, useState } from 'react';
import { type Ask, Done, Events, Paired, State, Tell } from './messages';

const SILENCE = { ok: false, message: '' } as const;

export async function ask(message: Exclude<Ask, { ask: 'state' | 'paired' | 'events' }>): Promise<Done> {
  return Done.safeParse(await send(message)).data ?? SILENCE;
}

/** The list of paired clients; `undefined` until the first answer. Asked again whenever `mark` changes. */
export function usePaired(mark: unknown): Paired | undefined {
  const [list, setList] = useState<Paired>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the mark is what changes when the list may have.
  useEffect(
    () => void send({ ask: 'paired' }).then((answer) => setList(Paired.safeParse(answer).data ?? SILENCE)),
    [mark],
  );
  return list;
}

/** The newest records; `undefined` until the first answer. Asked again whenever `mark` changes. */
export function useEvents(mark: unknown): Events | undefined {
  const [events, setEvents] = useState<Events>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the mark is what changes when there may be new ones.
  useEffect(
    () => void send({ ask: 'events' }).then((answer) => setEvents(Events.safeParse(answer).data ?? SILENCE)),
    [mark],
  );
  return events;
}

async function send(message: Ask): Promise<unknown> {
  return await chrome.runtime.sendMessage<Ask, unknown>(message).catch(() => null);
}

async function stateOf(tab: number | undefined): Promise<State | null> {
  const message: Ask = tab === undefined ? { ask: 'state' } : { ask: 'state', tab };
  return State.safeParse(await send(message)).data ?? null;
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
