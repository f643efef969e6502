// Checks of plain data at the two ends of the page protocol. They refuse unknown members, wrong types and sizes above
// their bound. They are type predicates and need no library: this code is injected into every approved frame.

export type Check<T> = (value: unknown) => value is T;
export type Of<C> = C extends Check<infer T> ? T : never;

type Members = Record<string, Check<unknown>>;
type Shape<R extends Members, O extends Members> = {
  [K in keyof R]: Of<R[K]>;
} & { [K in keyof O]?: Of<O[K]> };

export const text =
  (max: number): Check<string> =>
  (value): value is string =>
    typeof value === 'string' && value.length <= max;

export const integer =
  (min: number, max: number): Check<number> =>
  (value): value is number =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;

export const flag: Check<boolean> = (value): value is boolean => typeof value === 'boolean';

export const word =
  <const W extends string>(...words: readonly W[]): Check<W> =>
  (value): value is W =>
    words.some((w) => w === value);

export const list =
  <T>(of: Check<T>, max: number): Check<T[]> =>
  (value): value is T[] =>
    Array.isArray(value) && value.length <= max && value.every(of);

export const number: Check<number> = (value): value is number => typeof value === 'number' && Number.isFinite(value);

export const exactly =
  <const V extends number | boolean>(only: V): Check<V> =>
  (value): value is V =>
    value === only;

export const anything: Check<unknown> = (_value): _value is unknown => true;

/** All of `required`, any of `optional`, nothing else. A member that is `undefined` counts as absent. */
export const record =
  <R extends Members, O extends Members>(required: R, optional: O): Check<Shape<R, O>> =>
  (value): value is Shape<R, O> => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    const members = new Map<string, unknown>(Object.entries(value).filter(([, member]) => member !== undefined));
    const fits = (check: Check<unknown> | undefined, name: string) => check?.(members.get(name)) === true;
    const known = { ...optional, ...required };
    return (
      Object.keys(required).every((name) => fits(required[name], name)) &&
      [...members.keys()].every((name) => Object.hasOwn(known, name) && fits(known[name], name))
    );
  };
