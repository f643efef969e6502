import { expect, test, vi } from 'vitest';
import { PINNED_EXTENSION_ID } from '../contract/identity';
import { PORT_RETRY_MS } from '../contract/limits';
import { BRIDGE_PROTOCOL_VERSION, CAPABILITIES } from '../contract/protocol';
import { Refused } from '../gate/refused';
import { HostPort, type NativePort, type ToHost } from './port';
import { shownLink } from './shown';

const INSTANCE = '0123456789abcdef0123456789abcdef';
const hello = { type: 'host_hello', bridge: BRIDGE_PROTOCOL_VERSION, host: '0.1.0' };
const status = (link: object) => ({ type: 'host_status_result', label: 'chromium', link });
const request = (id: number, args: object = {}) => ({
  id,
  op: 'tab_list',
  args,
  caller: { key: 'k', name: 'n', image: '', verified: false },
  deadline: 500,
});

function setUp(id: string = PINNED_EXTENSION_ID) {
  const ports: { sent: ToHost[]; hear(raw: unknown): void; lose(error: string | null): void }[] = [];
  const timers: { after: number; ring(): void }[] = [];
  const connect = vi.fn((): NativePort => {
    const sent: ToHost[] = [];
    let take: (raw: unknown) => void = () => undefined;
    let close: (error: string | null) => void = () => undefined;
    ports.push({ sent, hear: (raw) => take(raw), lose: (error) => close(error) });
    return {
      send: (frame) => sent.push(frame),
      close: () => undefined,
      onFrame: (to) => {
        take = to;
      },
      onClosed: (to) => {
        close = to;
      },
    };
  });
  const served = vi.fn(async (_: unknown, signal: AbortSignal) => {
    await new Promise((resume) => setTimeout(resume));
    return signal.aborted
      ? ({ ok: false, error: { code: 'CANCELLED', message: '' } } as const)
      : ({ ok: true, data: { text: 'done' } } as const);
  });
  const kill = { hear: vi.fn(), unknown: vi.fn() };
  const host = new HostPort({
    id,
    connect,
    self: async () => ({ version: '0.1.0', instance: INSTANCE }),
    serve: served,
    timer: (after, ring) => {
      timers.push({ after, ring });
      return () => undefined;
    },
    kill,
    changed: () => undefined,
  });
  return { host, ports, timers, connect, served, kill };
}

const rest = () => new Promise((resume) => setTimeout(resume, 5));

test('the host is greeted with instance, version and capabilities', async () => {
  const { host, ports } = setUp();
  host.ensure();
  ports[0]?.hear(hello);
  await rest();
  expect(ports[0]?.sent).toEqual([
    {
      type: 'extension_hello',
      bridge: BRIDGE_PROTOCOL_VERSION,
      extension: '0.1.0',
      instance: INSTANCE,
      capabilities: CAPABILITIES,
    },
  ]);
  ports[0]?.hear(status({ state: 'attached', door: 'open' }));
  expect(shownLink(host.state.link)).toEqual({ link: { state: 'attached' }, door: 'open', label: 'chromium' });
});

test('under any other id nothing connects, and the popup can say so', () => {
  const { host, connect } = setUp('abcdefghijklmnopabcdefghijklmnop');
  host.ensure();
  expect(connect).not.toHaveBeenCalled();
  expect(shownLink(host.state.link).link.state).toBe('refused');
});

test('one port at a time; after a close it is opened again, and the browser’s own words are kept', () => {
  const { host, ports, timers, connect } = setUp();
  host.ensure();
  host.ensure();
  expect(connect).toHaveBeenCalledTimes(1);
  ports[0]?.lose('Specified native messaging host not found.');
  expect(shownLink(host.state.link).link).toEqual({
    state: 'no_host',
    detail: 'Specified native messaging host not found.',
  });
  const [retry] = timers;
  expect(retry?.after).toBe(PORT_RETRY_MS);
  retry?.ring();
  expect(connect).toHaveBeenCalledTimes(2);
});

test('a host of another version is greeted so that the broker can refuse it, and served nothing', async () => {
  const { host, ports, served } = setUp();
  host.ensure();
  ports[0]?.hear({ ...hello, bridge: BRIDGE_PROTOCOL_VERSION + 1 });
  await rest();
  ports[0]?.hear(request(1));
  expect(ports[0]?.sent).toMatchObject([
    { type: 'extension_hello' },
    { id: 1, ok: false, error: { code: 'PROTOCOL_MISMATCH' } },
  ]);
  expect(served).not.toHaveBeenCalled();
  expect(shownLink(host.state.link).link.state).toBe('mismatch');
});

test('nothing is served before the greeting, and a malformed frame is answered where it has an id', () => {
  const { host, ports, served } = setUp();
  host.ensure();
  ports[0]?.hear(request(1));
  ports[0]?.hear({ ...request(2), extra: true });
  ports[0]?.hear('junk');
  expect(ports[0]?.sent).toMatchObject([
    { id: 1, ok: false, error: { code: 'EXTENSION_NOT_READY' } },
    { id: 2, ok: false, error: { code: 'INTERNAL_ERROR' } },
  ]);
  expect(served).not.toHaveBeenCalled();
});

test('a request in pieces is served like a whole one; pieces that carry another id are refused', async () => {
  const { host, ports, served } = setUp();
  host.ensure();
  ports[0]?.hear(hello);
  await rest();
  const text = JSON.stringify(request(4));
  ports[0]?.hear({ type: 'chunk', id: 4, seq: 0, last: false, data: text.slice(0, 9) });
  ports[0]?.hear({ type: 'chunk', id: 4, seq: 1, last: true, data: text.slice(9) });
  await rest();
  expect(served).toHaveBeenCalledTimes(1);
  ports[0]?.hear({ type: 'chunk', id: 5, seq: 0, last: true, data: JSON.stringify(request(6)) });
  expect(ports[0]?.sent.at(-1)).toMatchObject({ id: 5, ok: false });
  expect(served).toHaveBeenCalledTimes(1);
});

test('calls end with the port they came on, and its late answers go nowhere', async () => {
  const { host, ports, served } = setUp();
  host.ensure();
  ports[0]?.hear(hello);
  await rest();
  ports[0]?.hear(request(1));
  ports[0]?.lose(null);
  expect(served.mock.calls[0]?.[1].aborted).toBe(true);
  await rest();
  expect(ports[0]?.sent).toHaveLength(1);
});

test('calls end with the broker behind the host, and the next one may use the same ids', async () => {
  const { host, ports, served } = setUp();
  host.ensure();
  ports[0]?.hear(hello);
  await rest();
  ports[0]?.hear(status({ state: 'attached', door: 'open' }));
  ports[0]?.hear(request(1));
  ports[0]?.hear(status({ state: 'waiting' }));
  expect(served.mock.calls[0]?.[1].aborted).toBe(true);
  ports[0]?.hear(status({ state: 'attached', door: 'open' }));
  ports[0]?.hear(request(1));
  expect(served).toHaveBeenCalledTimes(2);
});

const killed = { type: 'kill_status_result', ok: true, killed: true, epoch: 3, engaged: 3 };

test('what a host said of the kill switch ends with its port, and counts only after its greeting', async () => {
  const { host, ports, timers, kill } = setUp();
  host.ensure();
  expect(kill.unknown).toHaveBeenCalledTimes(1);
  ports[0]?.hear(killed);
  expect(kill.hear).not.toHaveBeenCalled();
  ports[0]?.hear(hello);
  ports[0]?.hear({ ...killed, error: { code: 'BRIDGE_KILLED', message: 'm' } });
  expect(kill.hear).not.toHaveBeenCalled();
  ports[0]?.hear(killed);
  expect(kill.hear).toHaveBeenCalledWith(killed);
  ports[0]?.lose(null);
  expect(kill.unknown).toHaveBeenCalledTimes(2);
  timers[0]?.ring();
  expect(kill.unknown).toHaveBeenCalledTimes(3);
});

test('nothing is asked or reported before the host has spoken of the kill switch, nor without a port', async () => {
  const { host, ports } = setUp();
  await expect(host.ask('client_list', { type: 'client_list' })).rejects.toMatchObject({ code: 'NOT_CONNECTED' });
  host.ensure();
  ports[0]?.hear(hello);
  await rest();
  await expect(host.ask('client_list', { type: 'client_list' })).rejects.toMatchObject({ code: 'EXTENSION_NOT_READY' });
  host.report({ kind: 'confirm_shown' });
  expect(ports[0]?.sent).toHaveLength(1);
  ports[0]?.hear(killed);
  const list = host.ask('client_list', { type: 'client_list' });
  host.report({ kind: 'confirm_shown', tool: 'page_click' });
  expect(ports[0]?.sent.slice(1)).toEqual([
    { type: 'client_list' },
    { type: 'audit_event', kind: 'confirm_shown', tool: 'page_click' },
  ]);
  ports[0]?.lose(null);
  await expect(list).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
});

test('stopping ends the calls of the port, which are answered', async () => {
  const { host, ports, served } = setUp();
  host.ensure();
  ports[0]?.hear(hello);
  await rest();
  ports[0]?.hear(request(1));
  host.stop(new Refused('BRIDGE_KILLED'));
  expect(served.mock.calls[0]?.[1].reason).toMatchObject({ code: 'BRIDGE_KILLED' });
  await rest();
  expect(ports[0]?.sent.at(-1)).toMatchObject({ id: 1, ok: false });
});
