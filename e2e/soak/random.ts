/* A seeded generator, so that a run can be asked for again by its number. What the machine does in between is not seeded. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). Mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  of<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)];
  }

  /** Whether a chance of `one` in `many` came true. */
  chance(one: number, many: number): boolean {
    return this.next() * many < one;
  }
}
