// The script that stands in a document and answers the worker. It is injected at run time into documents of approved sites,
// never declared; a second injection does nothing. It listens to our own worker and pages only: a message from another
// tab's script, another extension or a web page is not answered.

import { defineUnlistedScript } from 'wxt/utils/define-unlisted-script';
import { answer } from '../page/answer';
import { takeRootKey } from '../page/dom';
import { readRequest } from '../page/protocol';

/** A symbol: a page can put named elements on `window`, but no symbols into this world. */
const PRESENT = Symbol.for('genkan.content');

export default defineUnlistedScript(() => {
  if (Reflect.has(globalThis, PRESENT)) return;
  Object.defineProperty(globalThis, PRESENT, { value: true });
  takeRootKey((host) => chrome.dom.openOrClosedShadowRoot(host));
  chrome.runtime.onMessage.addListener((message: unknown, sender, reply) => {
    if (sender.id !== chrome.runtime.id || sender.tab !== undefined) return false;
    const request = readRequest(message);
    if (request === undefined) return false;
    void answer(request).then(reply);
    return true;
  });
});
