import { useSyncExternalStore } from 'react';

let lost = false;
const listeners = new Set<() => void>();

function set(next: boolean): void {
  if (lost === next) return;
  lost = next;
  for (const listener of listeners) listener();
}

export function reportLost(): void {
  set(true);
}

export function reportReached(): void {
  set(false);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('offline', reportLost);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('offline', reportLost);
  };
}

/** Whether the last thing that the page asked got no answer from the server. */
export function useConnectionLost(): boolean {
  return useSyncExternalStore(subscribe, () => lost);
}
