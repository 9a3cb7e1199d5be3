import type { ReactNode } from 'react';
import { useSession } from '../../api/session.ts';
import buttonStyles from '../../components/button.module.css';
import { buttonClass } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';

/** Leads to where credit is bought, in a new tab; nothing where no such place is configured. */
export function TopUpButton({ tone = 'neutral' }: { readonly tone?: 'primary' | 'neutral' }): ReactNode {
  const { topUpUrl } = useSession();
  if (topUpUrl === undefined) return null;
  return (
    <a className={buttonClass({ tone })} href={topUpUrl} target="_blank" rel="noreferrer">
      <span className={buttonStyles.content}>
        Add credit
        <Icon name="external" />
      </span>
      <span className="visually-hidden">(opens in a new tab)</span>
    </a>
  );
}
