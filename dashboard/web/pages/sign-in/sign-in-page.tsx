import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function SignInPage(): ReactNode {
  return <PageHeader title="Sign in" />;
}
