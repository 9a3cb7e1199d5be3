import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function ModelsPage(): ReactNode {
  return <PageHeader title="Models" />;
}
