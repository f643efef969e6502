/*
 * Decides which stretches of a text have the shape of a secret: one table of rules, each of them one pass over the text.
 * It judges by shape alone and knows no values. What looks like ordinary words passes; docs/masking.md lists that.
 */
import { assignedSecrets, bearerSecrets } from './names';
import { matchesOf, type Range } from './view';

/** What a mask stands for. The word appears in the masked text. */
export type MaskKind = 'private_key' | 'jwt' | 'api_key' | 'bearer' | 'secret' | 'hex' | 'token' | 'digits';

export interface Finding extends Range {
  kind: MaskKind;
}

export interface Rule {
  kind: MaskKind;
  find: (text: string) => Range[];
}

/** A rule that looks closely only where a text has what each of its findings has: most texts have nothing of it. */
function where(needed: RegExp, find: Rule['find']): Rule['find'] {
  return (text) => (needed.test(text) ? find(text) : []);
}

const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY[A-Z ]{0,9}-----[\w+/=\s\\:,.]*(?:-----END [A-Z0-9 ]{0,80}-----)?/g;
// Header and claims of a JWT are JSON objects, so both begin with the base64 of `{"` or of `{` and white space.
const JWT = /(?<![\w-])(?:eyJ|eyA|ewo|ew0)[\w-]{6,}(?:\.[\w-]*){1,4}/g;
// Digits behind a decimal point are a fraction, not a number of anything; so is what only looks like hex there.
const DIGITS = /(?<!\d\.\d{0,64}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}\d{0,12})\d{12,}/gi;
const CARD = /(?<!\d)\d{4}(?:([ -])\d{4}\1\d{4}\1\d{1,7}|([ -])\d{6}\2\d{4,5})(?!\d)/g;

/** Prefixes of issuers whose keys may be shorter than the general shapes ask for. */
const ISSUERS = [
  'A[BCKS][CIK]A',
  'LTAI',
  'AIza',
  'ya29\\.',
  'GOCSPX-',
  'gh[oprsu]_',
  'gl[a-z]{2,5}-',
  'GR1348941',
  'xox[a-z]-',
  'xapp-',
  '(?:sk|rk|pk)_(?:live|test|prod)_',
  'whsec_',
  'sk-(?:ant-|proj-)?',
  'hf_',
  'npm_',
  'SG\\.',
  'sm_[aps]at_',
  'API-',
  'EAAA',
  'sq0atp-',
  'hv[bs]\\.',
  'key-',
  'SK(?=[0-9a-f]{32})',
  'NRJS-',
  'FLWSECK_TEST-',
];
const API_KEY = new RegExp(`(?<![A-Za-z0-9])(?:${ISSUERS.join('|')})[\\w-]{10,}`, 'g');

/** Looked for from the gap on: there are fewer gaps than words. */
const TWO_PIECES = /[ \t\r\n|][\w-]{8}(?<=[\w-]{8}[ \t\r\n|]{1,3}[\w-]{8})/;

/** In order of precedence where findings overlap. */
export const RULES: readonly Rule[] = [
  { kind: 'private_key', find: matching(PRIVATE_KEY) },
  { kind: 'jwt', find: matching(JWT, (found) => found.length >= 24) },
  { kind: 'api_key', find: matching(API_KEY, isKeyLike) },
  { kind: 'bearer', find: bearerSecrets },
  { kind: 'secret', find: assignedSecrets },
  { kind: 'hex', find: where(/[0-9a-f]{32}/i, matching(/(?<!\d\.\d{0,64})[0-9a-f]{32,}/gi)) },
  { kind: 'hex', find: where(TWO_PIECES, inPieces(/(?<![\w-])[0-9a-f]{8,}(?![\w-])/gi, isHexPiece)) },
  { kind: 'token', find: matching(/(?<![\w-])[\w-]{32,}/g, isRandom) },
  { kind: 'token', find: matching(/(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{32,}={0,2}/g, isRandom) },
  { kind: 'token', find: where(TWO_PIECES, inPieces(/(?<![\w-])(?=[A-Za-z_-]{0,64}\d)[\w-]{8,}/g, isTokenPiece)) },
  { kind: 'digits', find: where(/\d{12}/, matching(DIGITS)) },
  { kind: 'digits', find: matching(CARD, isCard) },
];

function matching(shape: RegExp, holds: (found: string) => boolean = () => true): (text: string) => Range[] {
  return (text) =>
    matchesOf(text, shape)
      .map((m) => ({ start: m.index, end: m.index + m[0].length }))
      .filter((r) => holds(text.slice(r.start, r.end)));
}

/** Pieces of a shape that only white space or cell borders part, 32 characters in all. */
function inPieces(shape: RegExp, holds: (piece: string) => boolean): (text: string) => Range[] {
  return (text) => {
    const chains: (Range & { pieces: number; length: number })[] = [];
    for (const m of matchesOf(text, shape)) {
      if (!holds(m[0])) continue;
      const last = chains.at(-1);
      const end = m.index + m[0].length;
      if (last !== undefined && /^[ \t\r\n|]{1,3}$/.test(text.slice(last.end, Math.min(m.index, last.end + 4)))) {
        last.end = end;
        last.pieces += 1;
        last.length += m[0].length;
      } else chains.push({ start: m.index, end, pieces: 1, length: m[0].length });
    }
    return chains.filter((c) => c.pieces > 1 && c.length >= 32);
  };
}

function isHexPiece(piece: string): boolean {
  return /\d/.test(piece) && /[a-f]/i.test(piece);
}

function isTokenPiece(piece: string): boolean {
  return /[a-z]/.test(piece) && /[A-Z]/.test(piece) && mixing(piece) >= 0.38;
}

// Names of things in most addresses; masked, they would leave a client no way to say which one it means.
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a long run is drawn from a mixed alphabet rather than written in words. */
function isRandom(run: string): boolean {
  const digits = run.match(/\d/g)?.length ?? 0;
  const lower = /[a-z]/.test(run);
  const upper = /[A-Z]/.test(run);
  if (UUID.test(run)) return false;
  if (lower && upper) return digits > 0 && mixing(run) >= (digits > 2 ? 0.38 : 0.45);
  return (lower || upper) && run.split(/[_/+-]/).some((part) => part.length >= 20 && isLoose(part));
}

// Without a second case there is less to see: at least three groups of digits in one unbroken part.
function isLoose(part: string): boolean {
  return (part.match(/\d+/g)?.length ?? 0) >= 3 && mixing(part) >= 0.18;
}

/** How often neighbours are of another class. Names in camel case reach a third, random base64 two thirds. */
export function mixing(run: string): number {
  const letters = run.replace(/[^A-Za-z0-9]/g, '');
  const classes = letters.replace(/[a-z]/g, 'a').replace(/[A-Z]/g, 'b').replace(/\d/g, 'c');
  const changes = classes.match(/a(?=[bc])|b(?=[ac])|c(?=[ab])/g)?.length ?? 0;
  return letters.length < 2 ? 0 : changes / (letters.length - 1);
}

const AWS_KEY_ID = /^A[BCKS][CIK]A[A-Z2-7]{16}$/;

/** What follows an issuer's prefix must not be words: `sk-learn-something` is none. */
function isKeyLike(found: string): boolean {
  if (AWS_KEY_ID.test(found)) return true;
  return found.length >= 18 && ((found.match(/\d/g)?.length ?? 0) > 1 || mixing(found) >= 0.38);
}

/** The check digit that all card numbers carry; four years in a row seldom do. */
function isCard(found: string): boolean {
  const digits = found.replace(/\D/g, '');
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const weighed = i % 2 === 1 ? digit * 2 : digit;
    sum += weighed > 9 ? weighed - 9 : weighed;
  }
  return sum % 10 === 0;
}
