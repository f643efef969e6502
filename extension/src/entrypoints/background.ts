/* The worker: wires the port to the gates, the gates to the browser, and the extension's own pages to both. Everything that
   listens is registered while the script is first read, or a woken worker would miss the event that woke it. */
import { defineBackground } from 'wxt/utils/define-background';
import { watchTabs } from '../browser/clients';
import { watchConfirmations } from '../browser/confirm';
import { hearKnocks } from '../browser/documents';
import { instance } from '../browser/instance';
import { connectNative } from '../browser/native';
import { answerPages, tellPages } from '../browser/pages';
import { watchPosted } from '../browser/posted';
import { rows } from '../browser/rows';
import { settings } from '../browser/settings';
import { beginSession, watchPermissions } from '../browser/sites';
import { type Running, stateFor } from '../browser/state';
import { trustOnly } from '../browser/storage';
import { world } from '../browser/world';
import { ALARM_MINUTES } from '../contract/limits';
import { Gates } from '../gate/dispatch';
import type { Serve } from '../host/calls';
import { HostPort } from '../host/port';
import { shownLink } from '../host/shown';

const WAKE = 'wake';
/** Clients of this worker's life that the popup can name. */
const CLIENTS_MAX = 64;

export default defineBackground(() => {
  const gates = new Gates(world, rows);
  const running = new Map<string, Running>();
  const ready = trustOnly().then(beginSession);
  const host = new HostPort({
    id: chrome.runtime.id,
    connect: connectNative,
    self: async () => ({ version: chrome.runtime.getManifest().version, instance: await instance() }),
    serve: counted(running, async (request, signal, progress) => {
      await ready;
      return await gates.serve(request, signal, progress);
    }),
    timer: (milliseconds, ring) => {
      const timer = setTimeout(ring, milliseconds);
      return () => clearTimeout(timer);
    },
    changed: tellPages,
  });

  hearKnocks();
  watchTabs();
  watchPosted();
  watchPermissions(tellPages);
  watchConfirmations(settings, tellPages);
  answerPages({
    state: async (tab) => {
      await ready;
      return await stateFor(shownLink(host.state.link), running, tab);
    },
    changed: tellPages,
  });
  chrome.tabs.onUpdated.addListener((id, { url }) => {
    if (url !== undefined) gates.moved(id, url);
  });
  chrome.tabs.onRemoved.addListener((id) => gates.moved(id, undefined));
  chrome.alarms.onAlarm.addListener(({ name }) => {
    if (name === WAKE) host.ensure();
  });
  chrome.runtime.onStartup.addListener(() => host.ensure());
  chrome.runtime.onInstalled.addListener(() => host.ensure());
  void chrome.alarms.create(WAKE, { periodInMinutes: ALARM_MINUTES });
  host.ensure();
});

/** Keeps, for each client, who it is and how many of its calls run. */
function counted(running: Map<string, Running>, serve: Serve): Serve {
  const count = ({ caller }: Parameters<Serve>[0], by: 1 | -1) => {
    const calls = (running.get(caller.key)?.calls ?? 0) + by;
    running.delete(caller.key);
    running.set(caller.key, { caller, calls });
    const [oldest] = running.keys();
    if (running.size > CLIENTS_MAX && oldest !== undefined) running.delete(oldest);
  };
  return async (request, signal, progress) => {
    count(request, 1);
    try {
      return await serve(request, signal, progress);
    } finally {
      count(request, -1);
    }
  };
}
