/* An independent client, the MCP Inspector's command line, in both eras and without a browser: what it lists and reads
   is kept word for word beside this file. `npm run e2e -- --test-update-snapshots` writes it anew. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { Era } from './client.ts';
import { BINARY, Home } from './home.ts';

const run = promisify(execFile);
const inspector = path.join(
  path.dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json')),
  'clients/launcher/build/index.js',
);

type Answer = { exit: number; stdout: string; stderr: string };

async function inspect(home: Home, era: Era, ...wanted: string[]): Promise<Answer> {
  const environment = ['HOME', 'XDG_RUNTIME_DIR'].flatMap((name) => ['-e', `${name}=${home.env[name]}`]);
  const args = ['--cli', BINARY, '--transport', 'stdio', '--protocol-era', era, ...environment, ...wanted];
  try {
    return { exit: 0, ...(await run(process.execPath, [inspector, ...args], { env: home.env, cwd: home.dir })) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { exit: code, stdout, stderr };
  }
}

const CALLS: [string, string[]][] = [
  ['tools/list', ['--method', 'tools/list', '--strict']],
  ['list_browsers', ['--method', 'tools/call', '--tool-name', 'list_browsers']],
  ['tab_list with a bad limit', ['--method', 'tools/call', '--tool-name', 'tab_list', '--tool-arg', 'limit=0']],
  ['an unknown tool', ['--method', 'tools/call', '--tool-name', 'no_such_tool']],
];

for (const era of ['modern', 'legacy'] as const) {
  test(`the Inspector lists and calls tools in the ${era} era`, async (t) => {
    const home = new Home('inspector');
    try {
      const transcript: Record<string, unknown> = {};
      for (const [name, wanted] of CALLS) {
        const { exit, stdout, stderr } = await inspect(home, era, ...wanted);
        assert.doesNotMatch(stderr, /portability|warning/i, name);
        transcript[name] = { exit, stdout: stdout.trim() === '' ? '' : JSON.parse(stdout) };
      }
      t.assert.snapshot(transcript);
    } finally {
      home.remove();
    }
  });
}
