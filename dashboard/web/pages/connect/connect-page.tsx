import type { ReactNode } from 'react';
import { Card, PageHeader } from '../../components/panels.tsx';
import { Connect } from '../../connect/connect.tsx';
import { useUrl } from '../../search/use-url.ts';
import { SuspendedBanner } from '../../shell/use-organization.tsx';
import { connectSearch } from '../searches.ts';

export function ConnectPage(): ReactNode {
  const { model } = useUrl(connectSearch).search;
  return (
    <>
      <PageHeader
        title="Connect"
        help="clients.html#snippets"
        description="Any client for chat completions works with this base URL and a key."
      />
      <SuspendedBanner />
      <Card>
        <Connect model={model} />
      </Card>
    </>
  );
}
