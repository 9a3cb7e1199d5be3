import { useSyncExternalStore } from 'react';
import { keep } from './kept.ts';

export type Theme = 'system' | 'light' | 'dark';

const listeners = new Set<() => void>();

/** The theme that public/theme.js set before the first paint, or a later choice. */
function read(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  keep('theme', theme === 'system' ? undefined : theme);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  const system = matchMedia('(prefers-color-scheme: dark)');
  system.addEventListener('change', listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener('change', listener);
  };
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, read);
}

/** The effective theme, for content that a script paints. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, () => {
    const theme = read();
    return theme === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
  });
}
