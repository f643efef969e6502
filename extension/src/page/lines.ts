// Collects the lines of a reading: bounded in characters, continued by cursor, repeated rows folded. A cursor holds the
// number of lines that went before and a digest of them; it keeps no state, and is refused once they read differently.

import { FOLD_LINES_MAX } from './bounds';
import { failed, invalid } from './refusal';
import { digest } from './words';

export interface Line {
  indent: number;
  text: string;
  ref?: string;
  /** Where it came from; not part of the line. */
  el?: Element;
}

interface Fold {
  size: number;
  times: number;
  /** Lines of all blocks so far, in order. */
  lines: Line[];
  /** Lines of a block that may become one more. */
  open: Line[];
}

export class Lines {
  private readonly kept: (Line | Fold)[] = [];
  private fold: Fold | undefined;
  private plain = 0;
  private chars = 0;
  private count = 0;
  private sum = 0;
  /** The digest after each line from the cursor on. */
  private readonly sums: number[] = [];
  private readonly skip: number;
  private readonly expected: number | undefined;

  constructor(
    private readonly kind: 's' | 't',
    private readonly max: number,
    cursor: string | undefined,
    private readonly folds: boolean,
  ) {
    const at = cursor === undefined ? undefined : parseCursor(kind, cursor);
    this.skip = at?.skip ?? 0;
    this.expected = at?.sum;
  }

  /** Whether the lines so far belong to an earlier part. */
  get skipping(): boolean {
    return this.count < this.skip;
  }

  /** Takes one more line; `false` if it does not fit any more. */
  add(line: Line): boolean {
    if (this.skipping) {
      this.pass(line);
      if (!this.skipping && this.sum !== this.expected) throw changed();
      return true;
    }
    if (this.extend(line)) {
      this.pass(line);
      return true;
    }
    const size = width(line);
    if (this.chars + size > this.max && this.kept.length > 0) return false;
    this.pass(line);
    this.chars += size;
    this.kept.push(line);
    this.plain += 1;
    if (this.folds) this.startFold();
    return true;
  }

  /**
   * Ends the collecting. If lines were left over, takes more off the end until `room` characters are free.
   * Gives the element of the first line taken off.
   */
  end(leftOver: boolean, room: number): Element | undefined {
    if (this.skipping) throw changed();
    this.closeFold();
    const goal = leftOver ? this.max - room : this.max;
    let off: Element | undefined;
    while (this.kept.length > 1 && this.chars > goal) {
      const item = this.kept.pop();
      if (item === undefined) break;
      const lines = 'text' in item ? [item] : item.lines;
      this.sums.length -= lines.length;
      this.chars -= 'text' in item ? width(item) : 0;
      off = lines[0]?.el ?? off;
    }
    return off;
  }

  /** Continues after the lines that were kept. */
  cursor(): string {
    const count = this.skip + this.sums.length;
    return `${this.kind}${count.toString(36)}.${(this.sums.at(-1) ?? this.sum).toString(36)}`;
  }

  private pass(line: Line): void {
    this.sum = digest(`${line.text}\n${line.ref ?? ''}`, this.sum >>> 0);
    this.count += 1;
    if (this.count > this.skip) this.sums.push(this.sum);
  }

  render(): string[] {
    return this.kept.flatMap((item) => ('text' in item ? [shown(item)] : shownFold(item)));
  }

  private extend(line: Line): boolean {
    const { fold } = this;
    if (fold === undefined) return false;
    const expected = fold.lines[fold.open.length];
    if (expected === undefined || !same(expected, line)) {
      this.closeFold();
      return false;
    }
    fold.open.push(line);
    if (fold.open.length === fold.size) {
      fold.lines.push(...fold.open.splice(0));
      fold.times += 1;
    }
    return true;
  }

  private startFold(): void {
    for (let size = 1; size <= FOLD_LINES_MAX && size * 2 <= this.plain; size += 1) {
      const tail = this.kept.slice(-size * 2).filter((item) => 'text' in item);
      const first = tail.slice(0, size);
      const second = tail.slice(size);
      if (second.length !== size || !first.every((line, i) => same(line, second[i]))) continue;
      this.kept.splice(-size * 2);
      this.fold = { size, times: 2, lines: tail, open: [] };
      this.kept.push(this.fold);
      this.plain = 0;
      return;
    }
  }

  private closeFold(): void {
    const { fold } = this;
    this.fold = undefined;
    if (fold === undefined) return;
    const rest = fold.open.splice(0);
    if (fold.times === 2) this.kept.splice(-1, 1, ...fold.lines);
    this.kept.push(...rest);
    this.chars += rest.reduce((chars, line) => chars + width(line), 0);
    this.plain = rest.length;
  }
}

const same = (a: Line, b: Line | undefined): boolean => b !== undefined && a.indent === b.indent && a.text === b.text;
const shown = (line: Line): string => `${'  '.repeat(line.indent)}${line.text}${line.ref ? ` [${line.ref}]` : ''}`;
const width = (line: Line): number => shown(line).length + 1;

function shownFold(fold: Fold): string[] {
  const [first] = fold.lines;
  const refs = ranges(fold.lines.flatMap((line) => line.ref ?? []));
  const block = fold.size === 1 ? 'the line above' : `the ${fold.size} lines above`;
  const more = `(${block}, ${fold.times} times in all${refs === '' ? '' : `; refs in order: ${refs}`})`;
  return [...fold.lines.slice(0, fold.size).map(shown), shown({ indent: first?.indent ?? 0, text: more })];
}

/** `e3–e7, e9`: refs of a fold, in order. */
function ranges(refs: readonly string[]): string {
  const runs: { from: string; to: string; next: string }[] = [];
  for (const ref of refs) {
    const last = runs.at(-1);
    const number = Number(/\d+$/.exec(ref)?.[0] ?? '0');
    const next = ref.replace(/\d+$/, String(number + 1));
    if (last !== undefined && last.next === ref) Object.assign(last, { to: ref, next });
    else runs.push({ from: ref, to: ref, next });
  }
  const words = runs.slice(0, 20).map((run) => (run.from === run.to ? run.from : `${run.from}–${run.to}`));
  return runs.length > 20 ? `${words.join(', ')}, …` : words.join(', ');
}

function parseCursor(kind: 's' | 't', cursor: string): { skip: number; sum: number } {
  const parts = /^([st])([0-9a-z]{1,6})\.([0-9a-z]{1,11})$/.exec(cursor);
  if (parts?.[1] !== kind || parts[2] === undefined || parts[3] === undefined) {
    throw invalid('This cursor was not given by this tool. Leave it out to start at the top.');
  }
  return { skip: Number.parseInt(parts[2], 36), sum: Number.parseInt(parts[3], 36) };
}

const changed = () =>
  failed('The page changed since this cursor was given, or the other arguments differ. Start again without a cursor.');
