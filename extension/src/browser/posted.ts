/* Tabs whose page a form sent by POST led to, so that loading it again would send the form again. Knows the forms that an
   act of ours sent; for those the person sent, the browser itself asks before it sends one again. */

const posted = new Set<number>();

export const notePost = (tab: number): void => {
  posted.add(tab);
};

export const cameByPost = (tab: number): boolean => posted.has(tab);

/** Must be called while the worker starts. Another page in the tab, or none, ends what was noted. */
export function watchPosted(): void {
  chrome.tabs.onUpdated.addListener((id, { status }) => {
    if (status === 'loading') posted.delete(id);
  });
  chrome.tabs.onRemoved.addListener((id) => posted.delete(id));
}
