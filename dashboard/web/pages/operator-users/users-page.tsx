import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function UsersPage(): ReactNode {
  return <PageHeader title="Users" />;
}
