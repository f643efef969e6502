/*
 * Decides when a press on Allow is the person's own. It must come from the browser's input, not from a script; begin and
 * end after the guard time that starts whenever the window opens or regains focus; and follow a path of the pointer
 * inside this window, or a Tab key pressed in it. What was queued before counts for nothing.
 * Times are those at which the browser made the events, so that a busy page cannot make old input look new.
 */
import { CONFIRM_GUARD_MS } from '../contract/limits';

/** Pixels of pointer movement, and events of it, before Allow is live. */
const PATH_PX_MIN = 24;
const PATH_EVENTS_MIN = 3;

export interface Guard {
  /** From when input counts; never, while the window has no focus. */
  from: number;
  path: { x: number; y: number; length: number; events: number } | null;
  tabbed: boolean;
  /** A press began while Allow was live. */
  pressed: boolean;
}

export interface Input {
  trusted: boolean;
  at: number;
}

export const CLOSED: Guard = { from: Number.POSITIVE_INFINITY, path: null, tabbed: false, pressed: false };

/** The window opened, or has the focus again. */
export function focused(at: number): Guard {
  return { ...CLOSED, from: at + CONFIRM_GUARD_MS };
}

export function moved(guard: Guard, input: Input, x: number, y: number): Guard {
  if (!counts(guard, input)) return guard;
  const { path } = guard;
  const step = path === null ? 0 : Math.hypot(x - path.x, y - path.y);
  return { ...guard, path: { x, y, length: (path?.length ?? 0) + step, events: (path?.events ?? 0) + 1 } };
}

export function tabbed(guard: Guard, input: Input): Guard {
  return counts(guard, input) ? { ...guard, tabbed: true } : guard;
}

/** A pointer or key went down on Allow. A key that is held counts as the press it began as: not at all. */
export function pressed(guard: Guard, input: Input, by: 'pointer' | 'key', held = false): Guard {
  return { ...guard, pressed: !held && counts(guard, input) && (by === 'key' ? guard.tabbed : hasPath(guard)) };
}

/** The press became a click: whether it is the person's yes. */
export function isYes(guard: Guard, input: Input): boolean {
  return guard.pressed && counts(guard, input);
}

/** Whether Allow may look ready at this time. */
export function isLive(guard: Guard, at: number): boolean {
  return at >= guard.from && (guard.tabbed || hasPath(guard));
}

function counts(guard: Guard, input: Input): boolean {
  return input.trusted && input.at >= guard.from;
}

function hasPath({ path }: Guard): boolean {
  return path !== null && path.events >= PATH_EVENTS_MIN && path.length >= PATH_PX_MIN;
}
