/* The browser's native-messaging port, as the host layer wants it. Decides nothing; it keeps the browser's own words about
   why a port closed, because only they tell a person what is missing. */
import { NATIVE_HOST_ID } from '../contract/identity';

export type Native = {
  send(frame: object): void;
  close(): void;
  onFrame(take: (raw: unknown) => void): void;
  onClosed(take: (error: string | null) => void): void;
};

export function connectNative(): Native {
  const port = chrome.runtime.connectNative(NATIVE_HOST_ID);
  return {
    send: (frame) => port.postMessage(frame),
    close: () => port.disconnect(),
    onFrame: (take) => port.onMessage.addListener((raw: unknown) => take(raw)),
    onClosed: (take) => port.onDisconnect.addListener(() => take(chrome.runtime.lastError?.message ?? null)),
  };
}
