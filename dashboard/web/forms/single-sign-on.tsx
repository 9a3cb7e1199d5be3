import type { ReactNode } from 'react';
import { type Luggage, useIssuer } from '../api/sign-in-methods.ts';
import { Banner } from '../components/banner.tsx';
import { Button } from '../components/button.tsx';

interface SingleSignOnProps extends Luggage {
  /** Host of the issuer. */
  readonly issuer: string;
  readonly tone?: 'primary';
  readonly label?: string;
}

/** Sends the browser to the issuer. */
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
