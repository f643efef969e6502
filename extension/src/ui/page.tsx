/* The frame around every page: mounts it, speaks the person's language, keeps the theme, and says when nothing answers. */
import { type ComponentType, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Speaking, useWords } from './i18n';
import { useWorkerState } from './link';
import type { State } from './messages';
import './style.css';
import { useTheme } from './theme';

export interface Shown {
  state: State;
  refresh: () => void;
}

export function mount(page: React.ReactNode): void {
  const root = document.getElementById('root');
  if (root !== null) createRoot(root).render(<StrictMode>{page}</StrictMode>);
}

/** A page that shows the worker's state, of one tab's site if a tab is given. */
export function StatePage({ tab, page: Page }: { tab?: number | undefined; page: ComponentType<Shown> }) {
  const [state, refresh] = useWorkerState(tab);
  useTheme(state?.theme);
  return (
    <Speaking language={state?.language ?? 'auto'}>
      {state ? <Page state={state} refresh={refresh} /> : <Absent waiting={state === undefined} />}
    </Speaking>
  );
}

function Absent({ waiting }: { waiting: boolean }) {
  const say = useWords();
  return (
    <main>
      <p className="quiet" role="status">
        {waiting ? say('app.loading') : say('app.unreachable')}
      </p>
    </main>
  );
}
