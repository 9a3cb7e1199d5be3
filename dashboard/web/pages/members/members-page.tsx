import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function MembersPage(): ReactNode {
  return <PageHeader title="Members" />;
}
