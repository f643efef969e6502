/* The person's switches, in a versioned record. Decides how an older record climbs to the present shape and what a damaged
   or newer one is worth: each field that still parses, the safe default for the rest. */
import { z } from 'zod';
import { Language, Theme } from '../ui/messages';
import { type Shape, Stored } from './storage';

const FIELDS = z.strictObject({
  /** Whether clients may take pictures of approved tabs. Needs the all-sites permission of the browser. */
  screenshots: z.boolean().catch(false),
  language: Language.catch('auto'),
  theme: Theme.catch('auto'),
});

export type Settings = z.infer<typeof FIELDS>;

/** The oldest version that can climb. Raised when the first rung is retired, so that no stored version changes its meaning. */
export const FIRST_VERSION = 1;
type Rung = (fields: Record<string, unknown>) => Record<string, unknown>;
/** Rung i lifts a record of version FIRST_VERSION + i by one. */
export const RUNGS: readonly Rung[] = [];

const Envelope = z.strictObject({ version: z.int().nonnegative(), fields: z.record(z.string(), z.unknown()) });

export function climb(raw: unknown, first = FIRST_VERSION, rungs = RUNGS): Settings {
  const envelope = Envelope.safeParse(raw);
  // A newer record was written by a newer extension: what its fields mean here is not known, so none is taken.
  if (!envelope.success || envelope.data.version > first + rungs.length) return salvage({});
  const { version, fields } = envelope.data;
  return salvage(version < first ? fields : rungs.slice(version - first).reduce((now, rung) => rung(now), fields));
}

function salvage({ screenshots, language, theme }: Record<string, unknown>): Settings {
  return FIELDS.parse({ screenshots, language, theme });
}

export function seal(settings: Settings): z.infer<typeof Envelope> {
  return { version: FIRST_VERSION + RUNGS.length, fields: { ...settings } };
}

const SHAPE: Shape<z.infer<typeof Envelope>> = { area: 'local', key: 'settings', read: (raw) => seal(climb(raw)) };
const record = new Stored(SHAPE);

export async function settings(): Promise<Settings> {
  return climb(await record.read());
}

export async function setSettings(change: Partial<Settings>): Promise<Settings> {
  return climb(await record.change((now) => seal({ ...climb(now), ...change })));
}
