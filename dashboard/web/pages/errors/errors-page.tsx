import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function ErrorsPage(): ReactNode {
  return <PageHeader title="Error codes" />;
}
