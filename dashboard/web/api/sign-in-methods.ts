import { useEffect, useState } from 'react';
import type { SessionView, SignInMethodsView } from '#contract/session.ts';
import { ask } from './api.ts';
import type { ApiProblem } from './problem.ts';
import { useSend } from './use-send.ts';

/** Kept outside the cache of queries, which is cleared on the way to the page to sign in. */
let known: SignInMethodsView = { password: false };

/** Ways to sign in: none until they are known, passwords if the server does not respond. */
export function useSignInMethods(): SignInMethodsView {
  const [methods, setMethods] = useState(known);
  useEffect(() => {
    void ask('GET /api/sign-in', {}).then(
      (found) => {
        known = found;
        setMethods(found);
      },
      () => setMethods((former) => (former.issuer === undefined ? { password: true } : former)),
    );
  }, []);
  return methods;
}

const BACK = 'gateway-back';
const LINK = 'gateway-link';

/** Address to return to and token of a link, across the page of the issuer. */
export interface Luggage {
  readonly back?: string | undefined;
  readonly linkToken?: string;
}

/** Sends the browser to the issuer. It comes back at /sign-in/callback. */
export function useIssuer(luggage: Luggage = {}): {
  readonly begin: () => void;
  readonly error: ApiProblem | null;
  readonly busy: boolean;
} {
  const [isLeaving, setLeaving] = useState(false);
  const begin = useSend('POST /api/oidc/authorization', {
    changes: [],
    onDone: ({ url }) => {
      setLeaving(true);
      keep(BACK, luggage.back);
      keep(LINK, luggage.linkToken);
      window.location.assign(url);
    },
  });
  return { begin: () => begin.mutate({ body: {} }), error: begin.error, busy: begin.isPending || isLeaving };
}

export function takeLuggage(): Luggage {
  const [back, linkToken] = [sessionStorage.getItem(BACK), sessionStorage.getItem(LINK)];
  keep(BACK, undefined);
  keep(LINK, undefined);
  return { ...(back === null ? {} : { back }), ...(linkToken === null ? {} : { linkToken }) };
}

function keep(name: string, value: string | undefined): void {
  if (value === undefined) sessionStorage.removeItem(name);
  else sessionStorage.setItem(name, value);
}

/** The user may have signed in in another tab meanwhile. */
export function useSignedInElsewhere(onSession: (session: SessionView) => void): void {
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === 'visible') void ask('GET /api/session', {}).then(onSession, () => {});
    };
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, [onSession]);
}
