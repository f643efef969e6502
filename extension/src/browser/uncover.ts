/*
 * Takes away what the acting tab could lay over a question: its fullscreen, its picture-in-picture windows, the
 * browser's fullscreen. Best effort, and bounded in time: what another tab keeps above all windows stays there, which
 * is why a press on Allow needs more than a click (ui/guard.ts).
 */

/** Milliseconds that a page may take to let go. */
const UNCOVER_MS = 250;

export async function uncover(tab: chrome.tabs.Tab): Promise<void> {
  const window = await chrome.windows.get(tab.windowId).catch(() => null);
  await Promise.race([
    Promise.allSettled([
      tab.id === undefined
        ? undefined
        : chrome.scripting.executeScript({ target: { tabId: tab.id, allFrames: true }, func: letGo }),
      window?.state === 'fullscreen' ? chrome.windows.update(tab.windowId, { state: 'maximized' }) : undefined,
    ]),
    new Promise((resume) => setTimeout(resume, UNCOVER_MS)),
  ]);
}

/** Runs in the page's documents. */
async function letGo(): Promise<void> {
  if (document.pictureInPictureElement !== null) await document.exitPictureInPicture().catch(() => undefined);
  if (document.fullscreenElement !== null) await document.exitFullscreen().catch(() => undefined);
  const floating: unknown = Reflect.get(window, 'documentPictureInPicture');
  if (typeof floating !== 'object' || floating === null) return;
  const other: unknown = Reflect.get(floating, 'window');
  if (typeof other !== 'object' || other === null) return;
  if ('close' in other && typeof other.close === 'function') other.close();
}
