import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function CreditsPage(): ReactNode {
  return <PageHeader title="Credits" />;
}
