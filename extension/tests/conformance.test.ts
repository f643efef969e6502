/* Every operation of the catalogue is at home on every side, and the built manifest holds the powers it should and no other. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { fakeBrowser } from 'wxt/testing/fake-browser';
import { EXTENSION_MANIFEST_KEY, PINNED_EXTENSION_ID } from '../src/contract/identity';
import { OPS } from '../src/contract/ops';
import { CAPABILITIES } from '../src/contract/protocol';
import en from '../src/locales/en.yml';
import zhCN from '../src/locales/zh_CN.yml';
import zhTW from '../src/locales/zh_TW.yml';

const BUILT = new URL('../../build/extension/chrome-mv3/', import.meta.url);

describe('every operation', () => {
  test('has a row that says which gates it meets', async () => {
    vi.stubGlobal('chrome', fakeBrowser);
    const { rows } = await import('../src/browser/rows');
    expect(Object.keys(rows).toSorted()).toEqual(OPS.map(({ name }) => name).toSorted());
  });

  test('has a risk, a rule for asking, and a capability that is offered', () => {
    for (const { name, risk, confirm, capability } of OPS) {
      expect(['low', 'medium', 'high'], name).toContain(risk);
      expect(['none', 'high_risk', 'every_call'], name).toContain(confirm);
      expect(CAPABILITIES, name).toContain(capability);
    }
  });

  test.each([
    ['en', en],
    ['zh_CN', zhCN],
    ['zh_TW', zhTW],
  ])('has a label in %s', (_, words) => {
    expect(Object.keys(words['tools'] ?? {}).toSorted()).toEqual(expect.arrayContaining(OPS.map(({ name }) => name)));
  });

  test('acts on pages only by way of an approved site', async () => {
    vi.stubGlobal('chrome', fakeBrowser);
    const { rows } = await import('../src/browser/rows');
    for (const { name, scope } of OPS) {
      const row = rows[name];
      if (scope === 'page') expect(row, name).toMatchObject({ on: 'tab', page: 'approved' });
    }
  });
});

describe('the built manifest', () => {
  let manifest: Record<string, unknown> = {};

  beforeAll(() => {
    const file = new URL('manifest.json', BUILT);
    if (!existsSync(file)) throw new Error('the extension is not built: run `npm run contract` and `npm run build`');
    manifest = JSON.parse(readFileSync(file, 'utf8'));
  });

  test('fixes the id that the host knows', () => {
    expect(manifest['key']).toBe(EXTENSION_MANIFEST_KEY);
    const digest = createHash('sha256')
      .update(Buffer.from(EXTENSION_MANIFEST_KEY, 'base64'))
      .digest('hex')
      .slice(0, 32);
    const id = digest.replace(/./g, (hex) => String.fromCharCode(97 + Number.parseInt(hex, 16)));
    expect(id).toBe(PINNED_EXTENSION_ID);
  });

  test('asks for these permissions and, at install time, for no site', () => {
    expect(manifest['permissions']).toEqual(['nativeMessaging', 'tabs', 'tabGroups', 'scripting', 'storage', 'alarms']);
    expect(manifest['optional_host_permissions']).toEqual(['<all_urls>']);
    expect(manifest['host_permissions'] ?? []).toEqual([]);
    expect(manifest['optional_permissions'] ?? []).toEqual([]);
  });

  test.each(['content_scripts', 'externally_connectable', 'web_accessible_resources', 'devtools_page', 'sandbox'])(
    't127_it_has_no_%s',
    (member) => expect(manifest).not.toHaveProperty(member),
  );

  test('keeps the extension’s pages to the code that was built', () => {
    const policy = JSON.stringify(manifest['content_security_policy'] ?? {});
    expect(policy).not.toMatch(/unsafe-eval|unsafe-inline|https?:/);
  });

  test('lays out the worker, the pages and the script for documents, and nothing else that runs by itself', () => {
    expect(manifest['background']).toEqual({ service_worker: 'background.js' });
    const pages = readdirSync(BUILT).filter((name) => name.endsWith('.html'));
    expect(pages.toSorted()).toEqual(['confirm.html', 'options.html', 'popup.html']);
    expect(existsSync(new URL('content.js', BUILT))).toBe(true);
  });
});

test('t127_nothing_listens_to_other_extensions_or_to_web_pages', () => {
  const sources = readdirSync(new URL('../src/', import.meta.url), { recursive: true, encoding: 'utf8' });
  for (const file of sources.filter((name) => /\.tsx?$/.test(name))) {
    const text = readFileSync(new URL(`../src/${file}`, import.meta.url), 'utf8');
    expect(text, file).not.toMatch(/onMessageExternal|onConnectExternal|onUserScriptMessage/);
  }
});
