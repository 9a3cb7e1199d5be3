import { type ReactNode, useState } from 'react';
import { useSend } from '../api/queries.ts';
import { type Luggage, packLuggage } from '../api/session.ts';
import { Button, type ButtonTone } from '../components/button.tsx';
import { Banner } from '../components/panels.tsx';

interface SingleSignOnProps extends Luggage {
  /** Host of the issuer. */
  readonly issuer: string;
  readonly tone?: ButtonTone;
  readonly label?: string;
}

/** Sends the browser to the issuer, which redirects it to /sign-in/callback. */
export function SingleSignOn({ issuer, label, tone = 'neutral', ...luggage }: SingleSignOnProps): ReactNode {
  const [isLeaving, setLeaving] = useState(false);
  const begin = useSend('POST /api/oidc/authorization', {
    changesNothing: true,
    onDone: ({ url }) => {
      setLeaving(true);
      packLuggage(luggage);
      window.location.assign(url);
    },
  });
  return (
    <>
      {begin.error && <Banner tone="bad">{begin.error.message}</Banner>}
      <Button tone={tone} busy={begin.isPending || isLeaving} onClick={() => begin.mutate({ body: {} })}>
        {label ?? `Sign in with ${issuer}`}
      </Button>
    </>
  );
}
