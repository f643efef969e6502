import { beforeEach, expect, test, vi } from 'vitest';
import { fakeBrowser } from 'wxt/testing/fake-browser';
import { EXTENSION_AUDIT_KINDS } from '../contract/audit';
import { AUDIT_RING_MAX, AUDIT_TEXT_BYTES_MAX } from '../contract/limits';

vi.stubGlobal('chrome', fakeBrowser);
Object.assign(fakeBrowser.storage.local, { setAccessLevel: async () => undefined });
Object.assign(fakeBrowser.storage.session, { setAccessLevel: async () => undefined });
const askPerson = vi.fn(async () => 'allowed');
vi.doMock('./confirm', () => ({ askPerson }));
const { asked, askedAndNoted } = await import('./asked');

const asking = (name = 'Agent') => ({
  id: 12,
  op: 'page_click',
  caller: { key: 'k', name, image: '/i', verified: false },
  tab: { id: 1, windowId: 1 },
  intended: { kind: 'submit' as const, origin: 'https://bank.example', role: 'button', name: 'Send 100 to Eve' },
});
const { signal } = new AbortController();

beforeEach(() => fakeBrowser.storage.local.clear());

test('question and answer are kept and reported, with nothing of the page', async () => {
  const report = vi.fn();
  expect(await askedAndNoted(report)(asking(), signal)).toBe('allowed');
  const event = { outcome: 'shown', tool: 'page_click', name: 'Agent', detail: 'submit', cid: '12' };
  const expected = [
    { ...event, kind: 'confirm_shown' },
    { ...event, kind: 'confirm_allowed', outcome: 'allowed' },
  ];
  expect(report.mock.calls.map(([each]) => each)).toEqual(expected);
  expect(await asked()).toMatchObject(expected);
  expect(JSON.stringify(await asked())).not.toMatch(/bank|Send 100|Eve/);
});

test.each(['denied', 'timeout', 'closed', 'void'])('%s is recorded as a no', async (answer) => {
  askPerson.mockResolvedValueOnce(answer);
  const report = vi.fn();
  expect(await askedAndNoted(report)(asking(), signal)).toBe(answer);
  expect(report.mock.calls.at(-1)?.[0]).toMatchObject({ kind: 'confirm_denied', outcome: answer });
});

test('the ring holds the newest and no more', async () => {
  for (let turn = 0; turn < AUDIT_RING_MAX / 2 + 3; turn += 1) await askedAndNoted(() => undefined)(asking(), signal);
  const all = await asked();
  expect(all).toHaveLength(AUDIT_RING_MAX);
  expect(all.at(-1)?.kind).toBe('confirm_allowed');
});

test('a yes that cannot be written down is none, and nothing is asked before the question is', async () => {
  const set = vi.spyOn(fakeBrowser.storage.local, 'set');
  askPerson.mockClear();
  set.mockRejectedValueOnce(new Error('full'));
  await expect(askedAndNoted(() => undefined)(asking(), signal)).rejects.toThrow('full');
  expect(askPerson).not.toHaveBeenCalled();
  set.mockImplementationOnce(set.getMockImplementation() ?? (async () => undefined));
  set.mockRejectedValueOnce(new Error('full'));
  await expect(askedAndNoted(() => undefined)(asking(), signal)).rejects.toThrow('full');
  set.mockRestore();
});

test('every kind comes from the generated list, and a name fits the host in bytes', async () => {
  const report = vi.fn();
  await askedAndNoted(report)(asking('漢'.repeat(500)), signal);
  for (const [event] of report.mock.calls) {
    expect(EXTENSION_AUDIT_KINDS).toContain(event.kind);
    const bytes = new TextEncoder().encode(event.name).length;
    expect(bytes).toBeLessThanOrEqual(AUDIT_TEXT_BYTES_MAX);
    expect(bytes).toBeGreaterThan(AUDIT_TEXT_BYTES_MAX - 3);
  }
});
