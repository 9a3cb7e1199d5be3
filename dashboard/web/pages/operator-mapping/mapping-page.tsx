import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function MappingPage(): ReactNode {
  return <PageHeader title="Model mapping" />;
}
