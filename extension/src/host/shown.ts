/* The link to the host in the words of the popup. Decides nothing; it keeps the browser's and the host's own sentences. */
import type { HostLink } from './port';

export type LinkShown = {
  link: { state: 'no_host' | 'starting' | 'waiting' | 'attached' | 'refused' | 'mismatch'; detail?: string };
  door: 'open' | 'paired' | null;
  label: string | null;
};

export function shownLink(link: HostLink): LinkShown {
  const nobody = { door: null, label: null };
  switch (link.phase) {
    case 'unpinned':
      return {
        ...nobody,
        link: {
          state: 'refused',
          detail: `The extension runs under the id ${link.id}, which is not the one the genkan program knows. Load the extension that genkan carries.`,
        },
      };
    case 'closed':
      return { ...nobody, link: { state: 'no_host', ...(link.error === null ? {} : { detail: link.error }) } };
    case 'opening':
      return { ...nobody, link: { state: 'starting' } };
    case 'greeted':
      return greeted(link);
  }
}

function greeted({ agrees, host, status }: Extract<HostLink, { phase: 'greeted' }>): LinkShown {
  const label = status?.label ?? null;
  if (!agrees) return { link: { state: 'mismatch', detail: `genkan ${host}` }, door: null, label };
  if (status === null) return { link: { state: 'starting' }, door: null, label };
  const { link } = status;
  switch (link.state) {
    case 'waiting':
      return { link: { state: 'waiting' }, door: null, label };
    case 'attached':
      return { link: { state: 'attached' }, door: link.door, label };
    case 'refused':
      return { link: { state: 'refused', detail: link.error.message }, door: null, label };
  }
}
