// Sends the events of a pointer, in the order and with the coordinates a real one would have. They carry the mark that no
// person made them; a site that insists on a person's input ignores them, which the effects then show.

import { around, connected, dispatch, focused, matches } from './dom';
import type { ArgsOf } from './protocol';
import type { Place } from './target';

type Keys = Pick<ArgsOf<'click'>, 'button' | 'count' | 'modifiers'>;

const BUTTON = { left: 0, middle: 1, right: 2 } as const;
const HELD = { left: 1, middle: 4, right: 2 } as const;

/**
 * Presses and releases at a place, as often as asked. `false` if the element vanished under the pointer, or if the page
 * made another act of it: scripts run between the events, and the second click of two may be on what the first led to.
 */
export function pressAt(place: Place, keys: Keys, stays: () => boolean): boolean {
  const pointer = new Pointer(place, keys, stays);
  pointer.move();
  for (let n = 1; n <= (keys.count ?? 1); n += 1) {
    if (!pointer.press(n)) return false;
  }
  return true;
}

class Pointer {
  private readonly init: PointerEventInit;
  private readonly button: 'left' | 'middle' | 'right';

  constructor(
    private readonly place: Place,
    keys: Keys,
    private readonly stays: () => boolean,
  ) {
    const held = keys.modifiers ?? [];
    this.button = keys.button ?? 'left';
    this.init = {
      bubbles: true,
      cancelable: true,
      composed: true,
      view: window,
      clientX: place.x,
      clientY: place.y,
      screenX: window.screenX + place.x,
      screenY: window.screenY + place.y,
      pointerId: 1,
      pointerType: 'mouse',
      isPrimary: true,
      altKey: held.includes('Alt'),
      ctrlKey: held.includes('Control'),
      metaKey: held.includes('Meta'),
      shiftKey: held.includes('Shift'),
    };
  }

  move(): void {
    const { hit } = this.place;
    for (const kind of ['over', 'enter', 'move'] as const) {
      const init = { ...this.init, bubbles: kind !== 'enter', button: -1 };
      dispatch(hit, new PointerEvent(`pointer${kind}`, init));
      dispatch(hit, new MouseEvent(`mouse${kind}`, { ...init, button: 0 }));
    }
  }

  press(detail: number): boolean {
    const { hit } = this.place;
    const down = { ...this.init, button: BUTTON[this.button], buttons: HELD[this.button], detail };
    const wanted = dispatch(hit, new PointerEvent('pointerdown', { ...down, detail: 0, pressure: 0.5 }));
    const focuses = !wanted || dispatch(hit, new MouseEvent('mousedown', down));
    if (!connected(hit)) return false;
    if (focuses) focusAround(hit);
    if (this.button === 'right') dispatch(hit, new PointerEvent('contextmenu', down));
    const up = { ...down, buttons: 0 };
    dispatch(hit, new PointerEvent('pointerup', { ...up, detail: 0 }));
    if (wanted) dispatch(hit, new MouseEvent('mouseup', up));
    if (!connected(hit) || !this.stays()) return false;
    dispatch(hit, new PointerEvent(this.button === 'left' ? 'click' : 'auxclick', up));
    if (detail === 2 && this.button === 'left') dispatch(hit, new MouseEvent('dblclick', up));
    return connected(hit) || detail > 0;
  }
}

const FOCUSABLE = 'a[href],area[href],button,input,select,textarea,summary,iframe,[tabindex],[contenteditable]';

/** What a press focuses: the nearest thing around that takes the focus, or nothing. */
export function focusAround(hit: Element): void {
  for (let at: Element | null = hit; at !== null; at = around(at)) {
    if (
      (at instanceof HTMLElement || at instanceof SVGElement) &&
      matches(at, FOCUSABLE) &&
      !matches(at, ':disabled')
    ) {
      at.focus({ preventScroll: true });
      return;
    }
  }
  const now = focused();
  if (now instanceof HTMLElement) now.blur();
}
