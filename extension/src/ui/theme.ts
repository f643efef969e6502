/* Decides whether the pages are light or dark: as the person chose, else as the system is. The colours are in style.css. */
import { useEffect } from 'react';
import type { Theme } from './messages';

export function useTheme(theme: Theme | undefined): void {
  useEffect(() => {
    if (theme === undefined || theme === 'auto') document.documentElement.removeAttribute('data-theme');
    else document.documentElement.setAttribute('data-theme', theme);
  }, [theme]);
}
