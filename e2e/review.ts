/* Runs the attackers against the built program, or against the one that GENKAN_BIN names, and prints the table that a
   reviewer reads: case, what refused it or did not, the layer that must refuse, the test, the attack in words.
   Decides nothing about a case: the tests do. Cases whose tests need another harness are listed with the place of those. */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
type Row = { id: string; layer: string; result: string; test: string; attack: string };

/** The list's rows by id: the layer that must refuse, and the attack in words. */
function listed(): Map<string, { layer: string; attack: string; due: boolean }> {
  const rows = new Map<string, { layer: string; attack: string; due: boolean }>();
  for (const line of fs.readFileSync(path.join(root, 'docs/attacks.md'), 'utf8').split('\n')) {
    const [, id, , attack, layer, due] = line.split('|').map((cell) => cell.trim());
    if (id && /^T\d{3}$/.test(id)) rows.set(id, { layer: layer ?? '', attack: attack ?? '', due: due === 'now' });
  }
  return rows;
}

const ID = /(?<![A-Za-z0-9])t(\d{3})(?=_)/gi;
const idsOf = (name: string): string[] => [...name.matchAll(ID)].map(([, digits]) => `T${digits}`);

function filesBelow(folder: string): string[] {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesBelow(file);
    return [file];
  });
}

/** Ids in the names of a file's tests. */
function idsIn(file: string): string[] {
  const text = fs.readFileSync(file, 'utf8');
  if (file.endsWith('.rs')) return [...text.matchAll(/fn t(\d{3})_/g)].map(([, digits]) => `T${digits}`);
  return [...text.matchAll(/(?:test|it)\(\s*['"`]([^'"`]*)/g)].flatMap(([, title]) => title?.match(/T\d{3}/g) ?? []);
}

const SUITES = ['src', 'spec', 'model', 'fuzz', 'e2e', 'extension'];

/** Tests of other suites, by id: a file that holds one. */
function elsewhere(): Map<string, string> {
  const files = SUITES.flatMap((folder) => filesBelow(path.join(root, folder)));
  const found = new Map<string, string>();
  for (const file of files.filter((each) => /\.(rs|tsx?)$/.test(each))) {
    for (const id of idsIn(file)) found.set(id, found.get(id) ?? path.relative(root, file));
  }
  return found;
}

/** Runs the suite, shows its output as it comes, and gives each test's verdict. */
function run(): Promise<{ code: number; verdicts: Map<string, string> }> {
  const verdicts = new Map<string, string>();
  return new Promise((done) => {
    const child = spawn('cargo', ['test', '--no-fail-fast', '--test', 'adversarial', ...process.argv.slice(2)], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let rest = '';
    child.stdout.on('data', (chunk: Buffer) => {
      process.stdout.write(chunk);
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [, test, verdict] = /^test (\S+) \.\.\. (ok|FAILED|ignored)/.exec(line) ?? [];
        if (test && verdict) verdicts.set(test, verdict);
      }
    });
    child.on('close', (code) => done({ code: code ?? 1, verdicts }));
  });
}

function table(verdicts: Map<string, string>): Row[] {
  const list = listed();
  const others = elsewhere();
  const rows: Row[] = [];
  for (const [id, { layer, attack, due }] of list) {
    const tests = [...verdicts].filter(([test]) => idsOf(test).includes(id));
    for (const [test, verdict] of tests) {
      const stopped = layer === 'residual' ? 'residual' : 'refused';
      rows.push({ id, layer, attack, test, result: verdict === 'ok' ? stopped : verdict });
    }
    if (tests.length === 0 && due)
      rows.push({ id, layer, attack, test: others.get(id) ?? 'none', result: 'other suite' });
  }
  return rows;
}

const { code, verdicts } = await run();
const rows = table(verdicts);
console.log(`\nAttacked: ${process.env['GENKAN_BIN'] ?? 'the program of this build'}\n`);
console.log(`${'case'.padEnd(5)} ${'outcome'.padEnd(12)} ${'layer'.padEnd(12)} attack`);
for (const { id, result, layer, attack, test } of rows) {
  console.log(`${id.padEnd(5)} ${result.padEnd(12)} ${layer.padEnd(12)} ${attack}`);
  console.log(`${' '.repeat(32)}${test}`);
}
const failed = [...verdicts.values()].filter((verdict) => verdict === 'FAILED').length;
const here = new Set(rows.filter((row) => row.result !== 'other suite').map((row) => row.id)).size;
console.log(
  `\n${here} cases attacked here, ${new Set(rows.map((row) => row.id)).size - here} in other suites, ${failed} tests failed`,
);
process.exit(code);
