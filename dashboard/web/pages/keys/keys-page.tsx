import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function KeysPage(): ReactNode {
  return <PageHeader title="API keys" />;
}
