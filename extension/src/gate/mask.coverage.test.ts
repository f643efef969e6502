/*
 * Measures what masking covers: kinds of secrets against ways to write them, the recall on public rule samples, and the
 * false findings on real documentation. The first table is docs/masking.md: it is written by this test
 * (GENKAN_WRITE_DOCS=1) and compared with it on every run, so that the page cannot claim more than the code does.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Masks } from './mask';

const DOC = join(import.meta.dirname, '../../../docs/masking.md');
const SAMPLES = 12;

const alphabet = (letters: string, length: number, seed: number) =>
  fc
    .sample(fc.array(fc.constantFrom(...letters), { minLength: length, maxLength: length }), { seed, numRuns: SAMPLES })
    .map((c) => c.join(''));
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const DIGIT = '0123456789';
const BASE62 = LOWER + LOWER.toUpperCase() + DIGIT;
const base64url = (text: string) => Buffer.from(text).toString('base64url');
const card = (fifteen: string) => [...DIGIT].map((d) => fifteen + d).find(luhn) ?? '';

function luhn(digits: string): boolean {
  const sum = [...digits].toReversed().reduce((total, digit, i) => {
    const weighed = i % 2 === 1 ? Number(digit) * 2 : Number(digit);
    return total + (weighed > 9 ? weighed - 9 : weighed);
  }, 0);
  return sum % 10 === 0;
}

/** A kind of secret: where it stands, and samples of it. */
const KINDS: Record<string, { secrets: string[]; before?: string; after?: string }> = {
  JWT: {
    secrets: alphabet(BASE62, 40, 1).map(
      (s) => `${base64url('{"alg":"HS256"}')}.${base64url(`{"sub":"${s.slice(0, 9)}"}`)}.${s}`,
    ),
  },
  'hex, 32 and more': { secrets: alphabet('0123456789abcdef', 32, 2) },
  'digits, 12 and more': { secrets: alphabet(DIGIT, 14, 3) },
  'card number in groups': { secrets: alphabet(DIGIT, 15, 4).map((d) => (card(d).match(/.{4}/g) ?? []).join(' ')) },
  'mixed token, 32 and more': { secrets: alphabet(BASE62, 36, 5) },
  'single-case token, 32 and more': { secrets: alphabet(LOWER + DIGIT, 36, 6) },
  'issuer prefix': { secrets: alphabet(BASE62, 24, 7).map((s) => `glpat-${s}`) },
  bearer: { secrets: alphabet(BASE62, 16, 8).map((s) => `${s}7`), before: 'Authorization: Bearer ' },
  'password=': { secrets: alphabet(LOWER, 10, 9), before: '/?password=', after: '&x=1' },
  '"api_key": "…"': {
    secrets: alphabet(LOWER + DIGIT, 14, 10).map((s) => `${s}7a`),
    before: '{"api_key": "',
    after: '"}',
  },
  'password in a URL': { secrets: alphabet(LOWER, 10, 11), before: 'https://me:', after: '@host.example/' },
  'password in prose (`Password: …`)': { secrets: alphabet(LOWER, 8, 12).map((s) => `${s}4711`), before: 'Password: ' },
  'word as password in prose': { secrets: alphabet(LOWER, 10, 13), before: 'Password: ' },
  UUID: {
    secrets: alphabet('0123456789abcdef', 32, 14).map((h) => h.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')),
  },
};

const joined = (secret: string, by: string, size = 5) =>
  (secret.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []).join(by);
const base64 = (text: string, shift: number) => Buffer.from(`${'~'.repeat(shift)}${text}`).toString('base64');
const wide = (text: string) => text.replace(/[!-~]/g, (c) => String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfee0));
const each = (text: string, write: (code: number) => string) =>
  [...text].map((c) => write(c.codePointAt(0) ?? 0)).join('');
const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0');

/** A way to write a secret; what stands around it stays as it is. */
const FORMS: Record<string, (secret: string) => string> = {
  'as it is': (s) => s,
  'zero-width characters inside': (s) => joined(s, '\u200b\u200d'),
  'soft hyphens inside': (s) => joined(s, '\u00ad'),
  'UTF-16 (NUL between)': (s) => joined(s, '\0', 1),
  'terminal colours inside': (s) => joined(s, '\u001b[1m'),
  'bidi overrides inside': (s) => joined(s, '\u202e'),
  'wide letters': wide,
  'percent escapes': (s) => each(s, (c) => `%${hex(c, 2)}`),
  'JSON escapes': (s) => each(s, (c) => `\\u${hex(c, 4)}`),
  'HTML references': (s) => each(s, (c) => `&#${c};`),
  base64: (s) => base64(s, 0),
  'base64, shifted by 1': (s) => base64(s, 1),
  'base64, shifted by 2': (s) => base64(s, 2),
  base64url: base64url,
  'hex of it': (s) => Buffer.from(s).toString('hex'),
  'upper case': (s) => s.toUpperCase(),
  'lower case': (s) => s.toLowerCase(),
  reversed: (s) => [...s].toReversed().join(''),
  'two table cells': (s) => joined(s, '\t', Math.ceil(s.length / 2)),
  'two lines': (s) => joined(s, '\n', Math.ceil(s.length / 2)),
  'spaces every 5': (s) => joined(s, ' '),
  'twice percent-escaped': (s) => each(s, (c) => `%25${hex(c, 2)}`),
  'twice base64': (s) => base64(base64(s, 0), 0),
};

/** Whether eight characters of what was written, or all of it, are still there. */
function leaks(written: string, masked: string): boolean {
  if (written.length < 8) return masked.includes(written);
  return Array.from({ length: written.length - 7 }, (_, i) => written.slice(i, i + 8)).some((part) =>
    masked.includes(part),
  );
}

function covered({ secrets, before = '', after = '' }: (typeof KINDS)[string], form: (s: string) => string): string {
  const caught = secrets.filter((secret) => {
    const written = form(secret);
    return !leaks(written, new Masks().text(`see ${before}${written}${after} and more`));
  });
  return caught.length === secrets.length ? 'yes' : caught.length === 0 ? '–' : `${caught.length}/${secrets.length}`;
}

function table(): string {
  const kinds = Object.keys(KINDS);
  const rows = Object.entries(FORMS).map(([name, form]) => [
    name,
    ...kinds.map((kind) => covered(KINDS[kind] ?? { secrets: [] }, form)),
  ]);
  return [['', ...kinds], ['---', ...kinds.map(() => '---')], ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
}

/** The cells of a table, whatever its columns are padded with. */
function cells(text: string): string[][] {
  const rows = text.split('\n').filter((line) => line.startsWith('|'));
  return rows.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replace(/^-+$/, '---')),
  );
}

test('t167_docs_masking_says_exactly_what_is_covered', () => {
  const page = readFileSync(DOC, 'utf8');
  const [head = '', rest = ''] = page.split('<!-- table -->');
  const [old = '', tail = ''] = rest.split('<!-- end of table -->');
  const measured = table();
  if (process.env['GENKAN_WRITE_DOCS'] === '1') {
    writeFileSync(DOC, `${head}<!-- table -->\n\n${measured}\n\n<!-- end of table -->${tail}`);
  } else expect(cells(old)).toEqual(cells(measured));
});

/** Public sample data beside the repository, where there is any. */
const SHARED = process.env['GENKAN_SHARED'] ?? join(import.meta.dirname, '../../../../shared');
const RULES = join(SHARED, 'data/secrets/gitleaks.toml');

interface Family {
  id: string;
  shape: RegExp;
  /** The rule needs the issuer's name beside the value: the value alone has no shape of its own. */
  named: boolean;
}

/** Families of a public rule list, as JavaScript patterns; those that JavaScript cannot say are left out. */
function families(): Family[] {
  const blocks = readFileSync(RULES, 'utf8').split('[[rules]]').slice(1);
  return blocks.flatMap((block) => {
    const id = /^id = "([^"]+)"/m.exec(block)?.[1];
    const source = /^regex = '''(.*)'''$/m.exec(block)?.[1];
    if (id === undefined || source === undefined) return [];
    const portable = source
      .replace(/\(\?-?i\)/g, '')
      .replace(/\(\?-?i:/g, '(?:')
      .replaceAll('[[:alnum:]]', '[A-Za-z0-9]')
      .replaceAll('\\z', '$')
      .replace(/\(\?P<\w+>/g, '(')
      .replaceAll('(?s:.)', '[ -~]')
      .replaceAll('\\b', '')
      .replaceAll('\\x60', '`')
      // The generator draws each part of a class equally often, and real tokens are not one third hyphens.
      .replace(
        /\[([^\]]*0-9[^\]]*)\](?=\{\d\d)/g,
        (_, parts: string) => `[${parts.replace(/\\?[_.=/+-](?!\w)|[_.=]|\\-/g, '')}]`,
      )
      .replace(/\[\\w[^\]]*\](?=\{\d\d)/g, '[A-Za-z0-9]');
    try {
      return [{ id, shape: new RegExp(`^(?:${portable})`), named: source.includes('[\\w.-]{0,50}?') }];
    } catch {
      return [];
    }
  });
}

function recall({ shape }: Family): number | null {
  try {
    const samples = fc.sample(fc.noBias(fc.stringMatching(shape, { maxLength: 400 })), { seed: 42, numRuns: SAMPLES });
    const caught = samples.filter((sample) => {
      const secret =
        shape
          .exec(sample)
          ?.slice(1)
          .find((group) => group !== undefined && group.length >= 8) ?? sample;
      const masked = new Masks().text(`found: ${sample.replace(/[^ -~]/g, ' ')} .`);
      return !masked.includes(secret.replace(/[^ -~]/g, ' '));
    });
    return caught.length / samples.length;
  } catch {
    return null;
  }
}

test.skipIf(!existsSync(RULES))(
  't172_recall_on_public_rule_samples_does_not_fall',
  () => {
    const rates = families().flatMap((family) => {
      const rate = recall(family);
      return rate === null ? [] : [{ ...family, rate }];
    });
    const mean = (of: typeof rates) => of.reduce((sum, { rate }) => sum + rate, 0) / of.length;
    const shaped = rates.filter(({ named }) => !named);
    const missed = shaped.filter(({ rate }) => rate < 0.5).map(({ id, rate }) => `${id} ${Math.round(rate * 100)} %`);
    console.warn(
      `recall ${(mean(shaped) * 100).toFixed(1)} % over ${shaped.length} families with a shape of their own, ` +
        `${(mean(rates) * 100).toFixed(1)} % over all ${rates.length}; below half: ${missed.join(', ')}`,
    );
    expect(shaped.length).toBeGreaterThan(90);
    expect(mean(shaped)).toBeGreaterThan(0.8);
  },
  120_000,
);

function documentation(): string[] {
  const folders = [
    join(sysroot(), 'share/doc/rust/html/std'),
    join(sysroot(), 'share/doc/rust/html/book'),
    '/usr/share/doc/python3/html/library',
  ];
  return folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((f) => f.endsWith('.html'))
        .toSorted()
        .filter((_, i) => i % 97 === 0)
        .map((f) => join(folder, f)),
    );
}

function sysroot(): string {
  try {
    return execFileSync('rustc', ['--print', 'sysroot'], { encoding: 'utf8' }).trim();
  } catch {
    return '/nowhere';
  }
}

function textOf(html: string): string {
  const bare = html
    .replace(/<(script|style)\b[\s\S]*?<\/\1>/g, ' ')
    .replace(/<\/?(?:p|div|li|h\d|tr|td|pre|br|section)\b[^>]*>/g, '\n')
    .replace(/<[^>]+>/g, '');
  return bare
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

test.skipIf(documentation().length === 0)(
  'ordinary documentation is left alone: at most one finding in 100,000 characters',
  () => {
    let characters = 0;
    let findings = 0;
    for (const file of documentation()) {
      const text = textOf(readFileSync(file, 'utf8'));
      const masks = new Masks();
      masks.text(text);
      characters += text.length;
      findings += Object.values(masks.counts).reduce((sum, n) => sum + n, 0);
    }
    console.warn(`${findings} findings in ${characters} characters of documentation`);
    expect(findings).toBeLessThanOrEqual(Math.ceil(characters / 100_000));
  },
  120_000,
);
