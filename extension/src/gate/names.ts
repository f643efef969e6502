/*
 * Decides which names announce a secret, and which stretches of a text are the value of such a name.
 * Below a name that means a password nearly every value counts. Below the others, and after a colon and a space as in
 * prose, the value itself must look chosen by a machine or a careful person: `token: required` is a sentence.
 */
import type { Range } from './view';

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

const ENDINGS = [...PASSWORDS, ...KEYS].map((name) => name.replaceAll('_', ''));
const SHORT_ENDINGS = SHORT.map((name) => `_${name}`);

const SUFFIX = /_(?:value|hash|hex|id|key|\d{1,2})$/;

/** Whether a member of this name holds a secret, in any usual spelling: `apiKey`, `X-Api-Key`, `DB_PASSWORD_2`. */
export function isSecretName(name: string): boolean {
  const words = name
    .slice(0, 256)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_');
  return [words, words.replace(SUFFIX, ''), words.replace(/s$/, '')].some(announces);
}

function announces(words: string): boolean {
  const joined = words.replaceAll('_', '');
  return (
    ENDINGS.some((ending) => joined.endsWith(ending)) ||
    SHORT.includes(words) ||
    SHORT_ENDINGS.some((ending) => words.endsWith(ending))
  );
}

const spelled = (names: readonly string[]) => names.map((n) => n.replaceAll('_', '[_ -]?')).join('|');
const ASSIGNMENT = new RegExp(
  `(?:(${spelled(PASSWORDS)})|${spelled(KEYS)}|(?<![a-z0-9])(?:${spelled(SHORT)}))` +
    '(?:[_-]?(?:value|hash|hex|id|key|\\d{1,2}))?["\'`]?\\s{0,4}(?:=>|:=|=|:(?!:))(\\s{0,4})' +
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
  const found: Range[] = [];
  for (const m of text.matchAll(ASSIGNMENT)) {
    const [all, password, gap, ...values] = m;
    const quoted = values[3] === undefined;
    const value = values.find((v) => v !== undefined) ?? '';
    if (!isSecretValue(value, password !== undefined, quoted || gap === '')) continue;
    const start = m.index + all.lastIndexOf(value);
    found.push({ start, end: start + value.length });
  }
  const telling = [QUERY_KEY, AUTHORIZATION].flatMap((shape) =>
    lastGroups(text, shape).filter((r) => isTelling(slice(text, r))),
  );
  return [...found, ...telling, ...lastGroups(text, COOKIE), ...lastGroups(text, USERINFO)];
}

/** What follows `Bearer` or `Basic`. */
export function bearerSecrets(text: string): Range[] {
  const mixed = lastGroups(text, BASIC).filter((r) => /[A-Z].*[A-Z]/.test(slice(text, r)));
  return [...lastGroups(text, BEARER).filter((r) => isTelling(slice(text, r))), ...mixed];
}

function slice(text: string, range: Range): string {
  return text.slice(range.start, range.end);
}

/** The one group of each match, which these shapes all have at their end or right before one closing character. */
function lastGroups(text: string, shape: RegExp): Range[] {
  return Array.from(text.matchAll(shape), (m) => {
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
