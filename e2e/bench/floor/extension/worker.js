// Answers the bare host's three questions with as little of our own work as possible. `go` is called by the benchmark.
globalThis.go = async () => {
  const [{ id: tab }] = await chrome.tabs.query({ url: 'http://127.0.0.1/*' });
  const port = chrome.runtime.connectNative('floor');
  port.onMessage.addListener(async (kind) => {
    if (kind === 't') port.postMessage(await chrome.tabs.query({}));
    else if (kind === 'c') port.postMessage(await chrome.tabs.sendMessage(tab, 'x'));
    else port.postMessage(kind);
  });
};
