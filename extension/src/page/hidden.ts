// Counts what a reading leaves out because nobody sees it, so that the reader knows that something is there.

import { hiddenChars, type Unseen } from './visibility';

const PARTS_MAX = 400;

export class HiddenCount {
  private readonly chars = new Map<Unseen, number>();
  private parts = 0;
  private least = false;

  /** A part that was not gone into. */
  part(el: Element, why: Unseen): void {
    if (this.parts >= PARTS_MAX) {
      this.least = true;
      return;
    }
    const { chars, least } = hiddenChars(el);
    if (chars > 0) this.add(why, chars);
    this.least ||= least;
  }

  /** Text of an element that was gone into. */
  text(chars: number, why: Unseen): void {
    if (chars > 0) this.add(why, chars);
  }

  private add(why: Unseen, chars: number): void {
    this.parts += 1;
    this.chars.set(why, (this.chars.get(why) ?? 0) + chars);
  }

  /** One sentence, if anything was left out. */
  notes(): string[] {
    if (this.parts === 0) return [];
    const reasons = [...this.chars].map(([why, chars]) => `${chars} characters ${why}`).join(', ');
    const about = this.least ? 'at least ' : '';
    return [`Left out as invisible to a person: ${about}${this.parts} parts (${reasons}).`];
  }
}
