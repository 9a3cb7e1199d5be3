import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function UsagePage(): ReactNode {
  return <PageHeader title="Usage" />;
}
