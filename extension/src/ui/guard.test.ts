import { describe, expect, test } from 'vitest';
import { CONFIRM_GUARD_MS } from '../contract/limits';
import { CLOSED, focused, type Guard, isLive, isYes, moved, pressed, tabbed } from './guard';

const OPEN = 1_000;
const LATER = OPEN + CONFIRM_GUARD_MS;
const real = (at: number) => ({ trusted: true, at });
const made = (at: number) => ({ trusted: false, at });

/** A pointer that wanders through the window in four events of 20 pixels. */
const wander = (guard: Guard, at: number, input = real) =>
  [0, 20, 40, 60].reduce((g, x, i) => moved(g, input(at + i), x, 10), guard);

test('a press after the guard and a pointer path is a yes', () => {
  const guard = pressed(wander(focused(OPEN), LATER), real(LATER + 10), 'pointer');
  expect(isYes(guard, real(LATER + 20))).toBe(true);
});

describe('t144_input_from_before_the_guard_counts_for_nothing', () => {
  test('a double-click lure: path and press right after opening', () => {
    const guard = pressed(wander(focused(OPEN), OPEN + 1), real(OPEN + 10), 'pointer');
    expect(isYes(guard, real(OPEN + 20))).toBe(false);
    expect(isYes(guard, real(LATER + 1))).toBe(false);
  });

  test('a press that begins in the guard and ends after it', () => {
    const guard = wander(pressed(focused(OPEN), real(LATER - 1), 'pointer'), LATER);
    expect(isYes(guard, real(LATER + 10))).toBe(false);
  });

  test('a press without a path inside the window, where the pointer already lay', () => {
    const still = [1, 2, 3, 4, 5].reduce((g, i) => moved(g, real(LATER + i), 300, 300), focused(OPEN));
    expect(isYes(pressed(still, real(LATER + 10), 'pointer'), real(LATER + 11))).toBe(false);
    const one = moved(focused(OPEN), real(LATER), 300, 300);
    expect(isYes(pressed(one, real(LATER + 10), 'pointer'), real(LATER + 11))).toBe(false);
  });

  test('focus stolen and given back starts the guard and the path anew', () => {
    const ready = wander(focused(OPEN), LATER);
    expect(isLive(ready, LATER + 10)).toBe(true);
    expect(isLive(CLOSED, LATER + 10)).toBe(false);
    const again = focused(LATER + 20);
    expect(isYes(pressed(again, real(LATER + 30), 'pointer'), real(LATER + 31))).toBe(false);
    const late = LATER + 20 + CONFIRM_GUARD_MS;
    expect(isYes(pressed(again, real(late), 'pointer'), real(late + 1))).toBe(false);
    expect(isYes(pressed(wander(again, late), real(late + 10), 'pointer'), real(late + 11))).toBe(true);
  });

  test('an event that was made early and delivered late counts as early', () => {
    const guard = wander(focused(OPEN), LATER);
    expect(isYes(pressed(guard, real(OPEN + 5), 'pointer'), real(LATER + 10))).toBe(false);
  });
});

describe('t145_buffered_enter_and_space_do_nothing', () => {
  test('without a Tab pressed in this window after the guard', () => {
    expect(isYes(pressed(focused(OPEN), real(LATER + 1), 'key'), real(LATER + 2))).toBe(false);
    const early = tabbed(focused(OPEN), real(OPEN + 1));
    expect(isYes(pressed(early, real(LATER + 1), 'key'), real(LATER + 2))).toBe(false);
  });

  test('nor while the key is held', () => {
    const guard = tabbed(focused(OPEN), real(LATER));
    expect(isYes(pressed(guard, real(LATER + 1), 'key', true), real(LATER + 2))).toBe(false);
    expect(isYes(pressed(guard, real(LATER + 1), 'key'), real(LATER + 2))).toBe(true);
  });

  test('a pointer path does not make a key press a yes', () => {
    const guard = wander(focused(OPEN), LATER);
    expect(isYes(pressed(guard, real(LATER + 10), 'key'), real(LATER + 11))).toBe(false);
  });
});

test('t149_events_made_by_scripts_are_no_consent', () => {
  const scripted = wander(focused(OPEN), LATER, made);
  expect(isLive(scripted, LATER + 10)).toBe(false);
  const guard = wander(focused(OPEN), LATER);
  expect(isYes(pressed(guard, made(LATER + 10), 'pointer'), real(LATER + 11))).toBe(false);
  expect(isYes(pressed(guard, real(LATER + 10), 'pointer'), made(LATER + 11))).toBe(false);
  expect(isYes(pressed(tabbed(focused(OPEN), made(LATER)), real(LATER + 1), 'key'), real(LATER + 2))).toBe(false);
  expect(isYes(guard, real(LATER + 11))).toBe(false);
});
