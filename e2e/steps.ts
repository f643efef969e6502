/* Runs the checks of `make test` in two lanes, prints each step's whole output when it ends, and closes with a table.
   Decides nothing itself: a step is green when its command exits 0. What ran is written to target/ran/ so that the docs
   gate, the last step, can refuse a diagram or an attack row whose test did not run. */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

/** Opens once; what one lane makes and the other needs. */
class Gate {
  #open: () => void = () => {};
  readonly opened = new Promise<void>((open) => {
    this.#open = open;
  });
  open(): void {
    this.#open();
  }
}

type Step = { name: string; run: string; ran?: RegExp; env?: Record<string, string>; opens?: Gate; waits?: Gate };

const root = path.resolve(import.meta.dirname, '..');
const ranDir = path.join(root, 'target/ran');
const RUST = /^test (\S+)(?: - should panic)? \.\.\. ok/;
const NODE = /^\s*✔ (.+?) \([\d.]+m?s\)/;
const VITEST = /^\s*✓ (.+?)(?: \d+ms)?$/;
const fuzzSeconds = process.env['GENKAN_FUZZ_SECONDS'] ?? '3';

const programs = new Gate();
const rust: Step[] = [
  { name: 'rustfmt', run: 'cargo fmt --check' },
  // Builds the program that the browser tests run, too: one profile, compiled once.
  { name: 'rust build', run: 'cargo test -q --no-run', opens: programs },
  { name: 'rust tests', run: 'cargo test --no-fail-fast', ran: RUST },
  { name: 'clippy', run: 'cargo clippy -q --all-targets -- -D warnings' },
  { name: 'pure layers', run: 'cargo check -q --lib --no-default-features' },
  { name: 'dist', run: 'bash e2e/dist.sh', ran: RUST },
  { name: 'models', run: 'bash model/run.sh', ran: RUST },
  { name: 'fuzz', run: `bash fuzz/run.sh ${fuzzSeconds}` },
];
const web: Step[] = [
  { name: 'contract', run: 'npm run -s contract', env: { CARGO_TARGET_DIR: 'target/contract' } },
  { name: 'biome', run: 'npx biome ci --colors=off --error-on-warnings .' },
  { name: 'extension build', run: 'npm run -s build' },
  { name: 'types', run: 'npm run -s check' },
  { name: 'extension tests', run: 'npm run -s test', ran: VITEST },
  // Before what waits for the Rust lane; its compiler and its target folder are its own.
  { name: 'platforms', run: 'bash e2e/platforms.sh' },
  { name: 'demo', run: 'node e2e/demo.ts', waits: programs },
  { name: 'e2e', run: 'npm run -s e2e', ran: NODE },
  { name: 'soak', run: 'node e2e/soak/soak.ts', env: { SEED: '1', SECONDS: '60' } },
];
const last: Step[] = [{ name: 'docs gate', run: 'cargo test --test docs', env: { GENKAN_REQUIRE_RAN: '1' } }];

type Outcome = { step: Step; ok: boolean; seconds: number };
const outcomes: Outcome[] = [];

function execute(step: Step): Promise<boolean> {
  const started = performance.now();
  console.log(`▶ ${step.name}: ${step.run}`);
  return new Promise((done) => {
    const child = spawn('bash', ['-c', step.run], {
      cwd: root,
      env: { ...process.env, FORCE_COLOR: '0', NO_COLOR: '1', CARGO_TERM_COLOR: 'never', ...step.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    child.on('close', (code) => {
      const seconds = (performance.now() - started) / 1000;
      const text = Buffer.concat(output).toString('utf8');
      console.log(`\n──── ${step.name} (${seconds.toFixed(0)} s, exit ${code}) ────\n${text.trimEnd()}\n`);
      if (step.ran) note(step.name, text, step.ran);
      outcomes.push({ step, ok: code === 0, seconds });
      done(code === 0);
    });
  });
}

function note(name: string, text: string, pattern: RegExp): void {
  const names = text.split('\n').flatMap((line) => pattern.exec(line)?.[1] ?? []);
  fs.writeFileSync(path.join(ranDir, `${name.replaceAll(' ', '-')}.txt`), `${names.join('\n')}\n`);
}

/** A lane goes on after a red step, so that one run shows everything that is wrong. */
async function lane(steps: Step[]): Promise<void> {
  for (const step of steps) {
    await step.waits?.opened;
    await execute(step);
    step.opens?.open();
  }
}

fs.rmSync(ranDir, { recursive: true, force: true });
fs.mkdirSync(ranDir, { recursive: true });
const begun = performance.now();
await Promise.all([lane(rust), lane(web)]);
await lane(last);

console.log('step                  seconds');
for (const { step, ok, seconds } of outcomes) {
  console.log(`${ok ? '✔' : '✖'} ${step.name.padEnd(20)} ${seconds.toFixed(0).padStart(6)}`);
}
const failed = outcomes.filter((outcome) => !outcome.ok);
console.log(`all in ${((performance.now() - begun) / 60000).toFixed(1)} minutes (budget 30)`);
console.log(`${outcomes.length - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length === 0 ? 0 : 1);
