import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function LinkPage(): ReactNode {
  return <PageHeader title="Set your password" />;
}
