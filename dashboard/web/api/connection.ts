import { useSyncExternalStore } from 'react';
import { ask } from './api.ts';
import { ApiProblem } from './problem.ts';

const ASK_EVERY_MS = 2_000;

let lost = false;
let asking: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function set(next: boolean): void {
  if (lost === next) return;
  lost = next;
  clearInterval(asking);
  // Most pages ask only once and would not notice that the server is back.
  if (lost) asking = setInterval(() => void checkConnection(), ASK_EVERY_MS);
  for (const listener of listeners) listener();
}

export function reportLost(): void {
  set(true);
}

export function reportReached(): void {
  set(false);
}

/** Sends a small request. Any response of the server counts, even a refusal. */
export async function checkConnection(): Promise<void> {
  const answered = await ask('GET /api/session', {}, AbortSignal.timeout(ASK_EVERY_MS)).then(
    () => true,
    (error: unknown) => error instanceof ApiProblem && !error.isConnection,
  );
  set(!answered);
}

/** Calls `goOn` each time the server can be reached again. */
export function onReturn(goOn: () => void): () => void {
  const listener = () => {
    if (!lost) goOn();
  };
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('offline', reportLost);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('offline', reportLost);
  };
}

/** True if the last request got no response from the server. */
export function useConnectionLost(): boolean {
  return useSyncExternalStore(subscribe, () => lost);
}
