// Waits. In a hidden tab the browser slows timers down to one a second, so short waits there go through the message queue.

import { visibilityState } from './dom';

/** Lets the page run, for about `ms` milliseconds. */
export function pause(ms: number): Promise<void> {
  if (visibilityState(document) !== 'hidden' || ms > HIDDEN_MS_MAX) return new Promise((done) => setTimeout(done, ms));
  return untilPassed(performance.now() + ms);
}

const HIDDEN_MS_MAX = 50;

async function untilPassed(end: number): Promise<void> {
  while (performance.now() < end) await nextTask();
}

function nextTask(): Promise<void> {
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(0);
  });
}
