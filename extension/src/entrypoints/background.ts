/* The worker: wires the port to the gates, the gates to the browser, and the extension's own pages to both. Everything that
   listens is registered while the script is first read, or a woken worker would miss the event that woke it. */
import { defineBackground } from 'wxt/utils/define-background';
import { asked, askedAndNoted } from '../browser/asked';
import { showStopped, watchTabs } from '../browser/clients';
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
import { bare, trustOnly } from '../browser/storage';
import { shownEvents, shownList } from '../browser/told';
import { worldWith } from '../browser/world';
import { ACT_FRESH_MS, ALARM_MINUTES } from '../contract/limits';
import { Gates } from '../gate/dispatch';
import { Turns } from '../gate/turns';
import type { Serve, Timer } from '../host/calls';
import { KillMirror } from '../host/kill';
import { HostPort } from '../host/port';
import { shownLink } from '../host/shown';

const WAKE = 'wake';
/** Clients of this worker's life that the popup can name. */
const CLIENTS_MAX = 64;

/** Records that the options page shows. */
const EVENTS_SHOWN = 30;

const timer: Timer = (milliseconds, ring) => {
  const running = setTimeout(ring, milliseconds);
  return () => clearTimeout(running);
};

export default defineBackground(() => {
  const kill: KillMirror = new KillMirror({
    ...bare('local', 'kill'),
    stop: (why) => {
      gates.stopped();
      host.stop(why);
    },
    quiet: () => new Promise((resume) => setTimeout(resume, ACT_FRESH_MS)),
    tell: () => host.ask('kill_engage', { type: 'kill_engage' }),
    ask: () => host.ask('kill_status', { type: 'kill_status' }),
    now: () => Date.now(),
    changed: () => {
      void showStopped(kill.killed);
      tellPages();
    },
  });
  const gates = new Gates(worldWith(askedAndNoted((event) => host.report(event))), rows, kill, new Turns(timer));
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
    timer,
    kill,
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
      return await stateFor({ ...shownLink(host.state.link), kill: kill.view }, running, tab);
    },
    engage: () => kill.engage(),
    paired: () => shownList(host.ask('client_list', { type: 'client_list' })),
    events: async () => shownEvents(host.ask('audit_read', { type: 'audit_read', limit: EVENTS_SHOWN }), await asked()),
    changed: tellPages,
  });
  chrome.tabs.onUpdated.addListener((id, { url }) => {
    if (url !== undefined) gates.moved(id, url);
  });
  chrome.tabs.onRemoved.addListener((id) => gates.moved(id, undefined));
  chrome.alarms.onAlarm.addListener(({ name }) => {
    if (name !== WAKE) return;
    host.ensure();
    void kill.again();
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
