/*
 * Decides which names announce a secret, and which stretches of a text are the value of such a name.
 * Below a name that means a password nearly every value counts. Below the others, and after a colon and a space as in
 * prose, the value itself must look chosen by a machine or a careful person: `token: required` is a sentence.
 */
import { matchesOf, type Range } from './view';

const PASSWORDS = ['password', 'passwd', 'passphrase', 'passcode', 'client_secret', 'private_key', 'secret'];
const KEYS = [
  'token',
  'api_key',
  'access_key',
  'account_key',
  'signing_key',
  'encryption_key',
  'authorization',
  'cookie',
  'credential',
  'session_id',
  'card_number',
  'recovery_code',
  'connection_string',
];
/** Too short to be looked for inside longer words. */
const SHORT = ['pwd', 'auth', 'sid', 'jwt', 'csrf', 'xsrf', 'otp', 'pin', 'cvv', 'cvc'];

const SUFFIXES = 'value|hash|hex|id|key|\\d{1,2}';

// Letters of a name may stand apart in any way; after it may come what numbers it or says of what it is.
const apart = (name: string) => [...name.replaceAll('_', '')].join('_?');
const SECRET_NAME = new RegExp(
  `(?:${[...PASSWORDS, ...KEYS].map(apart).join('|')})(?:_?s?|_(?:${SUFFIXES}))$|` +
    `(?:^|_)(?:${SHORT.join('|')})(?:s|_(?:${SUFFIXES}))?$`,
);

/** Whether a member of this name holds a secret, in any usual spelling: `apiKey`, `X-Api-Key`, `DB_PASSWORD_2`. */
export function isSecretName(name: string): boolean {
  const words = /^[a-z0-9]{0,256}$/.test(name) ? name : inWords(name.slice(0, 256));
  return SECRET_NAME.test(words);
}

function inWords(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_');
}

const spelled = (names: readonly string[]) => names.map((n) => n.replaceAll('_', '[_ -]?')).join('|');
const NAMED =
  `(?:(${spelled(PASSWORDS)})|${spelled(KEYS)}|(?<![a-z0-9])(?:${spelled(SHORT)}))` +
  `(?:[_-]?(?:${SUFFIXES}))?["'\`]?\\s{0,4}`;
/** What every assignment, authorization and cookie has. Most texts with a colon have no such name before it. */
const ASSIGNS = new RegExp(`[:=](?<=${NAMED}[:=])`, 'i');
const ASSIGNMENT = new RegExp(
  `${NAMED}(?:=>|:=|=|:(?!:))(\\s{0,4})` +
    '(?:"([^"\\n]*)"?|\'([^\'\\n]*)\'?|`([^`\\n]*)`?|([^\\s"\'`<>&;,(){}[\\]|]+))',
  'gi',
);
const QUERY_KEY = /[?&](?:key|sig|signature|code|state|assertion)=([^\s&#"'<>]{8,})/gi;
const AUTHORIZATION = /authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:[a-z-]{3,20}\s{1,4})?([^\s"',;]{6,})/gi;
const BEARER = /(?<![a-z0-9])bearer\s{1,4}["']?([\w.~+/=-]{8,})/gi;
const BASIC =
  /(?<![A-Za-z0-9])[Bb]asic\s{1,4}["']?(?=[a-z]{0,64}[A-Z])(?=[A-Z]{0,64}[a-z])([A-Za-z0-9+/]{8,}={0,2})(?![\w.])/g;
const COOKIE = /cookie["']?\s{0,4}:\s{0,4}["']?([\w.-]{1,64}=[^\n]*)/gi;
const USERINFO = /(?<![a-z0-9])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'<>]{0,64}:([^\s/@"'<>]{1,128})@/gi;

/** Values after `name=`, `name: `, `"name":"` and the like. */
export function assignedSecrets(text: string): Range[] {
  const found = telling(text, QUERY_KEY);
  if (text.includes('@')) found.push(...lastGroups(text, USERINFO));
  if (ASSIGNS.test(text)) found.push(...assigned(text), ...telling(text, AUTHORIZATION), ...lastGroups(text, COOKIE));
  return found;
}

function assigned(text: string): Range[] {
  return matchesOf(text, ASSIGNMENT).flatMap((m) => {
    const [all, password, gap, ...values] = m;
    const quoted = values[3] === undefined;
    const value = values.find((v) => v !== undefined) ?? '';
    if (!isSecretValue(value, password !== undefined, quoted || gap === '')) return [];
    const start = m.index + all.lastIndexOf(value);
    return [{ start, end: start + value.length }];
  });
}

/** What follows `Bearer` or `Basic`. */
export function bearerSecrets(text: string): Range[] {
  const mixed = lastGroups(text, BASIC).filter((r) => /[A-Z].*[A-Z]/.test(slice(text, r)));
  return [...telling(text, BEARER), ...mixed];
}

function telling(text: string, shape: RegExp): Range[] {
  return lastGroups(text, shape).filter((r) => isTelling(slice(text, r)));
}

function slice(text: string, range: Range): string {
  return text.slice(range.start, range.end);
}

/** The one group of each match, which these shapes all have at their end or right before one closing character. */
function lastGroups(text: string, shape: RegExp): Range[] {
  return matchesOf(text, shape).map((m) => {
    const value = m[1] ?? '';
    const start = m.index + m[0].lastIndexOf(value);
    return { start, end: start + value.length };
  });
}

const WORDS = /^(?:true|false|null|none|nil|undefined|yes|no|on|off|\*+|\[masked:\w+\])$/i;

function isSecretValue(value: string, password: boolean, tight: boolean): boolean {
  if (WORDS.test(value)) return false;
  if (password && tight) return value.length >= 3;
  if (password && value.length >= 6 && /\d/.test(value)) return true;
  return isTelling(value) || (tight && value.length >= 16);
}

/** Whether a value looks chosen to be secret rather than written to be read. */
function isTelling(value: string): boolean {
  if (/^\d{4,}$/.test(value) || value.length >= 24) return true;
  if (value.length < 5) return false;
  const classes = [/[a-z]/, /[A-Z]/, /\d/, /[!#$%*+=?@^~]/].filter((c) => c.test(value)).length;
  return classes >= 3 || (classes === 2 && /\d|[!#$%*+=?@^~]/.test(value.slice(0, -1)));
}
