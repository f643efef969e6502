/* Feeds this window's input to the guard and reports its yes. The rules are in ../guard.ts; here are only the listeners. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { CLOSED, focused, type Guard, type Input, isLive, isYes, moved, pressed, tabbed } from '../guard';

const LOOK_MS = 100;

const inputOf = (event: Event): Input => ({ trusted: event.isTrusted, at: event.timeStamp });

/** `allow` is the ref of the button; `live` says whether it may look ready. */
export function useGuard(yes: () => void): { live: boolean; allow: (button: HTMLButtonElement | null) => void } {
  const guard = useRef<Guard>(CLOSED);
  const [live, setLive] = useState(false);
  const done = useRef(yes);
  useEffect(() => {
    done.current = yes;
  }, [yes]);

  useEffect(() => {
    const open = () => {
      guard.current =
        document.hasFocus() && document.visibilityState === 'visible' ? focused(performance.now()) : CLOSED;
    };
    const move = (event: PointerEvent) => {
      guard.current = moved(guard.current, inputOf(event), event.clientX, event.clientY);
    };
    const key = (event: KeyboardEvent) => {
      if (event.key === 'Tab') guard.current = tabbed(guard.current, inputOf(event));
    };
    open();
    window.addEventListener('focus', open);
    window.addEventListener('blur', open);
    document.addEventListener('visibilitychange', open);
    window.addEventListener('pointermove', move);
    window.addEventListener('keydown', key, true);
    const timer = setInterval(() => setLive(isLive(guard.current, performance.now())), LOOK_MS);
    return () => {
      window.removeEventListener('focus', open);
      window.removeEventListener('blur', open);
      document.removeEventListener('visibilitychange', open);
      window.removeEventListener('pointermove', move);
      window.removeEventListener('keydown', key, true);
      clearInterval(timer);
    };
  }, []);

  const allow = useCallback((button: HTMLButtonElement | null) => {
    if (button === null) return;
    const down = (event: PointerEvent) => {
      guard.current = pressed(guard.current, inputOf(event), 'pointer');
    };
    const press = (event: KeyboardEvent) => {
      if (event.key === 'Enter' || event.key === ' ') {
        guard.current = pressed(guard.current, inputOf(event), 'key', event.repeat);
      }
    };
    const click = (event: MouseEvent) => {
      const agreed = isYes(guard.current, inputOf(event));
      guard.current = { ...guard.current, pressed: false };
      if (agreed) done.current();
    };
    button.addEventListener('pointerdown', down);
    button.addEventListener('keydown', press);
    button.addEventListener('click', click);
    return () => {
      button.removeEventListener('pointerdown', down);
      button.removeEventListener('keydown', press);
      button.removeEventListener('click', click);
    };
  }, []);

  return { live, allow };
}
