import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function SystemPage(): ReactNode {
  return <PageHeader title="System" />;
}
