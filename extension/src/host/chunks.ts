/* Joins the pieces of a frame that was too large for the browser. Decides whether a piece continues its frame; refuses
   pieces out of order and everything beyond the bounds before it is kept. Knows nothing about what the frame says. */
import { CALLS_MAX, CHUNK_TOTAL_BYTES_MAX } from '../contract/limits';

export type Piece = { id: number; seq: number; last: boolean; data: string };

export type Joined = { state: 'more' } | { state: 'whole'; text: string } | { state: 'refused'; why: 'order' | 'size' };

type Partial = { pieces: string[]; bytes: number };

export class Joiner {
  readonly #partials = new Map<number, Partial>();
  #bytes = 0;

  add(piece: Piece): Joined {
    const partial = this.#partials.get(piece.id) ?? { pieces: [], bytes: 0 };
    if (piece.seq !== partial.pieces.length) return this.#refuse(piece.id, 'order');
    const bytes = new TextEncoder().encode(piece.data).length;
    const fits = this.#bytes + bytes <= CHUNK_TOTAL_BYTES_MAX;
    const room = this.#partials.has(piece.id) || this.#partials.size < CALLS_MAX;
    if (!fits || !room) return this.#refuse(piece.id, 'size');
    partial.pieces.push(piece.data);
    partial.bytes += bytes;
    this.#bytes += bytes;
    this.#partials.set(piece.id, partial);
    if (!piece.last) return { state: 'more' };
    this.drop(piece.id);
    return { state: 'whole', text: partial.pieces.join('') };
  }

  /** Forgets a frame whose call was cancelled. */
  drop(id: number): void {
    this.#bytes -= this.#partials.get(id)?.bytes ?? 0;
    this.#partials.delete(id);
  }

  clear(): void {
    this.#partials.clear();
    this.#bytes = 0;
  }

  #refuse(id: number, why: 'order' | 'size'): Joined {
    this.drop(id);
    return { state: 'refused', why };
  }
}
