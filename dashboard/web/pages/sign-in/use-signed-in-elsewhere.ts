import { useEffect } from 'react';
import type { SessionView } from '../../../contract/session.ts';
import { ask } from '../../api/api.ts';

/** Who comes back to this tab may have signed in in another one meanwhile. */
export function useSignedInElsewhere(onSession: (session: SessionView) => void): void {
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === 'visible') void ask('GET /api/session', {}).then(onSession, () => {});
    };
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, [onSession]);
}
