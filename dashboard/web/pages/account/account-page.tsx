import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function AccountPage(): ReactNode {
  return <PageHeader title="Account" />;
}
