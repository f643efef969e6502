chrome.runtime.onMessage.addListener((message, _, answer) => answer(message));
