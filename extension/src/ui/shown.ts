/*
 * Decides how text that a page, an address or a client chose is put before the person: nothing invisible stays
 * invisible, nothing turns the line around, nothing runs over the rest of the window.
 */
import { classify } from '../gate/origin';

// Controls, line and paragraph separators, everything a renderer leaves out, private and unassigned characters.
const UNSHOWN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;
// The blank of Braille is a letter to Unicode and nothing to the eye.
const ODD_SPACES = /[\p{Zs}\t\u2800]+/gu;

/** One line: white space folded, what cannot be seen named by its number, cut with an ellipsis. */
export function oneLine(text: string, max: number): string {
  const line = text
    .slice(0, max * 8)
    .toWellFormed()
    .replace(/\r\n?|\n/g, ' ⏎ ')
    .replace(ODD_SPACES, ' ')
    .replace(UNSHOWN, (char) => `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`)
    .trim();
  const characters = [...line];
  return characters.length <= max && text.length <= max * 8 ? line : `${characters.slice(0, max - 1).join('')}…`;
}

/** An address with its origin told apart; an origin is always in ASCII, so that no letter can pass for another. */
export function address(text: string, max: number): { origin: string; rest: string } {
  const site = classify(text);
  if (site.kind !== 'web') return { origin: '', rest: oneLine(text, max) };
  const url = new URL(text);
  return { origin: site.origin, rest: oneLine(`${url.pathname}${url.search}${url.hash}`, max) };
}

/** Whether a name is written in ASCII in place of other letters, which is worth a second look. */
export function isInternational(origin: string): boolean {
  return /(?:^|[/.])xn--/.test(origin);
}
