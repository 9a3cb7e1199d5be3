import type { ReactNode } from 'react';
import type { CsvTable } from '../../contract/api.ts';
import { queryText } from '../api/endpoint-url.ts';
import { ButtonAnchor } from '../components/button.tsx';

export interface CsvLinkProps {
  readonly organization: string;
  readonly table: CsvTable;
  readonly query: Readonly<Record<string, unknown>>;
}

/** Downloads all rows of the page's filter as CSV. */
export function CsvLink({ organization, table, query }: CsvLinkProps): ReactNode {
  return (
    <ButtonAnchor
      icon="download"
      href={`/api/organizations/${encodeURIComponent(organization)}/${table}.csv${queryText(query)}`}
      download
    >
      Export CSV
    </ButtonAnchor>
  );
}
