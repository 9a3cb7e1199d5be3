import type { ReactNode } from 'react';
import { LinkButton } from '../components/button.tsx';
import { Facts } from '../components/values.tsx';
import { adviceFor } from './error-advice.ts';

export function AboutError({ code }: { readonly code: string }): ReactNode {
  const advice = adviceFor(code);
  if (advice === undefined) return null;
  const { entry, retry, billed } = advice;
  const saysItself = entry.advice.startsWith('Retry');
  return (
    <>
      <Facts of={{ 'What to do': entry.advice, Retry: !saysItself && retry, Billed: billed }} />
      <div>
        <LinkButton size="small" to="/errors" hash={code} icon="errors">
          About {code}
        </LinkButton>
      </div>
    </>
  );
}
