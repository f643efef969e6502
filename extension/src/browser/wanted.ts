/* Sites that clients were refused for want of an approval, so that the popup can say who asked. A hint and nothing more:
   it approves nothing, and it is gone with the worker. */
import type { Caller } from '../contract/frames';

/** Sites that are remembered. */
const WANTED_MAX = 64;

const names = new Map<string, string>();

export function wanted(caller: Caller, origin: string): void {
  names.delete(origin);
  names.set(origin, caller.name);
  const [oldest] = names.keys();
  if (names.size > WANTED_MAX && oldest !== undefined) names.delete(oldest);
}

/** Name of the program that was refused here last. */
export function wantedBy(origin: string): string | null {
  return names.get(origin) ?? null;
}

export function unwant(origin: string): void {
  names.delete(origin);
}
