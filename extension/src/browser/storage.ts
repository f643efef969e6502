/* The extension's memory, readable by its own pages and worker only. Decides that nothing is read or written before the
   browser was told to keep content scripts out, and that what does not parse counts as absent: nothing approved, every
   switch off, never open. Knows nothing about what the records mean. */
import type { ZodType } from 'zod';

type Area = 'local' | 'session';

let trusted: Promise<unknown> | undefined;

/** Keeps page-facing scripts out of every area we use. Awaited before each access. */
export function trustOnly(): Promise<unknown> {
  trusted ??= Promise.all([
    chrome.storage.local.setAccessLevel({ accessLevel: 'TRUSTED_CONTEXTS' }),
    chrome.storage.session.setAccessLevel({ accessLevel: 'TRUSTED_CONTEXTS' }),
  ]);
  return trusted;
}

export type Shape<T> = { area: Area; key: string; read(raw: unknown): T };

/** One record. Changes are applied one after another, so that none is lost between a read and its write. */
export class Stored<T> {
  readonly #shape: Shape<T>;
  #last: Promise<unknown> = Promise.resolve();
  #known: { value: T } | undefined;
  #edition = 0;

  constructor(shape: Shape<T>) {
    this.#shape = shape;
    chrome.storage.onChanged.addListener((changes, area) => {
      if (area === shape.area && shape.key in changes) this.#forget();
    });
  }

  async read(): Promise<T> {
    if (this.#known !== undefined) return this.#known.value;
    await trustOnly();
    const { area, key, read } = this.#shape;
    const edition = this.#edition;
    const value = read((await chrome.storage[area].get(key))[key]);
    // What was written meanwhile is newer than what was read.
    if (edition === this.#edition) this.#known = { value };
    return value;
  }

  /** Gives the record as it now stands. */
  change(edit: (now: T) => T): Promise<T> {
    const turn = this.#last.then(async () => {
      const before = await this.read();
      const after = edit(before);
      if (after === before) return before;
      this.#forget();
      await chrome.storage[this.#shape.area].set({ [this.#shape.key]: after });
      this.#forget();
      return after;
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #forget(): void {
    this.#edition += 1;
    this.#known = undefined;
  }
}

/** A record whose owner judges what is there: to it, missing and damaged are two things. */
export function bare(area: Area, key: string): { load(): Promise<unknown>; save(value: object): Promise<void> } {
  return {
    async load() {
      await trustOnly();
      return (await chrome.storage[area].get(key))[key];
    },
    async save(value) {
      await trustOnly();
      await chrome.storage[area].set({ [key]: value });
    },
  };
}

/** A record that is what its schema says, or absent. */
export function shaped<T>(area: Area, key: string, schema: ZodType<T>, absent: T): Shape<T> {
  return {
    area,
    key,
    read(raw) {
      const read = schema.safeParse(raw);
      return read.success ? read.data : absent;
    },
  };
}
