/*
 * The two records of the allowlist, an approval and a wish for one, as they are stored and sent. They decide nothing;
 * they stand apart so that the pages, which only show them, need not carry the list of public suffixes.
 */
import { z } from 'zod';

/** `exact` and `pattern` stay until removed; `session` is an exact origin until the browser closes. */
export const Scope = z.enum(['exact', 'pattern', 'session']);
export type Scope = z.infer<typeof Scope>;

/** One approval. `site` is a canonical origin, or a pattern where the scope says so. */
export const Entry = z.strictObject({ scope: Scope, site: z.string().max(512), since: z.number().int() });
export type Entry = z.infer<typeof Entry>;

/** What the person asked for in the popup, waiting for the browser's own prompt. */
export const Intent = z.strictObject({
  scope: Scope,
  site: z.string().max(512),
  tab: z.number().int(),
  /** The origin that the popup showed while the person decided. */
  shown: z.string().max(512),
  until: z.number().int(),
});
export type Intent = z.infer<typeof Intent>;
