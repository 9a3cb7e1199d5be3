import type { ReactNode } from 'react';
import { type Luggage, useIssuer } from '../api/session.ts';
import { Button } from '../components/button.tsx';
import { Banner } from '../components/panels.tsx';

interface SingleSignOnProps extends Luggage {
  /** Host of the issuer. */
  readonly issuer: string;
  readonly tone?: 'primary';
  readonly label?: string;
}

export function SingleSignOn({
  issuer,
  tone,
  label = `Sign in with ${issuer}`,
  ...luggage
}: SingleSignOnProps): ReactNode {
  const { begin, error, busy } = useIssuer(luggage);
  return (
    <>
      {error && <Banner tone="bad">{error.message}</Banner>}
      <Button onClick={begin} busy={busy} {...(tone === undefined ? {} : { tone })}>
        {label}
      </Button>
    </>
  );
}
